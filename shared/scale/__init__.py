"""What large data and long runs need beside the labs' own training: tokens on disk, checkpoints, several processes."""

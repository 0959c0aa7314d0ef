"""What two labs or more need: `data`, then `model`, then `training`; `figures` and `check` stand beside them."""

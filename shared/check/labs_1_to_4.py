"""The checks of labs 1 to 4: pooling, keys, queries, values."""

"""What two labs or more need: `reviews`, `data`, `model`, `training`, each made of those before it, and what they use:

`inputs` says what layers cannot take; `fast` layers for training; `figures` and `check` for the labs; `scale` for
large data and long runs.
"""

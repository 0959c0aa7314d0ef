"""The package that labs import: data, models, training, figures, checks.

A review goes through `reviews` (text to tokens), `data` (tokens to batches), a model of `model`, and `training`.
Beside them: `language_model` and `published_model`; `fast`, the layers of `model` for training; `inputs`, what layers
cannot take; `kept`, trainings that need not be made again; `measure`, memory; `figures` and `check` for the labs;
`judge`, a verdict on a text that somebody types; `scale`, large data and long runs.
"""

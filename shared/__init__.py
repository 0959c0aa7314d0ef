"""The package that labs import: data, models, training, figures.

A review goes through `reviews` (text to tokens), `data` (tokens to batches), a model of `model`, and `training`;
`train` is the command that torchrun starts. Beside them: `statistics` of several runs; `language_model` and
`published_model`; `inputs`, sentences for inputs that layers cannot take; `measure`, memory; `figures`; `judge`, a
prediction for a text that somebody types.
"""

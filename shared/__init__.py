"""The package that labs import: data, models, training, figures.

A review goes through `reviews` (text to tokens), `data` (tokens to batches), a model of `model`, and `training`, of
which `train` is the command for torchrun. Beside them: `statistics` of several runs; `language_model` and
`pretrained_model`, with the `sentences` that it reads; `explanation`, attention weights outside their model; `inputs`,
sentences for inputs that layers cannot take; `measure`, memory; `figures` for the
labs; `predict_text`, a prediction for a text that somebody types; `longer_texts`, the classifier with six positional
encodings.

Its import gives PyTorch one thread, so that weights repeat to the digit, and several labs can run beside one another.
"""

import torch

torch.set_num_threads(1)

"""The package that labs import: data, models, training, figures.

A review goes through `reviews` (text to tokens), `data` (tokens to batches), a model of `model`,
and `training`, of which `train` is the command for torchrun. Beside them: `cafe`, the toy of the
whole course; `review_pairs`, two reviews of which a marker says which counts; `statistics` of
several runs, `comparisons` of stored ones and `record`, which stores them; `language_model`,
`review_writer` and `pretrained_model` with its `sentences`; `inputs`, sentences for what layers
cannot take; `measure`, memory; `colours` and `figures`. What one lab alone needs is in its folder.

Its import gives PyTorch one thread, so that weights repeat to the digit, and several labs can run
beside one another.
"""

import torch

torch.set_num_threads(1)

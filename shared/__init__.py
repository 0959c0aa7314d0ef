"""What labs import, in the order to read it: half an hour, model first.

1. `model`: attention layers and the classifiers built on them; `input_errors`, their sentences for
   what they cannot take.
2. `reviews` (text to tokens), `data` (tokens to examples and batches), `training` (fit, evaluate).
3. `cafe`: the toy of the whole course.
4. `intervals` of several runs, `stored_runs` of the models on reviews, `review_pairs`: two reviews
   of which a marker says which counts; `cost`: multiplications.
5. Larger models: `language_model`, `review_writer` (the course's own) and `pretrained_model`.
6. `figures`, with `colours`; `record`, which stores what scripts measured.

What one lab alone needs is in its folder. The import gives PyTorch one thread, so that weights
repeat to the digit, and several labs can run beside one another.
"""

import torch

torch.set_num_threads(1)

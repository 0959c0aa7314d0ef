"""What labs import. Four modules to read first, in half an hour:

1. `model`: attention layers and the classifiers built on them.
2. `cafe`: the toy of the whole course, and how it is trained.
3. `data`: vocabulary, examples, batches. Of `reviews`, from where they come, it is enough to know
   that `load_reviews` gives three splits, and that all tokens of a split are in one array.
4. `training`: fit and evaluate.

The others take longer together than these; read one when a lab sends you there:

* `reviews`: download, tables, tokens. `input_errors`: the sentences for what layers cannot take.
* `intervals` of several runs; `stored_runs` of the models on reviews; `review_pairs`, two reviews
  of which a marker says which counts; `cost`, multiplications.
* Larger models: `language_model`, `review_writer` (the course's own) and `pretrained_model`.
* `figures`, with `colours`; `record`, which stores what scripts measured.

What one lab alone needs is in its folder. The import gives PyTorch one thread, so that weights
repeat to the digit, and several labs can run beside one another.
"""

import torch

torch.set_num_threads(1)

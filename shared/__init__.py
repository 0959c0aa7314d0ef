"""What labs import. Four modules to read first:

1. `model`: attention layers, the Transformer block, and the classifiers built on a single layer. A
   classifier made of blocks is in the lab *The block*; whole language models have modules of their
   own, below.
2. `cafe`: the toy task of the whole course, and a training loop of its own.
3. `data`: vocabulary, examples, batches. Of `reviews`, from where they come, it is enough to know
   that `load_reviews` gives three splits, and that all tokens of a split are in one array.
4. `training`: fit and evaluate, for reviews.

In half an hour one can read `model` and skim the rest. The other modules together are longer than
these; read one when a lab sends you there:

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

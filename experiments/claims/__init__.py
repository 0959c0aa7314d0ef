"""Runs behind sentences of the labs, with more seeds and conditions than a lab has time for.

Each script may be stopped and continues. Results are in the JSON file of the same name, here or in `shared`; delete an
entry there to run it again.
"""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}  # before PyTorch and tqdm are imported

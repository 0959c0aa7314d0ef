"""Self-checks of the exercises: the reader's code in, advice out.

`check.<exercise>(answer)` returns a `Verdict`; how to add one stands at the head of `exercise.py`.
"""

from .exercise import Exercise, Verdict
from .lab_00 import lost_to_the_cut
from .lab_01 import attention_pool, masked_mean
from .lab_02 import extra_parameters, redundant_key, split_the_map
from .lab_03 import add_queries, one_matrix, one_question
from .lab_04 import average_early, whole_layer
from .lab_05 import marks_row
from .lab_06 import as_layer, batched_attention, mend_the_batch, what_two_matrices_cost
from .lab_07 import all_filters, look_at_the_next_word, scores_of_one_word, twice_the_words
from .lab_08 import many_heads, mend_the_heads, worth_of_a_head
from .lab_09 import first_block, layer_norm
from .lab_10 import allowed_places, next_word_loss
from .lab_11 import paired_interval, sign_flips
from .lab_12 import breadth
from .lab_13 import rollout, without_head
from .lab_14 import follow_score, mend_the_game, with_and_without
from .lab_16 import cached_step, mend_the_blocks, merge, peak_for_each_block

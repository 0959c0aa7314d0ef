"""Self-checks of the exercises: the reader's code in, advice out.

`check.<exercise>(answer)` returns a `Verdict`; how to add one stands at the head of `exercise.py`.
"""

from .exercise import Exercise as Exercise
from .exercise import Verdict as Verdict
from .lab_01 import attention_pool as attention_pool
from .lab_01 import lost_to_the_cut as lost_to_the_cut
from .lab_01 import masked_mean as masked_mean
from .lab_02 import extra_parameters as extra_parameters
from .lab_02 import redundant_key as redundant_key
from .lab_02 import split_the_map as split_the_map
from .lab_03 import add_queries as add_queries
from .lab_03 import one_matrix as one_matrix
from .lab_03 import one_question as one_question
from .lab_04 import average_early as average_early
from .lab_04 import marks_row as marks_row
from .lab_04 import whole_layer as whole_layer
from .lab_05 import as_layer as as_layer
from .lab_05 import batched_attention as batched_attention
from .lab_05 import context_of_one_word as context_of_one_word
from .lab_06 import all_filters as all_filters
from .lab_06 import look_at_the_next_word as look_at_the_next_word
from .lab_06 import scores_of_one_word as scores_of_one_word
from .lab_07 import cut_into_heads as cut_into_heads
from .lab_07 import join_heads as join_heads
from .lab_07 import many_heads as many_heads
from .lab_08 import allowed_places as allowed_places
from .lab_08 import first_block as first_block
from .lab_08 import layer_norm as layer_norm
from .lab_08 import next_word_loss as next_word_loss
from .lab_09 import paired_interval as paired_interval
from .lab_09 import sign_flips as sign_flips
from .lab_10 import breadth as breadth
from .lab_10 import rollout as rollout
from .lab_10 import without_head as without_head
from .lab_12 import cached_step as cached_step
from .lab_12 import mend_the_blocks as mend_the_blocks
from .lab_12 import merge as merge
from .lab_12 import peak_for_each_block as peak_for_each_block

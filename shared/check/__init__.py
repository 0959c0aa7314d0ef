"""Self-checks of the exercises: the reader's code in, advice out.

`check.<exercise>(answer)` returns a `Verdict`; how to add one stands at the head of `exercise.py`.
"""

from .exercise import Exercise, Verdict
from .lab_00 import encode_batch, lost_to_the_cut, unknown_by_size
from .lab_01 import attention_pool, effect_of, masked_mean, masked_softmax
from .lab_02 import key_pooling, redundant_key, slope, split_the_map
from .lab_03 import add_queries, looked_at, one_question, sweep
from .lab_04 import average_early, look_away, whole_layer
from .lab_05 import gains_by_places, marked_classifier, marks_row
from .lab_06 import as_layer, batched_attention, mend_the_batch, what_two_matrices_cost
from .lab_07 import all_filters, look_at_the_next_word, scores_of_one_word, twice_the_words
from .lab_08 import many_heads, mend_the_heads, worth_of_a_head
from .lab_09 import first_block, layer_norm, missed_by_rate, transformer_block
from .lab_10 import allowed_places, language_model, next_word_loss, worth_of_context
from .lab_11 import mend_the_comparison, paired_interval, sign_flips, told_before
from .lab_12 import breadth, encoder_layer, search_and_test, share_on_aim
from .lab_13 import more_than_the_sum, rollout, without_head
from .lab_14 import follow_score, mend_the_game, with_and_without
from .lab_15 import mend_the_turns, places_or_words, rotate
from .lab_16 import cached_step, mend_the_blocks, merge, peak_for_each_block

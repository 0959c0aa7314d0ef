"""The self-checks: `checks.name(answer)` says whether an answer is right, `checks.name.use(answer)` goes on with it.

There is one file for each lab, under its name; `engine.py` says what a check consists of.
"""

from checks.engine import Check, Verdict
from checks.longer_texts import fix_the_rotation, positions_or_words, rotate
from checks.many_heads import effect_of_a_head, fix_the_heads, many_heads
from checks.one_pass import cached_step, fix_the_blocks, merge
from checks.recap_attention import attention_pool, effect_of, masked_mean, masked_softmax

# TODO: the labs below still have their checks in shared.check; each line goes when its lab has moved.
from shared.check.lab_00 import encode_batch, lost_to_the_cut, unknown_by_size
from shared.check.lab_02 import key_pooling, redundant_key, slope, split_the_map
from shared.check.lab_03 import add_queries, looked_at, one_question, sweep
from shared.check.lab_04 import average_early, look_away, whole_layer
from shared.check.lab_05 import gains_by_places, marked_classifier, marks_row
from shared.check.lab_06 import as_layer, batched_attention, mend_the_batch, what_two_matrices_cost
from shared.check.lab_07 import all_filters, look_at_the_next_word, scores_of_one_word, twice_the_words
from shared.check.lab_09 import first_block, layer_norm, missed_by_rate, transformer_block
from shared.check.lab_10 import allowed_places, language_model, next_word_loss, worth_of_context
from shared.check.lab_11 import mend_the_comparison, paired_interval, sign_flips, told_before
from shared.check.lab_12 import breadth, encoder_layer, search_and_test, share_on_aim
from shared.check.lab_13 import more_than_the_sum, rollout, without_head
from shared.check.lab_14 import follow_score, mend_the_game, with_and_without

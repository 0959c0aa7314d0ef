"""The self-checks: `checks.name(answer)` says whether an answer is right, `checks.name.use(answer)` goes on with it.

There is one file for each lab, under its name; `engine.py` says what a check consists of.
"""

from checks.a_language_model import allowed_positions, effect_of_context, language_model, next_word_loss
from checks.a_pretrained_model import attention_on_target, encoder_layer, search_and_test, tokens_attended
from checks.a_question_from_the_text import gains_by_position, marked_classifier, marker_query
from checks.does_it_help import fix_the_comparison, paired_interval, preregistered, sign_flips
from checks.engine import Check, Verdict, whose
from checks.induction_heads import fix_the_game, follow_score, with_and_without
from checks.keys import factor_the_projection, learned_queries, redundant_key
from checks.longer_texts import fix_the_rotation, positions_or_words, rotate
from checks.many_heads import effect_of_a_head, fix_the_heads, many_heads
from checks.one_pass import merge
from checks.queries import add_queries, attention_received, one_query
from checks.recap_attention import effect_of, learned_query, masked_mean, masked_softmax
from checks.the_block import ablation_by_learning_rate, first_block, layer_norm, transformer_block
from checks.the_kv_cache import cached_step, fix_the_blocks
from checks.the_reviews import encode_batch, lost_to_truncation, unknown_by_size
from checks.values import ablate_attention, whole_layer
from checks.what_attention_explains import more_than_the_sum, rollout, without_head
from checks.when_in_doubt import attend_to_the_next_word, scores_of_one_word, twice_the_words
from checks.your_journey import batched_attention, fix_the_batch, matrix_to_linear

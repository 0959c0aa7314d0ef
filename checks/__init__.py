"""The self-checks: `checks.name(answer)` says whether an answer is right, `checks.name.use(answer)`
goes on with it.

A check is in the folder of its lab, in `exercises.py`, and has a name here; `engine.py` says what a
check consists of.
"""

from checks.engine import Check, Verdict, whose
from labs.a_language_model.exercises import (
    allowed_positions,
    effect_of_context,
    language_model,
    next_word_loss,
    sampling_probs,
    shifted_loss,
)
from labs.a_pretrained_model.exercises import (
    attention_on_target,
    encoder_layer,
    search_and_test,
    tokens_attended,
)
from labs.a_question_from_the_text.exercises import (
    gains_by_position,
    marked_classifier,
    marker_query,
)
from labs.does_it_help.exercises import (
    fix_the_comparison,
    paired_interval,
    preregistered,
    sign_flips,
)
from labs.induction_heads.exercises import fix_the_game, follow_score, with_and_without
from labs.keys.exercises import learned_queries, redundant_key
from labs.longer_texts.exercises import fix_the_rotation, positions_or_words, rotate
from labs.many_heads.exercises import fix_the_heads, many_heads
from labs.one_pass.exercises import gradients_in_blocks, merge
from labs.order.exercises import causal_attention, fix_the_mask
from labs.queries.exercises import add_queries, attention_received, one_query
from labs.recap_attention.exercises import learned_query, masked_mean, masked_softmax
from labs.scale.exercises import attention_backward, change_of_weights
from labs.the_block.exercises import first_block, layer_norm, transformer_block
from labs.the_kv_cache.exercises import cached_step, fix_the_blocks, grouped_attention
from labs.the_reviews.exercises import encode_batch, lost_to_truncation, unknown_by_size
from labs.two_sequences.exercises import cross_attention, fix_the_sides
from labs.values.exercises import fold_values, whole_layer
from labs.what_attention_explains.exercises import more_than_the_sum, rollout, without_head
from labs.when_in_doubt.exercises import attend_to_the_next_word, scores_of_one_word
from labs.your_journey.exercises import fix_the_batch, matrix_to_linear

"""The self-checks: `checks.name(answer)` says whether an answer is right, `checks.name.use(answer)` goes on with it."""

from checks.recap_attention import attention_pool, effect_of, masked_mean, masked_softmax

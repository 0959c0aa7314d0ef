"""Wrong answers as edits of the solution, with the names that they must hear, besides the mistakes of the checks."""

from right_answers import by_exercise

WRONG = by_exercise("""
unknown_by_size
    no pair of mean and half: return found => return {size: pair[0] for size, pair in found.items()}
attention_pool
    changed in place: weights = masked_softmax(scores, mask) =>
        weights = masked_softmax(scores, mask).sqrt(); weights *= weights
    a part is missing: self.features => self.tokens
    wrong width: self.score = nn.Linear(dim, 1) => self.score = nn.Linear(dim, dim)
    no nn.Linear: nn.Linear(dim, 1) => nn.Linear(dim, 1, bias=False)
    sizes that do not fit: TokenFeatures(vocabulary_size, dim => TokenFeatures(vocabulary_size, dim + 1
effect_of
    changes its input: copy.deepcopy(model) => model || copy.deepcopy(model) => copy.copy(model)
key_pooling
    the bias does not follow the argument: bias=bias => bias=True || bias: bool = True => bias: bool = False
    no nn.Linear: self.query = nn.Linear(key_dim, 1, bias=bias) =>
        self.query = nn.Parameter(torch.randn(key_dim, 1)) && self.query(keys) => (keys @ self.query)
    no nn.Linear: self.output = nn.Linear(dim, 1) => self.output = nn.Linear(dim, 1, bias=bias)
split_the_map
    an argument is not used: => return torch.ones(6, len(query))
    not a number: => row = torch.zeros_like(query); row[0], row[1] = other[1], -other[0]
        return torch.outer(w, row) / (row @ query)
add_queries
    one map for two: self.W_key = nn.Linear(dim, key_dim, bias=bias) => self.W_key = self.W_query
    the bias does not follow the argument: bias=bias => bias=False || bias=False => bias=True
    no nn.Linear: nn.Linear(dim, key_dim, bias=bias) => nn.Sequential(nn.Linear(dim, key_dim, bias=bias))
sweep
    no list of widths: => return {k: mean_and_interval([measure(k, seed) for seed in seeds]) for k in widths} ||
        return may_be => return highest || return may_be => return [found[k].mean() for k in may_be]
one_question
    an axis too many: torch.ones(key_dim) => torch.ones(key_dim, 1) && b_query) => b_query[:, 0])
average_early
    the average taken late: row.unsqueeze(2) * values => share.unsqueeze(2) * (weights @ values) ||
        share.unsqueeze(2) * torch.einsum('bij,bjd->bid', weights, values) ||
        share.unsqueeze(2) * (weights.unsqueeze(3) * values.unsqueeze(1)).sum(dim=2) ||
        share.unsqueeze(2) * torch.stack([torch.stack([row @ V for row in A]) for A, V in zip(weights, values)]) ||
        share.unsqueeze(2) * torch.stack([nn.functional.linear(A, V.T) for A, V in zip(weights, values)]) ||
        => return torch.einsum('bij,bjd,bi->bd', weights, values, mask / mask.sum(dim=1, keepdim=True))
marked_classifier
    all rows computed: => features = self.features(ids)
        output, rows = self.attention(features, mask)
        is_mark = ids == self.mark_id
        return self.output(output[is_mark])[:, 0], rows[is_mark]
    the query is not asked for: self.ask(ids, features).unsqueeze(2) =>
        self.attention.W_query(features[torch.arange(len(ids)), (ids == self.mark_id).int().argmax(1)]).unsqueeze(2)
    cut off from the gradient: self.output(pooled) => self.output(pooled.detach())
marks_row
    all rows computed: => queries, keys = features @ W_query, features @ W_key
        weights = masked_softmax(queries @ keys.mT / math.sqrt(keys.shape[2]), mask.unsqueeze(1))
        return (weights @ (features @ W_value))[torch.arange(len(place)), place]
look_away
    changes its input: copy.deepcopy(net) => net
whole_layer
    no nn.Linear: value_dim, bias=False => value_dim || dim, key_dim, bias=False => dim, key_dim
    the weights alone cannot be had: attend => look
    attend and forward disagree: weights = self.attend(features, mask) =>
        weights = masked_softmax(self.W_query(features) @ self.W_key(features).mT / self.W_key.out_features**0.5,
            mask.unsqueeze(1)) && / math.sqrt(keys.shape[2]) =>
    one map for two: self.W_key = nn.Linear(dim, key_dim, bias=False) => self.W_key = self.W_query
    drawn anew in each call: return weights @ values => return nn.functional.dropout(weights, 0.5) @ values
    cut off from the gradient: mask.unsqueeze(1)) => mask.unsqueeze(1)).detach() ||
        return weights @ values => values = values.detach(); return weights @ values
    changed in place: return weights @ => weights /= weights.sum(dim=2, keepdim=True) + 0; return weights @
    other numbers: math.sqrt(keys.shape[2]) => math.sqrt(keys.shape[2] + 1)
as_layer
    weights not registered: return => del layer.weight; layer.weight = W.T.clone().requires_grad_(); return
batched_attention
    transpose of the wrong axes: keys.transpose(-2, -1) => keys.T
look_at_the_next_word
    wrong shape: return W_query, W_key => return W_query[:, 1:], W_key
mend_the_game
    an axis too many: dim=1).flatten(1) => dim=1)
    sizes that do not fit: [:, :num_pairs] => [:, : 2 * num_pairs] && second = torch => first, last = first.split(
        num_pairs, dim=1); second = torch && [first, second] => [first, last]
    not drawn from random: torch.rand(num_texts, num_pairs, generator=random) => torch.rand(num_texts, num_pairs) ||
        torch.randint(num_letters, (num_texts, num_pairs), generator=random) =>
        torch.randint(num_letters, (num_texts, num_pairs))
    not drawn from random: torch.rand(num_texts, num_pairs, generator=random) =>
        torch.rand(num_texts, num_pairs, generator=torch.Generator().manual_seed(0)) ||
        torch.from_numpy(np.random.default_rng(0).random((num_texts, num_pairs)))
    one order for all texts: torch.rand(num_texts, num_pairs, generator=random).argsort(dim=1) =>
        torch.randperm(num_pairs, generator=torch.Generator().manual_seed(0)).expand(num_texts, -1)
with_and_without
    the model is left changed: copy.deepcopy(model) => model
    the model is left changed by a failure: => before, hears = measure(model), ~places[:, None]
        hook = model.layers[layer].W_output.register_forward_hook(lambda part, given, added: hears * added)
        after = measure(model)
        hook.remove()
        return before, after
many_heads
    weights not registered: self.W_key = nn.Linear(embed_dim, embed_dim) =>
        object.__setattr__(self, "W_key", nn.Linear(embed_dim, embed_dim))
    no nn.Linear: nn.Linear(embed_dim, embed_dim) => nn.Linear(embed_dim, embed_dim, bias=False) ||
        self.W_value = nn.Linear(embed_dim, embed_dim) =>
        self.W_value = nn.Parameter(torch.randn(embed_dim, embed_dim)) && self.W_value(features) =>
        features @ self.W_value
    other numbers: (weights @ values) => (weights @ values + values)
language_model
    raises: num_heads=4 => num_heads=5
    causal is not used: causal_mask(ids.shape[1], ids.device) if self.causal else None =>
        causal_mask(ids.shape[1], ids.device)
    num_blocks is not used: range(num_blocks) => range(2)
    a part of another kind: self.norm = nn.LayerNorm(dim) => self.norm = nn.Identity()
    one block for all: self.norm = nn => self.blocks = nn.ModuleList([self.blocks[0]] * num_blocks); self.norm = nn
    dropout is left in: dim, dropout=0.0, std => dim, std || 2 * dim, dropout=0.0, => 2 * dim,
    embeddings of another size: , std=0.5 =>
worth_of_context
    changes its input: order = => pieces[:, :-near] = far[:, torch.randperm(far.shape[1])]; order =
transformer_block
    a part is missing: self.attention_norm => self.first_norm
    wrong width: nn.Linear(hidden_dim, embed_dim) => nn.Linear(hidden_dim, hidden_dim)
    dropout is not used: return features + self.dropout(change) => return features + change ||
        self.add(features, thought) => features + thought ||
        self.add(features, attended) => features + attended ||
        features + self.dropout(change) => self.dropout(features + change)
    no dropout inside the feed-forward layer: nn.Dropout(dropout), => || nn.Dropout(dropout), => nn.Dropout(),
    another dropout by default: dropout=0.1 => dropout=0.5
    the sums are not made by `add`: self.add(features, thought) => features + self.dropout(thought) ||
        def add( => def join( && self.add( => self.join(
    no linear map at the ends: nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden_dim, embed_dim) =>
        nn.ReLU(), nn.Linear(hidden_dim, embed_dim), nn.Dropout(dropout)
    a part of another kind: self.attention_norm = nn.LayerNorm(embed_dim) => self.attention_norm = nn.Identity() ||
        MultiHeadSelfAttention(embed_dim, num_heads) =>
        nn.MultiheadAttention(embed_dim, num_heads, batch_first=True) && (features), mask, attention_mask) =>
        (features), features, features)
search_and_test
    no head with two numbers: return (layer, head), *mean => return mean ||
        return (layer, head), => return layer, head,
first_block
    one map for two: forward_norm = nn.LayerNorm(embed_dim) => forward_norm = self.attention_norm
layer_norm
    the work left to another function: => return F.layer_norm(features, scale.shape, scale, shift, eps) ||
        norm = torch.nn.LayerNorm(len(scale), eps, elementwise_affine=False)
        return norm(features) * scale + shift ||
        own = F.layer_norm; return own(features, scale.shape, scale, shift, eps)
    over everything: => return F.layer_norm(features, features.shape, eps=eps) * scale + shift
    the work left to another function: => flat = features.reshape(-1, features.shape[-1])
        return F.group_norm(flat, 1, scale, shift, eps).view(features.shape)
next_word_loss
    cut off from the gradient: index=0) => index=0).detach() || said = scores => said = scores.data ||
        return F.cross_entropy(said, came, ignore_index=0) =>
        return torch.tensor(F.cross_entropy(said, came, ignore_index=0).item(), dtype=scores.dtype)
    wrong type: index=0) => index=0).item()
    sizes that do not fit: said, came => said[:-1], came
told_before
    no mean, half and verdict: return mean, half, "close" => return mean, half, "equal"
paired_interval
    the work left to another function:
        => from shared.training import mean_and_interval; return mean_and_interval(np.subtract(first, second)) ||
        from shared.training import mean_and_interval as short; return short(np.subtract(first, second)) ||
        from shared import training; return training.mean_and_interval(np.subtract(first, second))
peak_for_each_block
    raises: inputs, block=block => inputs, block
sign_flips
    the allowance too large: differences.mean()) - 1e-12 => differences.mean()) * 0.98
    an argument is not used: => return 0.05
without_head
    changes its input: weight.clone() => weight
    a thing of another kind: weight.shape[1] // num_heads => weight.shape[1] / num_heads
places_or_words
    the reader is left with other places: => count, both = net.places, (measure(net, short), measure(net, long))
        net.places = lambda ids: count(ids) / factor
        return *both, measure(net, long)
    places that ask themselves: => other = copy.deepcopy(net)
        other.places = lambda ids: other.places(ids) / factor
        return measure(net, short), measure(net, long), measure(other, long)
""")

"""Wrong answers as edits of the solution, with the names that they must hear, besides the mistakes of the checks."""

WRONG = {
    "encode_batch": """
        unknown words are hidden: number.get(word, 1) => number[word] if word in number else 1 && ids != 0 => 1 < ids
        wrong dtype: dtype=torch.long => dtype=torch.float32
    """,
    "unknown_by_size": """
        no dict with these keys: return found => return list(found.values())
        no pair of mean and half: return found => return {size: pair[0] for size, pair in found.items()}
    """,
    "masked_softmax": """
        mask after the softmax: => weights = torch.softmax(scores, dim=-1)
            return weights.masked_fill(~mask, 0)
    """,
    "attention_pool": """
        changed in place: weights = masked_softmax(scores, mask) =>
            weights = masked_softmax(scores, mask).sqrt(); weights *= weights
        a linear map is missing: self.score => self.energy
        a part is missing: self.features => self.tokens
        wrong width: self.score = nn.Linear(dim, 1) => self.score = nn.Linear(dim, dim)
        no nn.Linear: nn.Linear(dim, 1) => nn.Linear(dim, 1, bias=False)
        sizes that do not fit: TokenFeatures(vocabulary_size, dim => TokenFeatures(vocabulary_size, dim + 1
    """,
    "effect_of": """
        changes its input: copy.deepcopy(model) => model || copy.deepcopy(model) => copy.copy(model)
        wrong type: mean_and_interval(differences) => mean_and_interval(differences)[0]
    """,
    "key_pooling": """
        wrong width: self.query = nn.Linear(key_dim, 1 => self.query = nn.Linear(key_dim, key_dim
        a part is missing: self.features => self.tokens
        the bias does not follow the argument: bias=bias => bias=True || bias: bool = True => bias: bool = False
        no nn.Linear: self.query = nn.Linear(key_dim, 1, bias=bias) =>
            self.query = nn.Parameter(torch.randn(key_dim, 1)) && self.query(keys) => (keys @ self.query)
    """,
    "split_the_map": """
        wrong type: return => return [0.0] or
        an argument is not used: => return torch.ones(6, len(query))
        an axis is missing: torch.outer(w, apart) => w
    """,
    "add_queries": """
        one map for two: self.W_key = nn.Linear(dim, key_dim, bias=bias) => self.W_key = self.W_query
        the bias does not follow the argument: bias=bias => bias=False || bias=False => bias=True
        no nn.Linear: nn.Linear(dim, key_dim, bias=bias) => nn.Sequential(nn.Linear(dim, key_dim, bias=bias))
    """,
    "looked_at": """
        more than one fault is left: => queries, keys = features @ W_query, features @ W_key
            weights = masked_softmax(queries @ keys.mT / math.sqrt(keys.shape[2]), mask.unsqueeze(1))
            return (weights * (1 - torch.eye(mask.shape[1]))).sum(dim=1) / (mask.shape[1] - 1)
        its own look counted: => queries, keys = features @ W_query, features @ W_key
            weights = masked_softmax(queries @ keys.mT / math.sqrt(keys.shape[2]), mask.unsqueeze(1))
            share = mask / mask.sum(dim=1, keepdim=True).clamp(min=1)
            return (share.unsqueeze(1) @ weights).squeeze(1)
    """,
    "sweep": """
        no list of widths: => return {k: mean_and_interval([measure(k, seed) for seed in seeds]) for k in widths} ||
            return may_be => return highest || return may_be => return [found[k].mean() for k in may_be]
        the highest mean alone: return may_be => return [highest]
    """,
    "one_question": """
        an axis too many: torch.ones(key_dim) => torch.ones(key_dim, 1) && b_query) => b_query[:, 0])
        wrong type: return W_query, b_query => return W_query
    """,
    "average_early": """
        the average taken late: row.unsqueeze(2) * values => share.unsqueeze(2) * (weights @ values) ||
            share.unsqueeze(2) * torch.einsum('bij,bjd->bid', weights, values) ||
            share.unsqueeze(2) * (weights.unsqueeze(3) * values.unsqueeze(1)).sum(dim=2) ||
            share.unsqueeze(2) * torch.stack([torch.tensordot(A, V, 1) for A, V in zip(weights, values)]) ||
            share.unsqueeze(2) * torch.stack([torch.stack([row @ V for row in A]) for A, V in zip(weights, values)]) ||
            share.unsqueeze(2) * torch.stack([nn.functional.linear(A, V.T) for A, V in zip(weights, values)]) ||
            => return torch.einsum('bij,bjd,bi->bd', weights, values, mask / mask.sum(dim=1, keepdim=True))
    """,
    "marked_classifier": """
        all rows computed: => features = self.features(ids)
            output, rows = self.attention(features, mask)
            is_mark = ids == self.mark_id
            return self.output(output[is_mark])[:, 0], rows[is_mark]
        the query is not asked for: self.ask(ids, features).unsqueeze(2) =>
            self.attention.W_query(features[torch.arange(len(ids)), (ids == self.mark_id).int().argmax(1)]).unsqueeze(2)
        an axis too many: self.output(pooled).squeeze(1) => self.output(pooled)
        cut off from the gradient: self.output(pooled) => self.output(pooled.detach())
    """,
    "gains_by_places": """
        no dict with these keys: return found => return list(found.values())
        no pair of mean and half: training.mean_and_interval(gains) => np.mean(gains)
        pairing lost: training.mean_and_interval(gains) => (np.mean(gains), math.hypot(*(training.mean_and_interval(
                [train(*kind, s) for s in seeds])[1] for kind in ((query_place, key_place), (False, False)))))
    """,
    "marks_row": """
        all rows computed: => queries, keys = features @ W_query, features @ W_key
            weights = masked_softmax(queries @ keys.mT / math.sqrt(keys.shape[2]), mask.unsqueeze(1))
            return (weights @ (features @ W_value))[torch.arange(len(place)), place] ||
            maps = (features @ W for W in (W_query, W_key, W_value))
            output = nn.functional.scaled_dot_product_attention(*maps, attn_mask=mask.unsqueeze(1))
            return output[torch.arange(len(place)), place]
    """,
    "look_away": """
        changes its input: copy.deepcopy(net) => net
        the sign turned round: => away = copy.deepcopy(net)
            nn.init.zeros_(away.attention.W_key.weight)
            return training.mean_and_interval(1.0 * right(away) - 1.0 * right(net))
    """,
    "whole_layer": """
        no nn.Linear: value_dim, bias=False => value_dim || dim, key_dim, bias=False => dim, key_dim
        the weights alone cannot be had: attend => look
        attend and forward disagree: weights = self.attend(features, mask) =>
            weights = masked_softmax(self.W_query(features) @ self.W_key(features).mT / self.W_key.out_features**0.5,
                mask.unsqueeze(1)) && / math.sqrt(keys.shape[2]) =>
        one map for two: self.W_key = nn.Linear(dim, key_dim, bias=False) => self.W_key = self.W_query
        wrong width: nn.Linear(dim, value_dim => nn.Linear(dim, dim ||
            nn.Linear(dim, key_dim => nn.Linear(dim, value_dim
        wrong type: values, weights => values
        drawn anew in each call: return weights @ values => return nn.functional.dropout(weights, 0.5) @ values
        cut off from the gradient: mask.unsqueeze(1)) => mask.unsqueeze(1)).detach() ||
            return weights @ values => values = values.detach(); return weights @ values
        changed in place: return weights @ => weights /= weights.sum(dim=2, keepdim=True) + 0; return weights @
        parameters created inside forward: self.W_key(features) => nn.Linear(len(features.mT[0]), 3)(features)
        weights not registered: W_key = nn.Linear(dim, key_dim, bias=False) => W_key = torch.randn(dim, key_dim) &&
            self.W_key(features) => features @ self.W_key
        super().__init__() is missing: super().__init__() => pass
        a linear map is missing: self.W_query => self.queries
        not a number: self.W_key(features) => self.W_key(features) / 0
        other numbers: math.sqrt(keys.shape[2]) => math.sqrt(keys.shape[2] + 1)
    """,
    "as_layer": """
        weights not registered: return => del layer.weight; layer.weight = W.T.clone().requires_grad_(); return
    """,
    "batched_attention": """
        wrong width: torch.rand(d_in, d_v) => torch.rand(d_in, d_k)
        parameters created inside forward: queries = =>
            self.__init__(x.shape[-1], self.W_key.shape[1], self.W_value.shape[1]); queries =
        only for a batch: => keys = x @ self.W_key
            batch, tokens, d_k = keys.shape
            weights = (x @ self.W_query @ keys.mT / math.sqrt(d_k)).softmax(-1)
            return weights @ (x @ self.W_value)
        transpose of the wrong axes: keys.transpose(-2, -1) => keys.T
        a reshape for a transpose: keys.transpose(-2, -1) => keys.view(x.shape[:-2] + (keys.shape[-1], -1))
    """,
    "mend_the_batch": """
        axes counted from the front: => powers = torch.exp(queries @ keys.mT / math.sqrt(keys.shape[1]))
            return (powers / powers.sum(dim=1, keepdim=True)) @ values
        no scale: => return torch.softmax(queries @ keys.mT, -1) @ values
    """,
    "what_two_matrices_cost": """
        other numbers: 2 * => 2.5 *
    """,
    "all_filters": """
        values of the word that asks: => return torch.einsum("ij,iv->ijv", weights, values)
    """,
    "look_at_the_next_word": """
        not a number: dims=1) => dims=1).log()
        looks at the word before: return W_query, W_key => return 9 * W_key, W_query
        lead too small: 10 * math.sqrt(num_words) => 2
        wrong shape: return W_query, W_key => return W_query[:, 1:], W_key
        wrong type: return W_query, W_key => return W_query
        other numbers: roll(1, dims=1) => roll(num_words // 2, dims=1)
    """,
    "scores_of_one_word": """
        queries and keys exchanged: => return ((embedded @ W_query.T) @ (embedded @ W_key.T).T)[:, asking] ||
            return W_key @ embedded[asking] @ (embedded @ W_query.T).T
        an axis too many: return keys @ query => return query[None] @ keys.T
    """,
    "mend_the_game": """
        not drawn from random: torch.rand(num_texts, num_pairs, generator=random) => torch.rand(num_texts, num_pairs) ||
            torch.randint(num_letters, (num_texts, num_pairs), generator=random) =>
            torch.randint(num_letters, (num_texts, num_pairs))
        not drawn from random: torch.rand(num_texts, num_pairs, generator=random) =>
            torch.rand(num_texts, num_pairs, generator=torch.Generator().manual_seed(0)) ||
            torch.from_numpy(np.random.default_rng(0).random((num_texts, num_pairs)))
        one order for all texts: torch.rand(num_texts, num_pairs, generator=random).argsort(dim=1) =>
            torch.randperm(num_pairs, generator=torch.Generator().manual_seed(0)).expand(num_texts, -1)
    """,
    "with_and_without": """
        the model is left changed by a failure: copy.deepcopy(model) => model
    """,
    "mend_the_heads": """
        more than one fault is left: => brought, looked = [], []
            for head in range(num_heads):
                q, k, v = (part[:, :, head::num_heads] for part in (queries, keys, values))
                scores = (q @ k.mT / math.sqrt(queries.shape[2])) * mask[:, None, :]
                looked.append(scores.softmax(dim=-1))
                brought.append(looked[-1] @ v)
            return torch.cat(brought, dim=-1), sum(looked) / num_heads
        the weights are missing: => three = queries, keys, values
            cut = [part.unflatten(2, (num_heads, -1)).transpose(1, 2) for part in three]
            brought = nn.functional.scaled_dot_product_attention(*cut, attn_mask=mask[:, None, None, :])
            return brought.transpose(1, 2).flatten(2)
    """,
    "worth_of_a_head": """
        no control for width: => gains = torch.tensor([share_left(2, 1, s) - share_left(2, 2, s) for s in seeds])
            return gains.mean(), 2.776 * gains.std() / 5**0.5
        other numbers: 2.776 => 2.5
    """,
    "many_heads": """
        NaN where a row is hidden: masked_softmax(scores, allowed) => (scores if allowed is None else
            scores.masked_fill(~allowed, float("-inf"))).softmax(dim=-1)
        wrong type: return self.W_output(joined), weights => return self.W_output(joined)
        the mask has no default: class MultiHeadSelfAttention => class Mine && mask=None => mask
        no mask is not expected: mask=None, => mask, && if mask is not None: => if True:
        refused with another error: raise ValueError( => assert False, (
        num_heads not refused: if num_heads < 1 or embed_dim % num_heads => if embed_dim < num_heads &&
            check_inputs => # check_inputs
        weights not registered: self.W_key = nn.Linear(embed_dim, embed_dim) =>
            object.__setattr__(self, "W_key", nn.Linear(embed_dim, embed_dim))
        no nn.Linear: nn.Linear(embed_dim, embed_dim) => nn.Linear(embed_dim, embed_dim, bias=False) ||
            self.W_value = nn.Linear(embed_dim, embed_dim) =>
            self.W_value = nn.Parameter(torch.randn(embed_dim, embed_dim)) && self.W_value(features) =>
            features @ self.W_value
        no mask: check_inputs => # check_inputs && masked_softmax(scores, allowed) =>
            masked_softmax(scores, None if attention_mask is None else attention_mask[..., None, :, :])
        order forgotten: check_inputs => attention_mask = None; check_inputs
        other numbers: (weights @ values) => (weights @ values + values)
        transpose of the wrong axes: keys.transpose(2, 3) => keys.T
        a reshape for a transpose: keys.transpose(2, 3) => keys.view(*keys.shape[:2], keys.shape[3], keys.shape[2])
    """,
    "language_model": """
        a part is missing: self.norm => self.last_norm
        raises: num_heads=4 => num_heads=5
        causal is not used: causal_mask(ids.shape[1], ids.device) if self.causal else None =>
            causal_mask(ids.shape[1], ids.device)
        num_blocks is not used: range(num_blocks) => range(2)
    """,
    "worth_of_context": """
        changes its input: order = => pieces[:, :-near] = far[:, torch.randperm(far.shape[1])]; order =
        all words shuffled: => order = torch.randperm(pieces.shape[1])
            return mean_and_interval(surprises_at(pieces[:, order]) - surprises_at(pieces))
    """,
    "allowed_places": """
        wrong dtype: return (back >= 0) & (back < reach) & mask[:, None, :] =>
            return ((back >= 0) & (back < reach) & mask[:, None, :]).float()
        no mask: & mask[:, None, :] => & torch.ones(len(mask), 1, 1).bool()
        no window: => return torch.ones(mask.shape[1], mask.shape[1]).tril().bool() & mask[:, None, :]
    """,
    "transformer_block": """
        a part is missing: self.attention_norm => self.first_norm
        wrong width: nn.Linear(hidden_dim, embed_dim) => nn.Linear(hidden_dim, hidden_dim)
        dropout is not used: return features + self.dropout(change) => return features + change ||
            self.add(features, thought) => features + thought ||
            self.add(features, attended) => features + attended ||
            features + self.dropout(change) => self.dropout(features + change)
        no dropout inside the feed-forward layer: nn.Dropout(dropout), => || nn.Dropout(dropout), => nn.Dropout(),
        another dropout by default: dropout=0.1 => dropout=0.5
        another bend: nn.ReLU(), => || nn.ReLU() => nn.LeakyReLU()
        the sums are not made by `add`: self.add(features, thought) => features + self.dropout(thought) ||
            def add( => def join( && self.add( => self.join(
    """,
    "missed_by_rate": """
        no dict with these keys: return found => return list(found.values()) || return found => return found[rates[0]]
    """,
    "encoder_layer": """
        a part is missing: self.attention_norm => self.first_norm
        wrong width: nn.Linear(hidden_dim, dim) => nn.Linear(hidden_dim, hidden_dim)
    """,
    "search_and_test": """
        no head with two numbers: return (layer, head), *mean => return mean ||
            return (layer, head), => return layer, head,
    """,
    "first_block": """
        hidden_dim is not used: hidden_dim), nn => 2 * embed_dim), nn && nn.Linear(hidden => nn.Linear(2 * embed
        num_heads is not used: Attention(embed_dim, num_heads) => Attention(embed_dim, embed_dim)
        wrong width: nn.Linear(hidden_dim, embed_dim) => nn.Linear(hidden_dim, hidden_dim) ||
            nn.Linear(embed_dim, embed_dim)
        a part is missing: self.attention_norm => self.first_norm
        one map for two: forward_norm = nn.LayerNorm(embed_dim) => forward_norm = self.attention_norm
    """,
    "layer_norm": """
        the work left to another function: => return F.layer_norm(features, scale.shape, scale, shift, eps) ||
            return torch.layer_norm(features, scale.shape, scale, shift, eps) ||
            norm = torch.nn.LayerNorm(len(scale), eps, elementwise_affine=False)
            return norm(features) * scale + shift ||
            own = F.layer_norm; return own(features, scale.shape, scale, shift, eps)
        sample variance: => spread = features.std(-1, keepdim=True)
            return (features - features.mean(-1, True)) / (spread**2 + eps) ** 0.5 * scale + shift
        eps outside the root: => spread = features.std(-1, keepdim=True) + eps
            return (features - features.mean(-1, True)) / spread * scale + shift
        over everything: => return F.layer_norm(features, features.shape, eps=eps) * scale + shift
    """,
    "next_word_loss": """
        cut off from the gradient: index=0) => index=0).detach() || said = scores => said = scores.data ||
            return F.cross_entropy(said, came, ignore_index=0) =>
            return torch.tensor(F.cross_entropy(said, came, ignore_index=0).item(), dtype=scores.dtype)
        wrong type: index=0) => index=0).item()
        shifted after flattening: => said, came = scores.flatten(0, 1)[:-1], ids.flatten()[1:]
            return F.cross_entropy(said, came, ignore_index=0)
        mean of the texts' means: => pairs = [(text[:-1], words[1:]) for text, words in zip(scores, ids)]
            return sum(F.cross_entropy(said, came, ignore_index=0) for said, came in pairs) / len(ids)
        last word only: => return F.cross_entropy(scores[:, -2], ids[:, -1], ignore_index=0)
        sizes that do not fit: said, came => said[:-1], came
    """,
    "mend_the_comparison": """
        chosen on the test reviews: => def best(name, seed):
                return max(measure(net, "test") for net in train(name, seed))
            return training.mean_and_interval([best(first, seed) - best(second, seed) for seed in seeds])
    """,
    "told_before": """
        no mean, half and verdict: return mean, half, "close" => return mean, half, "equal"
        higher by the mean alone: => gains = [train(first, seed) - train(second, seed) for seed in seeds]
            mean, half = training.mean_and_interval(gains)
            if abs(mean) + half < band:
                return mean, half, "close"
            return mean, half, "higher" if mean > 0 else "lower" if -mean > half else "undecided"
    """,
    "paired_interval": """
        the work left to another function:
            => from shared.training import mean_and_interval; return mean_and_interval(np.subtract(first, second)) ||
            from shared.training import mean_and_interval as short; return short(np.subtract(first, second)) ||
            from shared import training; return training.mean_and_interval(np.subtract(first, second))
        pairing lost: => half = np.ptp(stats.ttest_ind(first, second).confidence_interval(0.95)) / 2
            return np.mean(first) - np.mean(second), half
        sign lost: => d = abs(first - second)
            return d.mean(), stats.t.ppf(0.975, len(d) - 1) * stats.sem(d)
    """,
    "sign_flips": """
        the allowance too large: differences.mean()) - 1e-12 => differences.mean()) * 0.98
        one side doubled: => patterns = np.array(list(product((1, -1), repeat=len(differences))))
            return 2 * np.mean((patterns * differences).mean(1) >= abs(np.mean(differences)) - 1e-12)
        an argument is not used: => return 0.05
    """,
    "breadth": """
        one number for all maps: .mean(dim=-1) => .mean().item()
    """,
    "rollout": """
        element by element: 2 @ mixed => 2 * (mixed if mixed is not identity else 1)
    """,
    "without_head": """
        changes its input: weight.clone() => weight
        a thing of another kind: weight.shape[1] // num_heads => weight.shape[1] / num_heads
    """,
}

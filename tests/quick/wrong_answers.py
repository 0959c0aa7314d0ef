"""Wrong answers as edits of the solution, with the names that they must hear, besides the mistakes of the checks."""

WRONG = {
    "encode_batch": """
        unknown words are hidden: number.get(word, 1) => number[word] if word in number else 1 && ids != 0 => 1 < ids
        wrong dtype: dtype=torch.long => dtype=torch.float32
        padded to the longest of all: => counts = Counter(w for t in train for w in t)
            number = {w: i for i, w in enumerate((w for w in counts if counts[w] >= min_count), start=2)}
            longest = max(len(t) for t in [*texts, *train])
            rows = [[number.get(w, 1) for w in t] for t in texts]
            ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
            return ids, ids != 0
        unknown words are left out: => counts = Counter(w for t in train for w in t)
            number = {w: i for i, w in enumerate((w for w in counts if counts[w] >= min_count), start=2)}
            rows = [torch.tensor([number[w] for w in t if w in number], dtype=torch.long) for t in texts]
            ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
            return ids, ids != 0
    """,
    "unknown_by_size": """
        no dict with these keys: return found => return list(found.values())
        no pair of mean and half: return found => return {size: pair[0] for size, pair in found.items()}
        the size taken for a count: => counts, found = Counter(word for text in train for word in text), {}
            for size in sizes:
                known = [word for word, seen in counts.items() if seen >= size]
                found[size] = mean_and_interval([sum(word not in known for word in text) / len(text) for text in texts])
            return found
    """,
    "masked_softmax": """
        mask after the softmax: => weights = torch.softmax(scores, dim=-1)
            return weights.masked_fill(~mask, 0)
        exponentials out of range: => e = torch.exp(scores) * mask; return e / (e.sum(dim=1, keepdim=True) + 1e-9) ||
            e = torch.exp(scores - scores.max(dim=1, keepdim=True).values) * mask
            return e / e.sum(dim=1, keepdim=True).clamp(min=1e-12)
    """,
    "attention_pool": """
        changed in place: weights = masked_softmax(scores, mask) =>
            weights = masked_softmax(scores, mask).sqrt(); weights *= weights
        a linear map is missing: self.score => self.energy
        a part is missing: self.features => self.tokens
        wrong width: self.score = nn.Linear(dim, 1) => self.score = nn.Linear(dim, dim)
        no nn.Linear: nn.Linear(dim, 1) => nn.Linear(dim, 1, bias=False)
        sizes that do not fit: TokenFeatures(vocabulary_size, dim => TokenFeatures(vocabulary_size, dim + 1
        scaled: => x = self.features(ids)
            weights = masked_softmax(self.score(x)[..., 0] / math.sqrt(x.shape[-1]), mask)
            return self.output((weights[..., None] * x).sum(1))[:, 0], weights
        padding hidden in the features: => x = self.features(ids) * mask.unsqueeze(-1)
            weights = self.score(x).squeeze(-1).softmax(-1)
            return self.output((weights.unsqueeze(-1) * x).sum(1)).squeeze(-1), weights
    """,
    "effect_of": """
        changes its input: copy.deepcopy(model) => model || copy.deepcopy(model) => copy.copy(model)
        wrong type: mean_and_interval(differences) => mean_and_interval(differences)[0]
        the change hands nothing back: => changed = [change(copy.deepcopy(model)) for model in models]
            return mean_and_interval([measure(one) - measure(model) for one, model in zip(changed, models)])
        the spread in place of the interval: mean_and_interval(differences) => np.mean(differences), np.std(differences)
        one number in the interval: => differences = []
            for model in models:
                changed = copy.deepcopy(model)
                change(changed)
                differences.append(measure(changed) - measure(model))
                return mean_and_interval(differences)
    """,
    "key_pooling": """
        wrong width: self.query = nn.Linear(key_dim, 1 => self.query = nn.Linear(key_dim, key_dim
        a part is missing: self.features => self.tokens
        the bias does not follow the argument: bias=bias => bias=True || bias: bool = True => bias: bool = False
        no nn.Linear: self.query = nn.Linear(key_dim, 1, bias=bias) =>
            self.query = nn.Parameter(torch.randn(key_dim, 1)) && self.query(keys) => (keys @ self.query)
        scaled: => x = self.features(ids)
            keys = self.W_key(x)
            weights = masked_softmax(self.query(keys)[..., 0] / math.sqrt(keys.shape[-1]), mask)
            return self.output((weights[..., None] * x).sum(1))[:, 0], weights
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
        weights returned transposed: => queries, keys = self.W_query(features), self.W_key(features)
            scores = keys @ queries.mT / keys.shape[2] ** 0.5
            weights = scores.masked_fill(~mask[:, :, None], -1e30).softmax(1)
            return weights.mT @ features, weights
    """,
    "looked_at": """
        more than one fault is left: => queries, keys = features @ W_query, features @ W_key
            weights = masked_softmax(queries @ keys.mT / math.sqrt(keys.shape[2]), mask.unsqueeze(1))
            return (weights * (1 - torch.eye(mask.shape[1]))).sum(dim=1) / (mask.shape[1] - 1)
        its own look counted: => queries, keys = features @ W_query, features @ W_key
            weights = masked_softmax(queries @ keys.mT / math.sqrt(keys.shape[2]), mask.unsqueeze(1))
            share = mask / mask.sum(dim=1, keepdim=True).clamp(min=1)
            return (share.unsqueeze(1) @ weights).squeeze(1)
        more than one fault is left: => queries, keys = features @ W_query, features @ W_key
            weights = masked_softmax(queries @ keys.mT / math.sqrt(keys.shape[2]), mask.unsqueeze(1))
            return (weights * (1 - torch.eye(mask.shape[1]))).mean(dim=1)
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
        numbers of earlier rounds kept: => found, gains = {}, []
            for kind in ((True, True), (True, False), (False, True)):
                for seed in seeds:
                    gains.append(train(*kind, seed) - train(False, False, seed))
                found[kind] = training.mean_and_interval(gains)
            return found
        normal in place of t: training.mean_and_interval(gains) =>
            (np.mean(gains), 1.96 * np.std(gains) / len(gains) ** 0.5)
        the standard error in place of the interval: training.mean_and_interval(gains) =>
            (np.mean(gains), np.std(gains) / np.sqrt(len(gains)))
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
        memory shared: => layer = nn.Linear(*W.shape, bias=False)
            layer.weight.data = W.T.contiguous()
            return layer
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
        more than one fault is left: => queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
            return torch.softmax(queries @ keys.T / keys.shape[1] ** 0.5, dim=1) @ values ||
            queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
            return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=1) @ values
    """,
    "mend_the_batch": """
        axes counted from the front: => powers = torch.exp(queries @ keys.mT / math.sqrt(keys.shape[1]))
            return (powers / powers.sum(dim=1, keepdim=True)) @ values
        no scale: => return torch.softmax(queries @ keys.mT, -1) @ values
        axis not kept: => powers = torch.exp(queries @ keys.mT / math.sqrt(keys.shape[-1]))
            return powers / powers.sum(-1) @ values
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
        looks at the word before: => return 20 * torch.eye(num_words), torch.diag(torch.ones(num_words - 1), -1)
    """,
    "scores_of_one_word": """
        queries and keys exchanged: => return ((W_query @ columns).T @ (W_key @ columns))[:, asking] ||
            return W_key @ columns[:, asking] @ (W_query @ columns)
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
        the model is left changed: copy.deepcopy(model) => model
        the model is left changed by a failure: => before, hears = measure(model), ~places[:, None]
            hook = model.layers[layer].W_output.register_forward_hook(lambda part, given, added: hears * added)
            after = measure(model)
            hook.remove()
            return before, after
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
        one mask takes the place of the other: if attention_mask is not None: => elif attention_mask is not None: &&
            may_look if mask is None else may_look & allowed => may_look ||
            may_look if mask is None else may_look & allowed => may_look
        either in place of both: may_look & allowed => may_look | allowed
        a text's mask laid over a head: => maps = self.W_query, self.W_key, self.W_value
            queries, keys, values = (self.split(one(features)) for one in maps)
            scores = queries @ keys.mT / math.sqrt(self.head_dim)
            if mask is not None:
                scores = scores.masked_fill(~mask[:, None, None, :], -1e9)
            if attention_mask is not None:
                scores = scores.masked_fill(~attention_mask, -1e9)
            weights = scores.softmax(-1)
            return self.W_output((weights @ values).transpose(1, 2).flatten(2)), weights
    """,
    "language_model": """
        a part is missing: self.norm => self.last_norm
        raises: num_heads=4 => num_heads=5
        causal is not used: causal_mask(ids.shape[1], ids.device) if self.causal else None =>
            causal_mask(ids.shape[1], ids.device)
        num_blocks is not used: range(num_blocks) => range(2)
        a part of another kind: self.norm = nn.LayerNorm(dim) => self.norm = nn.Identity()
        a softmax in place of the scores: self.norm(features)) => self.norm(features)).log_softmax(-1)
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
        no linear map at the ends: nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden_dim, embed_dim) =>
            nn.ReLU(), nn.Linear(hidden_dim, embed_dim), nn.Dropout(dropout)
        a part of another kind: self.attention_norm = nn.LayerNorm(embed_dim) => self.attention_norm = nn.Identity() ||
            MultiHeadSelfAttention(embed_dim, num_heads) =>
            nn.MultiheadAttention(embed_dim, num_heads, batch_first=True) && (features), mask, attention_mask) =>
            (features), features, features)
    """,
    "missed_by_rate": """
        no dict with these keys: return found => return list(found.values()) || return found => return found[rates[0]]
        numbers of earlier rounds kept: => found, gains = {}, []
            for rate in rates:
                gains += [accuracy("nothing", rate, seed) - accuracy(part_away, rate, seed) for seed in seeds]
                found[rate] = mean_and_interval(gains)
            return found
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
        no linear map at the ends: nn.Linear(hidden_dim, embed_dim)) => nn.Linear(hidden_dim, embed_dim), nn.ReLU()) ||
            nn.Linear(hidden_dim, embed_dim, bias=False))
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
        the work left to another function: => flat = features.reshape(-1, features.shape[-1])
            return F.group_norm(flat, 1, scale, shift, eps).view(features.shape) ||
            flat = features.reshape(1, -1, features.shape[-1])
            return F.instance_norm(flat, eps=eps).view(features.shape) * scale + shift
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
        no logarithm: => said = scores[:, :-1].softmax(-1)
            return -said.gather(2, ids[:, 1:, None])[ids[:, 1:] != 0].mean()
        no softmax: => return F.nll_loss(scores[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)
        left out where padding is read: => real = ids[:, :-1] != 0
            surprise = F.cross_entropy(scores[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
            return (surprise * real).sum() / real.sum()
        mean of the places' means: => last = ids.shape[1] - 1
            return sum(F.cross_entropy(scores[:, t], ids[:, t + 1], ignore_index=0) for t in range(last)) / last
    """,
    "mend_the_comparison": """
        chosen on the test reviews: => def best(name, seed):
                return max(measure(net, "test") for net in train(name, seed))
            return training.mean_and_interval([best(first, seed) - best(second, seed) for seed in seeds])
        the validation reviews reported: => best = lambda name, seed: max(train(name, seed), key=lambda net:
                measure(net, "validation"))
            gains = [measure(best(first, s), "test") - measure(best(second, s), "validation") for s in seeds]
            return training.mean_and_interval(gains)
    """,
    "told_before": """
        no mean, half and verdict: return mean, half, "close" => return mean, half, "equal"
        higher by the mean alone: => gains = [train(first, seed) - train(second, seed) for seed in seeds]
            mean, half = training.mean_and_interval(gains)
            if abs(mean) + half < band:
                return mean, half, "close"
            return mean, half, "higher" if mean > 0 else "lower" if -mean > half else "undecided"
        higher only above the band: => mean, half = training.mean_and_interval([train(first, s) - train(second, s)
                for s in seeds])
            if mean - half > band: return mean, half, "higher"
            if mean + half < -band: return mean, half, "lower"
            return mean, half, "close" if abs(mean) + half < band else "undecided"
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
        the quantile of five seeds: => d = np.array(first) - np.array(second)
            return d.mean(), 2.776 * d.std(ddof=1) / np.sqrt(5)
    """,
    "sign_flips": """
        the allowance too large: differences.mean()) - 1e-12 => differences.mean()) * 0.98
        one side doubled: => patterns = np.array(list(product((1, -1), repeat=len(differences))))
            return 2 * np.mean((patterns * differences).mean(1) >= abs(np.mean(differences)) - 1e-12)
        an argument is not used: => return 0.05
        measured pattern not counted: >= abs(differences.mean()) - 1e-12 => > abs(differences.mean())
        always five signs: => patterns = np.array(list(product([1, -1], repeat=5)))
            return np.mean(abs((patterns * differences).mean(1)) >= abs(np.mean(differences)) - 1e-12)
    """,
    "breadth": """
        one number for all maps: .mean(dim=-1) => .mean().item()
    """,
    "rollout": """
        element by element: 2 @ mixed => 2 * (mixed if mixed is not identity else 1)
        no residual connection: => mixed, *others = weights.mean(dim=1)
            for layer in others:
                mixed = (layer + torch.eye(len(layer))) / 2 @ mixed
            return mixed
    """,
    "without_head": """
        changes its input: weight.clone() => weight
        a thing of another kind: weight.shape[1] // num_heads => weight.shape[1] / num_heads
    """,
    "masked_mean": """
        one more counted: => return (features * mask[..., None]).sum(1) / (mask.sum(1, keepdim=True) + 1)
    """,
    "twice_the_words": """
        other lengths: => ratios = torch.tensor([largest_weight(8, s) / largest_weight(4, s) for s in seeds])
            return ratios.mean(), 2 * ratios.std() / len(ratios) ** 0.5
    """,
    "share_on_aim": """
        each row at the aims of all: => rows = aim >= 0
            return weights[:, :, rows][..., aim[rows]].mean((-2, -1))
    """,
    "follow_score": """
        no answer where no token comes twice:
            => last = {t: s for t in range(len(ids)) for s in range(t) if ids[s] == ids[t]}
            return np.mean([weights[t, s + 1].item() for t, s in last.items()]) ||
            => last = {t: s for t in range(len(ids)) for s in range(t) if ids[s] == ids[t]}
            return sum(weights[t, s + 1] for t, s in last.items()) / len(last) if last else None
    """,
    "places_or_words": """
        the reader is left with other places: => count, both = net.places, (measure(net, short), measure(net, long))
            net.places = lambda ids: count(ids) / factor
            return *both, measure(net, long)
        places that ask themselves: => other = copy.deepcopy(net)
            other.places = lambda ids: other.places(ids) / factor
            return measure(net, short), measure(net, long), measure(other, long)
    """,
    "rotate": """
        the result is as large as the vectors: => dim = vectors.shape[-1]
            angles = places[..., None] * base ** (-torch.arange(0, dim, 2) / dim)
            cos, sin, turned = angles.cos(), angles.sin(), torch.empty_like(vectors)
            turned[..., 0::2] = vectors[..., 0::2] * cos - vectors[..., 1::2] * sin
            turned[..., 1::2] = vectors[..., 0::2] * sin + vectors[..., 1::2] * cos
            return turned
    """,
    "cached_step": """
        places counted from the oldest word: => keys, values = torch.cat([keys, key], 1), torch.cat([values, value], 1)
            return F.scaled_dot_product_attention(query, keys, values, is_causal=True), keys, values
    """,
}

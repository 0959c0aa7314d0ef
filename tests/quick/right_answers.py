"""Right answers in odd styles, as edits of the solution, mostly another body; and mutants that are right anyway."""

import re


def by_exercise(answers: str) -> dict[str, str]:
    """The table of each exercise, below a line with its name."""
    _, *found = re.split(r"^(\w+)\n", answers, flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))


# Exercises whose truth is an answer in another style, most by loops.
TRUTH = """
    lost_to_the_cut encode_batch unknown_by_size masked_softmax masked_mean redundant_key slope looked_at look_away
    gains_by_places mend_the_batch scores_of_one_word all_filters missed_by_rate allowed_places next_word_loss
    paired_interval sign_flips share_on_aim breadth without_head rollout follow_score rotate merge mend_the_blocks
    cached_step
""".split()

RIGHT = by_exercise("""
masked_mean
    by einsum: => return torch.einsum("btd,bt->bd", features, mask.to(features)) / mask.sum(1).clamp(min=1)[:, None]
    in single precision: => share = mask.float() / mask.float().sum(dim=1, keepdim=True).clamp(min=1)
        return (share.unsqueeze(1) @ features).squeeze(1)
masked_softmax
    minus infinity, put right: => weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        return torch.where(mask, weights, 0.0)
    shared out again: => weights = torch.exp(torch.log_softmax(scores - 1e6 * ~mask, dim=1)) * mask
        return weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-30)
attention_pool
    by hand: => features = self.features(ids)
        scores = features @ self.score.weight[0] + self.score.bias
        weights = scores.masked_fill(~mask, -1e30).softmax(dim=1) * mask
        return (weights[:, None] @ features)[:, 0] @ self.output.weight[0] + self.output.bias, weights
    each token has its say first: => features = self.features(ids)
        weights = masked_softmax(self.score(features)[..., 0], mask)
        said = (features @ self.output.weight.T).squeeze(2)
        return (weights * said).sum(dim=1) + self.output.bias, weights
    by loops: => features = self.features(ids)
        weights = torch.zeros(mask.shape)
        for row, real in enumerate(mask):
            if real.any():
                weights[row, real] = torch.softmax(self.score(features[row, real])[:, 0], dim=0)
        pooled = torch.stack([sum(w * f for w, f in zip(*pair)) for pair in zip(weights, features)])
        return self.output(pooled).flatten(), weights
effect_of
    by a list: => copies = [copy.deepcopy(model) for model in models]
        for one in copies:
            change(one)
        return mean_and_interval([measure(b) - measure(a) for a, b in zip(models, copies)])
    by scipy: => after = []
        for model in copy.deepcopy(models):
            change(model)
            after.append(measure(model))
        differences = np.array(after) - np.array([measure(model) for model in models])
        return differences.mean(), stats.t.ppf(0.975, len(models) - 1) * stats.sem(differences)
    put back by the state: => differences = []
        for model in models:
            kept, before = copy.deepcopy(model.state_dict()), measure(model)
            change(model)
            differences.append(measure(model) - before)
            model.load_state_dict(kept)
        mean, half = mean_and_interval(differences)
        return [mean, half]
lost_to_the_cut
    by what is left: => return ((window - distractor).clip(0, labelled) == 0).mean()
    by torch: => return (torch.from_numpy(distractor) >= window).float().mean()
encode_batch
    padded by PyTorch: => said = [word for text in train for word in text]
        number = {word: 2 + place for place, word in enumerate(set(said)) if said.count(word) >= min_count}
        rows = [torch.tensor([number.get(word, 1) for word in text]) for text in texts]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return [ids, ids > 0]
    numbers from 10: => known = [word for word, seen in Counter(sum(train, [])).items() if seen > min_count - 1]
        lengths = torch.tensor([len(text) for text in texts])
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        ids = torch.zeros(mask.shape, dtype=torch.long)
        ids[mask] = torch.tensor([10 + known.index(w) if w in known else 1 for text in texts for w in text])
        return ids, mask
unknown_by_size
    by ranks: => said = Counter([word for text in train for word in text]).most_common()
        rank = {word: place for place, (word, _) in enumerate(said)}
        of_text = [np.array([rank.get(word, 10**9) for word in text]) for text in texts]
        return {size: mean_and_interval([(ranks >= size).mean() for ranks in of_text]) for size in sizes}
    by scipy: => counts = Counter(sum(train, []))
        shares = {n: [1 - np.isin(t, [w for w, _ in counts.most_common(n)]).mean() for t in texts] for n in sizes}
        t = stats.t.ppf(0.975, len(texts) - 1)
        return {size: (np.mean(some), t * stats.sem(some)) for size, some in shares.items()}
redundant_key
    a list: => w = (W_key * query).sum(1)
        return [w, (b_key * query).sum() + b_query - (centre * w).sum()]
    a number: => return W_key @ query, ((-centre @ W_key + b_key) @ query + b_query).item()
split_the_map
    by the pseudoinverse: => return torch.outer(w, torch.linalg.pinv(torch.stack([query, other], dim=1))[0])
    bent twice: => K = torch.randn(len(w), len(query))
        K = K - torch.outer(K @ other, other) / other.dot(other)
        rest = query - other * query.dot(other) / other.dot(other)
        return K + torch.outer(w - K @ query, rest) / rest.dot(rest)
    two columns: => pairs = [(i, j) for i in range(len(query)) for j in range(i)]
        i, j = max(pairs, key=lambda ij: abs(query[ij[0]] * other[ij[1]] - query[ij[1]] * other[ij[0]]))
        K, size = torch.zeros(len(w), len(query)), query[i] * other[j] - query[j] * other[i]
        K[:, i], K[:, j] = w * other[j] / size, -w * other[i] / size
        return K
key_pooling
    by hand: => features = self.features(ids)
        keys = torch.nn.functional.linear(features, self.W_key.weight, self.W_key.bias)
        scores = keys @ self.query.weight[0] + (0 if self.query.bias is None else self.query.bias)
        weights = scores.masked_fill(~mask, -1e30).softmax(dim=1) * mask
        return self.output((weights[:, None] @ features)[:, 0])[:, 0], weights
    the brackets moved: => features = self.features(ids)
        w = self.W_key.weight.T @ self.query.weight[0]
        weights = masked_softmax(features @ w, mask)
        return self.output(weighted_sum(weights, features)).flatten(), weights
    each token has its say first: => features = self.features(ids)
        weights = masked_softmax(self.query(self.W_key(features))[..., 0], mask)
        said = (features @ self.output.weight.T).squeeze(2)
        return (weights * said).sum(dim=1) + self.output.bias, weights
slope
    by scipy: => found = [stats.linregress(np.log(sizes), np.log([measure(x, s) for x in sizes])) for s in seeds]
        return mean_and_interval([line.slope for line in found])
    in bits: => rows = [[np.log2(measure(size, seed)) for size in sizes] for seed in seeds]
        return list(mean_and_interval([np.polyfit(np.log2(sizes), row, 1)[0] for row in rows]))
one_question
    one column: => W_key, b_query = torch.zeros(len(w), key_dim), torch.zeros(key_dim)
        W_key[:, 0], b_query[0] = w, math.sqrt(key_dim)
        return torch.zeros(len(w), key_dim), b_query, W_key
    root in the bias: => b_query = torch.full((key_dim,), key_dim**-0.5)
        return torch.zeros(len(w), key_dim), b_query, w[:, None].expand(-1, key_dim)
    random query: => b_query = torch.randn(key_dim)
        W_key = math.sqrt(key_dim) * torch.outer(w, b_query) / (b_query @ b_query)
        return [0 * w[:, None] * b_query, b_query, W_key]
average_early
    by einsum: => share = mask.to(weights) / mask.sum(1, keepdim=True)
        return torch.einsum("bi,bij,bjd->bd", share, weights, values)
    by loops: => return torch.stack([A[real].mean(0) @ V for A, V, real in zip(weights, values, mask)])
    in single precision: => share = mask.float() / mask.float().sum(dim=1, keepdim=True)
        return (share.unsqueeze(1) @ weights @ values).squeeze(1)
marked_classifier
    by gather: weighted_sum((ids == self.mark_id).to(features), features) =>
        features[torch.arange(len(ids)), (ids == self.mark_id).int().argmax(dim=1)]
    by PyTorch: => x = self.features(ids)
        inputs = self.ask(ids, x)[:, None], self.attention.W_key(x)
        attend, unit = nn.functional.scaled_dot_product_attention, torch.eye(ids.shape[1]).to(x)
        pooled = attend(*inputs, self.attention.W_value(x), attn_mask=mask[:, None])[:, 0]
        weights = attend(*inputs, unit.expand(len(x), -1, -1), attn_mask=mask[:, None])[:, 0]
        return self.output(pooled).flatten(), weights
    values mapped once: weighted_sum(weights, self.attention.W_value(features)) =>
        self.attention.W_value(weighted_sum(weights, features))
gains_by_places
    in a comprehension: => base = np.array([train(False, False, seed) for seed in seeds])
        return {(q, k): training.mean_and_interval([train(q, k, s) for s in seeds] - base)
            for q in (True, False) for k in (True, False) if q or k}
    a table first: => kinds = [(q, k) for q in (False, True) for k in (False, True)]
        runs = {kind: [train(*kind, seed) for seed in seeds] for kind in kinds}
        gains = {kind: np.subtract(runs[kind], runs[False, False]) for kind in kinds[1:]}
        return {kind: np.array(training.mean_and_interval(gain)) for kind, gain in gains.items()}
marks_row
    by einsum: => query = torch.einsum("bd,dk->bk", features[range(len(place)), place], W_query)
        scores = torch.einsum("bk,btk->bt", query, features @ W_key) * W_key.shape[1] ** -0.5
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        return torch.einsum("bt,btv->bv", weights, features @ W_value)
    by PyTorch: => marks = features.gather(1, place[:, None, None].expand(-1, 1, features.shape[2]))
        attend = nn.functional.scaled_dot_product_attention
        return attend(marks @ W_query, features @ W_key, features @ W_value, attn_mask=mask[:, None])[:, 0]
    one-hot places, in single precision: features[torch.arange(len(place)), place] =>
        (nn.functional.one_hot(place, features.shape[1]).float().unsqueeze(1) @ features).squeeze(1)
mend_the_batch
    by softmax: => scores = queries @ keys.mT * keys.size(-1) ** -0.5
        return torch.softmax(scores, dim=-1) @ values
    mended axis by axis: keys.shape[-1] => queries.size(queries.dim() - 1) &&
        powers.sum(dim=-1, keepdim=True) => powers.sum(dim=powers.dim() - 1)[..., None] && scores.mean() =>
        scores.amax()
as_layer
    entry by entry: => layer = nn.Linear(len(W), len(W[0]), bias=False)
        for i, row in enumerate(W):
            for j, number in enumerate(row):
                layer.weight.data[j, i] = number
        return layer
    from a state: => layer = nn.Linear(*W.shape, bias=False)
        layer.load_state_dict({"weight": W.T})
        return layer
    gradient off and on: => layer = nn.Linear(*W.shape, bias=False).requires_grad_(False)
        layer.weight[:] = W.mT
        return layer.requires_grad_()
batched_attention
    by loops: => if x.dim() == 3: return torch.stack([self(sentence) for sentence in x])
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        rows = []
        for query in queries:
            powers = torch.stack([torch.exp(query @ key / math.sqrt(len(key))) for key in keys])
            rows.append(sum(power * value for power, value in zip(powers, values)) / powers.sum())
        return torch.stack(rows)
    matrices lying: (d_in, d_k) => (d_k, d_in) && (d_in, d_v) => (d_v, d_in) &&
        @ self.W_query => @ self.W_query.T && @ self.W_key => @ self.W_key.T && @ self.W_value => @ self.W_value.T
    by PyTorch, with biases: nn.Parameter(torch.rand(d_in, d_k)) => nn.Linear(d_in, d_k) &&
        nn.Parameter(torch.rand(d_in, d_v)) => nn.Linear(d_in, d_v) &&
        => return nn.functional.scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x))
scores_of_one_word
    a row of the matrix: => return ((W_query @ columns).T @ (W_key @ columns))[asking]
    other names: (asking, columns, W_query, W_key) => (i, x, Q, K) && => linear = torch.nn.functional.linear
        return linear(linear(x.T[i], Q), linear(x.T, K))
all_filters
    by einsum: => return torch.einsum("ij,jv->ijv", weights, values)
    by diagonal matrices: => return torch.stack([torch.diag(row) @ values for row in weights])
look_at_the_next_word
    integers in a list: => unit = torch.eye(num_words, dtype=torch.long)
        return [50 * unit, unit.roll(1, 1)]
    words on a circle, the query turned by a step: => step = 2 * math.pi / num_words
        angle = step * torch.arange(num_words)
        query = torch.stack([torch.cos(angle + step), torch.sin(angle + step)])
        return 20 * query, 20 * torch.stack([torch.cos(angle), torch.sin(angle)])
    by numpy: => return 30 * np.eye(num_words), np.roll(np.eye(num_words), 1, axis=1)
    parameters: => unit = torch.eye(num_words)
        return torch.nn.Parameter(8 * unit), torch.nn.Parameter(8 * unit.roll(-1, 0))
mend_the_heads
    all heads at once: => q, k, v = (part.unflatten(2, (num_heads, -1)).mT.mT.transpose(1, 2)
                   for part in (queries, keys, values))
        scores = q @ k.mT * q.shape[3] ** -0.5
        scores = torch.where(mask[:, None, None, :], scores, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, -1)
        return (weights @ v).transpose(1, 2).reshape(queries.shape), weights.sum(1) / num_heads
    by PyTorch, head by head: => attend, brought, seen = nn.functional.scaled_dot_product_attention, [], 0.0
        unit = torch.eye(mask.shape[1]).expand(len(mask), -1, -1)
        for q, k, v in zip(*(part.chunk(num_heads, -1) for part in (queries, keys, values))):
            brought.append(attend(q, k, v, attn_mask=mask[:, None]))
            seen = seen + attend(q, k, unit, attn_mask=mask[:, None]) / num_heads
        return [torch.cat(brought, -1), seen]
    columns asked one by one: slice(head * head_dim, (head + 1) * head_dim) =>
        list(range(head * head_dim, (head + 1) * head_dim))
worth_of_a_head
    the quantile with all its digits: 2.776 => stats.t.ppf(0.975, 4)
many_heads
    by einsum: queries @ keys.transpose(2, 3) => torch.einsum("bhik,bhjk->bhij", queries, keys) &&
        (weights @ values) => torch.einsum("bhij,bhjv->bhiv", weights, values)
    refuses when it is called, and hides by sharing out again: if num_heads < 1 or embed_dim % num_heads: =>
        if False: && => if features.shape[2] % self.num_heads:
            raise ValueError(f"头数 {self.num_heads} 不能整除 {features.shape[2]}。")
        maps = self.W_query, self.W_key, self.W_value
        queries, keys, values = (torch.stack(one(features).chunk(self.num_heads, 2), 1) for one in maps)
        weights = (queries @ keys.mT / math.sqrt(keys.shape[3])).softmax(-1)
        order = attention_mask if attention_mask is None else attention_mask.view(-1, 1, *attention_mask.shape[-2:])
        for hidden in (mask if mask is None else mask[:, None, None], order):
            if hidden is not None:
                weights = weights * hidden
                weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-300)
        return self.W_output(torch.cat((weights @ values).unbind(1), 2)), weights
    the smallest number, and the scores divided: / math.sqrt(self.head_dim) => && check_inputs => # check_inputs &&
        keys.transpose(2, 3) => keys.mT / math.sqrt(self.head_dim) && allowed = None => allowed = torch.tensor(True)
        && may_look if mask is None else may_look & allowed => may_look & allowed && masked_softmax(scores, allowed)
        => scores.masked_fill(~allowed, torch.finfo(scores.dtype).min).softmax(dim=-1)
language_model
    a block after the other: => mask = causal_mask(ids.shape[1]) if self.causal else None
        read = self.features(ids)
        for number in range(len(self.blocks)):
            read = self.blocks[number](read, None, mask)[0]
        return nn.functional.linear(self.norm(read), self.output.weight, self.output.bias)
    by tril: => import torch
        may = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril() if self.causal else None
        read = self.features(ids)
        for block in self.blocks:
            read, weights = block(read, attention_mask=may)
        return self.output(self.norm(read).flatten(0, 1)).unflatten(0, ids.shape)
    names of its own: => from torch import arange
        features, places = self.features(ids), arange(ids.size(1))
        for block in self.blocks:
            extra = {"attention_mask": places[:, None] >= places} if self.causal else {}
            features = block(features, **extra)[0]
        return self.output(self.norm(features))
worth_of_context
    each text an order of its own: => far = pieces.shape[1] - near
        order = torch.argsort(torch.rand(len(pieces), far), dim=1)
        shuffled = pieces.clone()
        shuffled[:, :far] = pieces[:, :far].gather(1, order)
        return list(mean_and_interval((surprises_at(shuffled) - surprises_at(pieces)).tolist()))
    by one index: => places = torch.arange(pieces.shape[1])
        places[:-near] = places[:-near][torch.randperm(len(places) - near)]
        rise = surprises_at(pieces[:, places]) - surprises_at(pieces)
        return torch.tensor(mean_and_interval(rise), dtype=rise.dtype).unbind()
    by Python: => import random
        rows = [row[:-near] for row in pieces.tolist()]
        shuffled = torch.tensor([random.sample(row, len(row)) for row in rows])
        after = surprises_at(torch.hstack([shuffled, pieces[:, len(rows[0]):]]))
        return mean_and_interval(np.subtract(after, surprises_at(pieces)))
allowed_places
    not the upper triangle: => upper = torch.ones(len(mask), *[mask.shape[1]] * 2).triu(1).bool()
        return ~upper & mask[:, None] & ~upper.mT.tril(-reach)
    the repeated mask cut twice: => return mask[:, None].expand(-1, mask.shape[1], -1).tril().triu(1 - reach)
layer_norm
    it calls itself, which is no other function's work: => if features.dim() > 1:
            return torch.stack([layer_norm(token, scale, shift, eps) for token in features])
        mean = sum(features) / len(features)
        variance = sum((x - mean) ** 2 for x in features) / len(features)
        spread = (variance + eps) ** 0.5
        return torch.stack([(x - mean) / spread * a + b for x, a, b in zip(features, scale, shift)])
    by the mean of squares: => mean = features.mean(-1, True)
        spread = ((features**2).mean(-1, True) - mean**2 + eps).sqrt()
        return torch.addcmul(shift, (features - mean) / spread, scale)
    turned: => turned = features.movedim(-1, 0)
        normal = (turned - turned.mean(0)) / (turned.var(0, unbiased=False) + eps).pow(0.5)
        return normal.movedim(0, -1) * scale + shift
transformer_block
    by hand: => norm = self.attention_norm
        spread, mean = torch.var_mean(features, -1, unbiased=False, keepdim=True)
        normed = (features - mean) / (spread + norm.eps).sqrt() * norm.weight + norm.bias
        attended, weights = self.attention(normed, mask=mask, attention_mask=attention_mask)
        features = self.add(change=attended, features=features)
        return self.add(features, self.feed_forward(self.feed_forward_norm(features))), weights
    in place: nn.ReLU(), => nn.ReLU(inplace=True),
    two calls: => def add(part, norm):
            given = part(norm(features))
            first = given[0] if isinstance(given, tuple) else given
            return self.add(features, first), given
        features, (_, weights) = add(lambda x: self.attention(x, mask, attention_mask), self.attention_norm)
        return [add(self.feed_forward, self.feed_forward_norm)[0], weights]
missed_by_rate
    by NumPy: => pairs = np.array([[[accuracy(part, rate, seed) for part in ("nothing", part_away)]
            for seed in seeds] for rate in rates])
        gains = pairs[..., 0] - pairs[..., 1]
        return {rate: list(mean_and_interval(row)) for rate, row in zip(rates, gains)}
    in one expression: => return {rate: mean_and_interval([accuracy("nothing", rate, seed)
            - accuracy(part_away, rate, seed) for seed in seeds]) for rate in reversed(rates)}
first_block
    by hand: => total = features + self.attention(features, mask)[0]
        spread, mean = torch.var_mean(total, -1, unbiased=False, keepdim=True)
        first = (total - mean) / (spread + 1e-5).sqrt() * self.attention_norm.weight + self.attention_norm.bias
        hidden = torch.clamp(first @ self.feed_forward[0].weight.T + self.feed_forward[0].bias, min=0)
        thought = F.linear(hidden, self.feed_forward[2].weight, self.feed_forward[2].bias)
        norm = self.feed_forward_norm
        return F.layer_norm(first + thought, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
    token by token: => output, (attended, _) = [], self.attention(features, mask)
        for token, add in zip(features.flatten(0, 1), attended.flatten(0, 1), strict=True):
            token = self.attention_norm(token + add)
            output.append(self.feed_forward_norm(token + self.feed_forward(token)))
        return torch.stack(output).view(features.shape)
    in a loop: => steps = [(lambda x: self.attention(x, mask)[0], self.attention_norm)]
        for part, norm in steps + [(self.feed_forward, self.feed_forward_norm)]:
            features = norm(torch.add(part(features), features))
        return features
next_word_loss
    words' axis second: => return F.cross_entropy(scores[:, :-1].transpose(1, 2), ids[:, 1:], ignore_index=0)
    picked by a mask: => return F.cross_entropy(scores[:, :-1][ids[:, 1:] > 0], ids[:, 1:][ids[:, 1:] > 0])
mend_the_comparison
    in a function of its own: => def tested(name, seed):
            return measure(max(train(name, seed), key=lambda net: measure(net, "validation")), "test")
        return training.mean_and_interval([tested(first, seed) - tested(second, seed) for seed in seeds])
    by argmax: => runs = np.zeros((2, len(seeds)))
        for row, name in enumerate([first, second]):
            for column, seed in enumerate(seeds):
                nets = train(name, seed)
                runs[row, column] = measure(nets[np.argmax([measure(net, "validation") for net in nets])], "test")
        return training.mean_and_interval(runs[0] - runs[1])
    by scipy: => best = {(name, seed): max(train(name, seed), key=lambda net: measure(net, "validation"))
            for name in (first, second) for seed in seeds}
        found = [[measure(best[name, seed], "test") for seed in seeds] for name in (first, second)]
        low, high = (0.0, 0.0) if found[0] == found[1] else stats.ttest_rel(*found).confidence_interval()
        return np.array([low + high, high - low]) / 2
told_before
    by signs: => gains = np.array([train(first, s) for s in seeds]) - [train(second, s) for s in seeds]
        mean, half = training.mean_and_interval(gains)
        word = ("lower", "undecided", "higher")[1 + int(np.sign(mean)) * bool(abs(mean) > half)]
        return [mean, half, word if abs(mean) + half >= band else "close"]
    by a table: => mean, half = training.mean_and_interval([train(first, s) - train(second, s) for s in seeds])
        holds = {"close": max(mean + half, half - mean) < band, "higher": mean > half, "lower": -mean > half}
        return mean, half, next((word for word in holds if holds[word]), "undecided")
    by scipy: => low, high = stats.ttest_rel([train(first, s) for s in seeds],
            [train(second, s) for s in seeds]).confidence_interval()
        word = "higher" if low > 0 else "lower" if high < 0 else "undecided"
        return (low + high) / 2, (high - low) / 2, "close" if -band < low and high < band else word
paired_interval
    an array: => d = np.subtract(first, second)
        return np.array([d.mean(), d.std(ddof=1) / d.size**0.5 * -stats.t.ppf(0.025, d.size - 1)])
    in torch: => d = torch.as_tensor(first) - torch.as_tensor(second)
        return d.mean(), torch.tensor(stats.t.ppf(0.975, len(d) - 1)) * d.std() / len(d) ** 0.5
sign_flips
    a fraction: => from fractions import Fraction
        patterns = list(product((1, -1), repeat=len(differences)))
        means = [abs(np.multiply(pattern, differences).mean()) for pattern in patterns]
        return Fraction(sum(mean >= abs(differences.mean()) - 1e-12 for mean in means), len(patterns))
    a tensor: => signs = torch.cartesian_prod(*[torch.tensor([1.0, -1.0])] * len(differences))
        differences = torch.as_tensor(differences)
        return ((signs * differences).sum(1).abs() >= differences.sum().abs() - 1e-12).double().mean()
encoder_layer
    asked twice: attended, weights = self.attention(features, mask) =>
        attended, weights = self.attention(features, mask=mask)[0], self.attention(features, mask)[1]
    in place names: => attended, weights = self.attention(features, mask)
        features = self.attention_norm(torch.add(attended, features))
        features = self.feed_forward_norm(torch.add(self.feed_forward(features), features))
        return [features, weights]
    keywords: nn.LayerNorm(dim, eps) => nn.LayerNorm(normalized_shape=dim, eps=eps)
share_on_aim
    by gather: => given = weights.gather(3, aim.clamp(min=0).expand(*weights.shape[:2], -1)[..., None])[..., 0]
        return given[:, :, aim != -1].mean(2)
    by a loop: => rows = [i for i in range(len(aim)) if aim[i] != -1]
        return sum(weights[:, :, i, aim[i]] for i in rows) / len(rows)
search_and_test
    by unravel_index: => import numpy as np
        found = shares(searched).mean(0).numpy()
        head = tuple(int(i) for i in np.unravel_index(found.argmax(), found.shape))
        mean, half = mean_and_interval([row[head].item() for row in shares(fresh)])
        return [head, mean, half]
    by loops: => found = shares(searched).sum(0)
        best = max((found[i, j].item(), i, j) for i in range(len(found)) for j in range(found.shape[1]))
        return best[1:], *mean_and_interval(shares(fresh)[:, best[1], best[2]].tolist())
    flat: => width = shares(searched).shape[2]
        place = int(shares(searched).flatten(1).mean(0).argmax())
        return (place // width, place % width), *mean_and_interval(shares(fresh).flatten(1)[:, place])
breadth
    with where: => logs = torch.where(weights > 0, weights, 1.0).log()
        return (-torch.einsum("...ij,...ij->...i", weights, logs)).exp().mean(-1)
    in numpy: => from scipy.special import entr
        return np.asarray(np.exp(entr(weights.numpy()).sum(-1)).mean(-1))
more_than_the_sum
    in one line: => whole = lead_without([])
        rest = lead_without(group) - whole - sum([lead_without([one]) - whole for one in group])
        return list(mean_and_interval(rest.numpy()))
    by counting: => singles = torch.stack([lead_without([one]) for one in group]).sum(0)
        return mean_and_interval(lead_without(group) - singles + (len(group) - 1) * lead_without([]))
    a loop: => left = lead_without(list(group)) - lead_without([])
        for one in group:
            left = left + lead_without([]) - lead_without([one])
        mean, half = mean_and_interval(left)
        return torch.tensor(mean), torch.tensor(half)
without_head
    with a gate: => gate = (torch.arange(num_heads) != head).to(weight)
        return weight * gate.repeat_interleave(weight.shape[1] // num_heads)
    in numpy: => kept = np.arange(weight.shape[1]) // (weight.shape[1] // num_heads) != head
        return weight.numpy() * kept
rollout
    by einsum: => mixed = torch.eye(weights.shape[-1]).to(weights)
        for layer in weights:
            mixed = torch.einsum("hij,jk->ik", layer, mixed) / (2 * len(layer)) + mixed / 2
        return mixed
    in numpy: => mixed = np.eye(weights.shape[-1])
        for layer in weights.numpy().mean(axis=1):
            mixed = 0.5 * layer @ mixed + 0.5 * mixed
        return mixed
look_away
    by the keys: W_query.weight => W_key.weight
    put back: => kept, before = net.attention.W_query.weight.data.clone(), right(net)
        net.attention.W_query.weight.data.zero_()
        after = right(net)
        net.attention.W_query.weight.data = kept
        d = np.asarray(before, dtype=int) - np.asarray(after, dtype=int)
        return [d.mean(), training.stats.t.ppf(0.975, len(d) - 1) * d.std(ddof=1) / len(d) ** 0.5]
looked_at
    by PyTorch: => unit = torch.eye(mask.shape[1]).expand(len(mask), -1, -1)
        rows = nn.functional.scaled_dot_product_attention(
            features @ W_query, features @ W_key, unit, attn_mask=mask[:, None].clone())
        rows = rows.nan_to_num() * mask[:, :, None] * (1 - unit)
        return rows.sum(1) / (mask.sum(1, keepdim=True) - 1).clamp(min=1)
    by einsum: => scores = torch.einsum("bid,dk,bjc,ck->bij", features, W_query, features, W_key)
        weights = masked_softmax(scores * len(W_key.T) ** -0.5, mask[:, None])
        weights = weights - torch.diag_embed(weights.diagonal(dim1=1, dim2=2))
        return torch.einsum("bi,bij->bj", mask / (mask.sum(1, keepdim=True) - 1).clamp(min=1), weights)
sweep
    a table: => table = np.array([[measure(k, seed) for seed in seeds] for k in widths])
        gaps = table[table.mean(axis=1).argmax()] - table
        intervals = map(mean_and_interval, gaps)
        return {k for k, (mean, half) in zip(widths, intervals) if mean - half <= 0}
    by scipy: => rows = {k: torch.tensor([measure(k, s) for s in seeds], dtype=torch.float64) for k in widths}
        top = max(rows.values(), key=torch.mean)
        low = {k: stats.ttest_rel(top, row).confidence_interval().low for k, row in rows.items() if row is not top}
        return [k for k in widths if not low.get(k, 0) > 0]
    first all of one seed: => rows = {k: [] for k in widths}
        for seed in seeds:
            for k in reversed(widths):
                rows[k].append(measure(k, seed))
        best = max(rows, key=lambda k: sum(rows[k]))
        stays = lambda mean, half: mean < half
        differences = {k: [a - b for a, b in zip(rows[best], rows[k])] for k in rows}
        return tuple(k for k in rows if k == best or stays(*mean_and_interval(differences[k])))
follow_score
    by a mask: => same = (ids[:, None] == ids) & torch.ones(len(ids), len(ids)).tril(-1).bool()
        rows = same.any(1).nonzero()[:, 0]
        last = (same * torch.arange(len(ids))).amax(1)
        return weights[rows, last[rows] + 1].sum() / max(len(rows), 1)
    as a float: => pairs = [(t, s) for t in range(len(ids)) for s in range(t) if ids[s] == ids[t]]
        where = dict(pairs).items()  # of two with one t, the later s stays
        return float(sum(weights[t, s + 1] for t, s in where) / max(len(where), 1))
mend_the_game
    text by text: => texts = []
        for _ in range(num_texts):
            first = torch.randperm(num_letters, generator=random)[:num_pairs].tolist()
            pairs = [(a, int(torch.randint(num_letters, (), generator=random))) for a in first]
            pairs += [pairs[i] for i in torch.randperm(num_pairs, generator=random)]
            texts.append([letter for pair in pairs for letter in pair])
        return torch.tensor(texts)
    by take_along_dim: => first = torch.rand(num_texts, num_letters, generator=random).topk(num_pairs).indices
        second = torch.randint(0, num_letters, first.shape, generator=random)
        order = torch.rand(first.shape, generator=random).argsort(1)
        parts = [first, second, first.take_along_dim(order, 1), second.take_along_dim(order, 1)]
        return torch.stack([torch.cat(parts[::2], 1), torch.cat(parts[1::2], 1)], 2).reshape(num_texts, -1)
    all permutations alike: => first = [torch.randperm(num_letters, generator=random) for _ in range(num_texts)]
        first = torch.stack(first)[:, :num_pairs]
        second = (torch.rand(first.shape, generator=random) * num_letters).long()
        shown = torch.stack([first, second], dim=2)
        asked = [pairs[torch.randperm(num_pairs, generator=random)] for pairs in shown]
        return torch.hstack([shown, torch.stack(asked)]).flatten(1)
with_and_without
    a module around the layer: => class Around(nn.Module):
            def __init__(self, layer):
                super().__init__()
                self.layer = layer
            def forward(self, features, attention_mask=None):
                added, weights = self.layer(features, attention_mask=attention_mask)
                return added * ~places[:, None], weights
        other = copy.deepcopy(model)
        other.layers[layer] = Around(other.layers[layer])
        return measure(model), measure(other)
    a hook taken away in a finally: => before = measure(model)
        keep = (~places).to(torch.get_default_dtype())
        hook = model.layers[layer].register_forward_hook(
            lambda part, given, both: (torch.einsum("btd,t->btd", both[0], keep.to(both[0])), both[1]))
        try:
            return [before, measure(model)]
        finally:
            hook.remove()
    another forward for a while: => before, part = measure(model), model.layers[layer].W_output
        speak = part.forward
        part.forward = lambda joined: speak(joined).masked_fill(places[:, None], 0)
        try:
            return before, torch.tensor(measure(model))
        finally:
            part.forward = speak
rotate
    pair by pair: => found = []
        for i in range(0, vectors.shape[-1], 2):
            angle = places / base ** (i / vectors.shape[-1])
            cos, sin = torch.cos(angle), torch.sin(angle)
            x, y = vectors[..., i], vectors[..., i + 1]
            found += [cos * x - sin * y, sin * x + cos * y]
        return torch.stack(found, dim=-1)
    each number twice: => dim = vectors.shape[-1]
        angles = places[..., None] * torch.exp(-math.log(base) * torch.arange(0, dim, 2).to(vectors) / dim)
        cos, sin = (part.repeat_interleave(2, dim=-1) for part in (angles.cos(), angles.sin()))
        crossed = torch.stack([-vectors[..., 1::2], vectors[..., 0::2]], -1).flatten(-2)
        return vectors * cos + crossed * sin
mend_the_turns
    one by one: => scores = torch.stack([(rotate(queries[i], places[i]) * rotate(keys, places)).sum(1)
                              for i in range(len(queries))])
        return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1) @ values
    by PyTorch: => from torch.nn import functional
        return functional.scaled_dot_product_attention(rotate(queries, places), rotate(keys, places), values)
    counted from the first: => near = places - places[0]
        scores = rotate(queries, near) @ rotate(keys, near).mT / math.sqrt(queries.shape[1])
        shares = (scores - scores.max(dim=1, keepdim=True).values).exp()
        return shares @ values / shares.sum(dim=1, keepdim=True)
places_or_words
    put back in a finally: => first, second, count = measure(net, short), measure(net, long), net.places
        try:
            net.places = lambda ids: count(ids) / factor
            return [first, second, measure(net, long)]
        finally:
            net.places = count
    the copy first: => squeezed = copy.deepcopy(net)
        squeezed.places = lambda ids: net.places(ids) * (1 / factor)
        third = measure(squeezed, long)
        return measure(net, short), measure(net, long), third
    as tensors: => other = copy.copy(net)
        other.places = lambda ids, count=net.places: count(ids).double().div(factor)
        return tuple(torch.tensor(measure(*pair)) for pair in ((net, short), (net, long), (other, long)))
merge
    by one_more's way: => top = torch.stack([first[0], second[0]]).amax(0)
        factors = [torch.exp(half[0] - top) for half in (first, second)]
        return tuple([top] + [factors[0] * a + factors[1] * b for a, b in zip(first[1:], second[1:])])
    by where: => higher = first[0] > second[0]
        top = torch.where(higher, first[0], second[0])
        return [top, *(sum((h[0] - top).exp() * h[part] for h in (first, second)) for part in (1, 2))]
mend_the_blocks
    by distances: => keys, values = torch.cat([kept_keys, keys], 1), torch.cat([kept_values, values], 1)
        places = torch.arange(keys.shape[1])
        back = places[-queries.shape[1]:, None] - places
        seen = (0 <= back) & (back < reach)
        output = F.scaled_dot_product_attention(queries, keys, values, attn_mask=seen)
        return output, keys[:, -reach:], values[:, -reach:]
    what is too far taken away: .triu(older - reach + 1) =>
        ^ torch.ones(num_new, num_words, dtype=torch.bool).tril(older - reach)
cached_step
    by einsum: => keys, values = torch.hstack([keys, key]), torch.hstack([values, value])
        weights = torch.einsum("hik,hjk->hij", query, keys).div(query.shape[2] ** 0.5).softmax(-1)
        return [weights @ values, keys, values]
    two scores apart: => scale = math.sqrt(key.shape[-1])
        old, new = query @ keys.mT / scale, query @ key.mT / scale
        top = torch.cat([old, new], dim=2).amax(dim=2, keepdim=True)
        a, b = (old - top).exp(), (new - top).exp()
        output = (a @ values + b @ value) / (a.sum(dim=2, keepdim=True) + b)
        return [output, torch.cat([keys, key], dim=1), torch.cat([values, value], dim=1)]
peak_for_each_block
    each size once: => inputs, blocks = torch.randn(3, num_tokens, 16), {*sizes, *(2 * size for size in sizes)}
        peaks = {block: peak_bytes(attention, *inputs, block=block) for block in blocks}
        return {size: (peaks[2 * size] - peaks[size]) / size for size in sizes}
    zeros, the last size first: => given = [torch.zeros(num_tokens, 16) for _ in range(3)]
        peak = lambda block: peak_bytes(lambda: attention(*given, block=block))
        return {size: peak(2 * size) / size - peak(size) / size for size in reversed(sizes)}
    the inputs made inside: => def peak(block):
            return peak_bytes(lambda: attention(*(torch.ones(num_tokens, 16) for _ in range(3)), block=block))
        return dict(zip(sizes, [torch.tensor((peak(n + n) - peak(n)) / n) for n in sizes]))
""")

LAYERS = """
        biases, and -inf: dim, key_dim, bias=False => dim, key_dim && masked_softmax(scores, mask.unsqueeze(1)) =>
            scores.masked_fill(~mask[:, None], float("-inf")).softmax(-1)
        by loops: => weights = torch.zeros(*mask.shape, mask.shape[1])
            for b in range(len(mask)):
                real = [i for i in range(mask.shape[1]) if mask[b, i]]
                for i in real:
                    scores = [self.W_query(features[b, i]) @ self.W_key(features[b, j]) for j in real]
                    weights[b, i, real] = (torch.stack(scores) / math.sqrt(self.W_key.out_features)).softmax(0)
            return weights @ BROUGHT, weights
        by PyTorch: => q, k, unit = self.W_query(features), self.W_key(features), torch.eye(mask.shape[1])
            attend = nn.functional.scaled_dot_product_attention
            outputs = attend(q, k, BROUGHT, attn_mask=mask[:, None])
            return outputs, attend(q, k, unit.expand(len(mask), -1, -1), attn_mask=mask[:, None])
        both masks: mask.unsqueeze(1) => mask[:, None] & mask[:, :, None]
"""
RIGHT["add_queries"] = LAYERS.replace("BROUGHT", "features").replace(
    "dim, key_dim, bias=False => dim, key_dim &&", "keys = self.W_key(features) => keys = self.W_key(features) + 0 &&"
)
RIGHT["whole_layer"] = LAYERS.replace("BROUGHT", "self.W_value(features)").replace(
    "biases, and -inf: dim, key_dim, bias=False => dim, key_dim && ", "with -inf: "
)
RIGHT["whole_layer"] += """
        the scale on the queries, by einsum: {SCORES} => torch.einsum("bik,bjk->bij", queries / keys.size(2)**0.5, keys)
""".replace("{SCORES}", "queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[2])")
OVER_SEEDS = """
        by numpy: => row = np.array([FIRST for seed in seeds]) BY np.array([SECOND for seed in seeds])
            return row.mean(), QUANTILE * row.std(ddof=1) / np.sqrt(len(row))
        by a loop, in a list: => row = []
            for seed in seeds:
                row.append(FIRST)
                row[-1] BY= SECOND
            mean = sum(row) / len(row)
            variance = sum((one - mean) ** 2 for one in row) / (len(row) - 1)
            return [mean, QUANTILE * (variance / len(row)) ** 0.5]
        as tensors: => runs = torch.tensor([[FIRST, SECOND] for seed in seeds])
            row = runs[:, 0] BY runs[:, 1]
            return row.mean(), QUANTILE * row.std(correction=1) * len(row) ** -0.5
"""
for name, first, second, by, quantile in (
    ("what_two_matrices_cost", "own_weight(False, seed)", "own_weight(two_matrices=True, seed=seed)", "-", "2"),
    ("twice_the_words", "largest_weight(16, seed)", "largest_weight(num_words=8, seed=seed)", "/", "2"),
    ("worth_of_a_head", "share_left(8, 1, seed)", "share_left(embed_dim=2, num_heads=2, seed=seed)", "-", "2.776"),
):
    RIGHT[name] = OVER_SEEDS.replace("FIRST", first).replace("SECOND", second)
    RIGHT[name] = RIGHT[name].replace("BY", by).replace("QUANTILE", quantile)

LARGE = "the 1 at each word is as far above the 0 elsewhere as .9 of the weight needs, and more"
EQUAL = {  # mutants by what stands in them, with the reason why they are right
    "encode_batch": dict.fromkeys(
        ("'<PAD>': 1", "'<UNK>': 2", "'<PAD>': -1", "'<UNK>': 0"), "no text holds these words, so nobody looks them up"
    ),
    "masked_softmax": {
        "finfo((-scores).dtype)": "a tensor and its negative have one dtype",
        "finfo((scores + 1).dtype)": "a tensor and what is one more have one dtype",
        "return (scores + 1).softmax": "whatever is added to all scores, the shares stay",
    },
    "as_layer": {"(W - 1).shape": "a matrix and what is one less have one shape"},
    "split_the_map": {
        "query - other @ query": "a dot product has no order",
        "(query @ apart)": "a dot product has no order",
        "* other - query": "a direction and its negative: the sign cancels in the division",
    },
    "redundant_key": {"b = query @ (b_key": "a dot product has no order"},
    "marked_classifier": {"mark_id, dim=17": "the starting cell has the sizes"},
    "gains_by_places": {"in ((False, True), (True, False), (True, True))": "a dict has no order that counts"},
    "look_away": {
        "right(net) - right(away).astype(float)": "bool less float is float",
        "right(net).astype(float) - right(away)\n": "float less bool is float",
    },
    "mend_the_batch": {
        "- queries.mean()": "whatever is taken off all scores, the shares stay",
        "- values.mean()": "whatever is taken off all scores, the shares stay",
        "scores + scores.mean()": "whatever is added to all scores, the shares stay",
    },
    "what_two_matrices_cost": {"costs.mean().item(), half)": "a number may come as a tensor"},
    "look_at_the_next_word": {
        "9 * math.sqrt(num_words)": LARGE,
        "10 * num_words * torch": LARGE,
    },
    "told_before": {"abs(mean) + half <= band": "no interval ends on the band to the last digit"},
    "paired_interval": {"np.sqrt(len(second))": "both models have the same seeds"},
    "sign_flips": {
        "differences = differences": "what comes in is an array",
        "np.abs(means) > abs(differences.mean()) - 1e-12": "no mean is nearer to 0 by exactly 1e-12",
        "patterns = list(product([1, -1]": "NumPy makes an array of the list when it multiplies",
    },
    "twice_the_words": {"ratios.mean().item(), half)": "a number may come as a tensor"},
    "worth_of_a_head": {"gains.mean().item(), half)": "a number may come as a tensor"},
    "many_heads": {"num_heads < 0": "a layer without any head is not asked for"},
    "without_head": {"weight.shape[0] // num_heads": "the matrix is square"},
}

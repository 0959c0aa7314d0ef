// The course's language model in plain JavaScript: text to subword tokens, tokens to the next one's logits. The same
// model in Python is shared/review_writer.py.
//
// Built from attention_layer.js, and like it one function, so that the page can hand its text to a worker.
globalThis.reviewWriter = (layer) => {
  "use strict";

  const DIM = 192, BLOCKS = 4, HEADS = 6, CONTEXT = 128, START = 0, VOCABULARY = 4096;
  const EPSILON = 1e-5, BASE = 10000;

  // ---- text to subword tokens: byte-level BPE, as GPT-2 has it -----------------------------------------------------

  const WORDS = new RegExp("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+" +
    "|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+", "gu");

  // Each byte has a printable sign of its own: its Latin-1 letter, or for a byte without one a letter from 256 on.
  const SIGNS = [];
  for (let byte = 0, next = 256; byte < 256; byte++) {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
    SIGNS.push(String.fromCharCode(printable ? byte : next++));
  }
  const BYTES = new Map(SIGNS.map((sign, byte) => [sign, byte]));

  // signs: every token by its id, in those signs. merges: pairs of tokens, the most frequent first.
  function tokenizer(signs, merges) {
    const ids = new Map(signs.map((token, id) => [token, id]));
    const ofByte = SIGNS.map((sign) => ids.get(sign));
    const bytesOf = signs.map((token) => Uint8Array.from(token, (sign) => BYTES.get(sign)));
    const ranks = new Map(merges.map((pair, rank) => {
      const [left, right] = pair.split(" ");
      return [ids.get(left) * VOCABULARY + ids.get(right), { rank, id: ids.get(left + right) }];
    }));

    // Again and again the most frequent pair that occurs becomes one token.
    function merge(tokens) {
      for (;;) {
        let best = null, first = 0;
        for (let n = 0; n + 1 < tokens.length; n++) {
          const found = ranks.get(tokens[n] * VOCABULARY + tokens[n + 1]);
          if (found && (!best || found.rank < best.rank)) [best, first] = [found, n];
        }
        if (!best) return tokens;
        tokens.splice(first, 2, best.id);
      }
    }

    const encoder = new TextEncoder();
    function encode(text) {
      const words = text.match(WORDS) ?? [];
      return words.flatMap((word) => merge(Array.from(encoder.encode(word), (byte) => ofByte[byte])));
    }

    // What each token adds to the text. A character may need several tokens; it is in the last of them.
    function pieces(tokens) {
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      return tokens.map((id, n) => decoder.decode(bytesOf[id], { stream: n < tokens.length - 1 }));
    }
    return { encode, pieces, decode: (tokens) => pieces(tokens).join("") };
  }

  function tokensOf(buffer) {
    const { tokens, merges } = layer.read(buffer).metadata;
    return tokenizer(tokens.split("\n"), merges.split("\n"));
  }

  // ---- the model ----------------------------------------------------------------------------------------------------

  // The tokens that the model sees of a text: the start token and at most the last 127. Beyond that the window moves on
  // by 64 tokens at a time: whenever it moves, the KV cache has what was computed from tokens that are gone.
  const STEP = CONTEXT / 2;
  function windowOf(ids) {
    const dropped = Math.max(0, Math.ceil((ids.length - (CONTEXT - 1)) / STEP) * STEP);
    return { dropped, seen: [START, ...ids.slice(dropped)] };
  }

  // Rotary positions, written over x: in each head the pair (j, j + width / 2) turns by an angle that grows with the position.
  function rotate(x, first) {
    const width = DIM / HEADS, half = width / 2;
    for (let row = 0; row < x.length / DIM; row++) {
      for (let j = 0; j < half; j++) {
        const angle = (first + row) / BASE ** (j / half), cos = Math.cos(angle), sin = Math.sin(angle);
        for (let a = row * DIM + j; a < (row + 1) * DIM; a += width) {
          const one = x[a], two = x[a + half];
          x[a] = one * cos - two * sin;
          x[a + half] = one * sin + two * cos;
        }
      }
    }
    return x;
  }

  let all = null;
  const prepare = (buffer) => { all = layer.restore(layer.read(buffer).tensors, ".scale"); };

  // The KV cache: of each block keys and values, (CONTEXT, DIM), of the tokens whose ids are stored.
  let stored = [];
  const [allKeys, allValues] = [0, 1].map(() => Array.from({ length: BLOCKS }, () => new Float32Array(CONTEXT * DIM)));

  // The logits (VOCABULARY,) of the token after `seen`, and what the last token attends to, (BLOCKS, HEADS, tokens).
  // Of the tokens that the KV cache holds already, keys and values are taken from there.
  function predict(seen) {
    const { linear, add, norm, attend } = layer, n = seen.length;
    let known = 0;
    while (known < n - 1 && stored[known] === seen[known]) known++;
    const rows = n - known;
    if (known < n - 1 || stored[known] !== seen[known]) stored = seen; // else it holds this text and more
    let x = new Float32Array(rows * DIM);
    const table = all["embedding.weight"];
    seen.slice(known).forEach((id, row) => x.set(table.subarray(id * DIM, (id + 1) * DIM), row * DIM));
    const weights = new Float32Array(BLOCKS * HEADS * n);
    for (let block = 0; block < BLOCKS; block++) {
      const parts = (name) => [all[`blocks.${block}.${name}.weight`], all[`blocks.${block}.${name}.bias`]];
      const by = (name, input) => linear(input, ...parts(name));
      const normed = norm(x, ...parts("attention_norm"), EPSILON); // (rows, DIM)
      const queries = rotate(by("attention.W_query", normed), known);
      allKeys[block].set(rotate(by("attention.W_key", normed), known), known * DIM);
      allValues[block].set(by("attention.W_value", normed), known * DIM);
      const [keys, values] = [allKeys, allValues].map((each) => each[block].subarray(0, n * DIM)); // (n, DIM)
      const attention = attend(queries, keys, values, DIM, HEADS, true);
      for (let head = 0; head < HEADS; head++) {             // the last row of each head
        const end = (head + 1) * rows * n;
        weights.set(attention.weights.subarray(end - n, end), (block * HEADS + head) * n);
      }
      x = add(x, by("attention.W_output", attention.output));
      const hidden = by("feed_forward.0", norm(x, ...parts("feed_forward_norm"), EPSILON)); // (rows, 4 DIM)
      x = add(x, by("feed_forward.3", hidden.map((value) => Math.max(0, value))));
    }
    const last = norm(x.subarray((rows - 1) * DIM), all["norm.weight"], all["norm.bias"], EPSILON);
    const logits = linear(last, table, new Float32Array(VOCABULARY));
    return { logits, weights, rows };
  }

  // Multiplications in the products of matrices, for `rows` new tokens of n: projections and feed-forward layer, scores
  // and weighted sums, read-out of the last token.
  function multiplications(rows, n) {
    const pairs = rows * n - rows * (rows - 1) / 2;          // a token attends to itself and to what is before it
    return BLOCKS * (rows * 12 * DIM * DIM + 2 * pairs * DIM) + DIM * VOCABULARY;
  }

  // ---- the choice of a token ----------------------------------------------------------------------------------------

  // Probabilities of the topK most probable tokens: [[id, probability], ...], the largest first. At temperature 0 the most
  // probable token has all of it.
  function probabilities({ logits, order }, temperature, topK) {
    const chosen = order.slice(0, temperature === 0 ? 1 : topK);
    const powers = chosen.map((id) => Math.exp((logits[id] - logits[order[0]]) / (temperature || 1)));
    const total = powers.reduce((a, b) => a + b);
    return chosen.map((id, n) => [id, powers[n] / total]);
  }

  function draw(probs) {
    let left = Math.random();
    for (const [id, prob] of probs) if ((left -= prob) < 0) return id;
    return probs[0][0];
  }

  // Without the KV cache all of a text is computed, and with it what is new. order: ids, the most probable token first.
  function answer({ ids, cached }) {
    const { dropped, seen } = windowOf(ids), begin = performance.now();
    if (!cached) stored = [];
    const { logits, weights, rows } = predict(seen), milliseconds = performance.now() - begin;
    const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
    return { logits, order, weights, dropped, cost: multiplications(rows, seen.length), milliseconds };
  }

  return { BLOCKS, HEADS, START, VOCABULARY, tokensOf, prepare, windowOf, probabilities, draw, answer };
};

// The pretrained model of *A pretrained model* in plain JavaScript: from text to tokens and 72 attention patterns.
//
// Built from attention_layer.js, and like it one function, so that the page can pass its text to a worker.
globalThis.headsModel = (layer) => {
  "use strict";

  const DIM = 384, LAYERS = 6, HEADS = 12, EPS = 1e-12;
  const MOST_TOKENS = 128, LONGEST_WORD = 100;               // as the package delivers its tokenizer
  const UNKNOWN = "[UNK]";

  // ---- text to words, words to subword tokens ----------------------------------------------------------------------

  const MARKS = /(\[(?:CLS|SEP|MASK|PAD|UNK)\])/;            // special tokens, also when a reader types them
  const DROPPED = /[\0\uFFFD]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}]/u;
  const SPACE = /\p{White_Space}/u;
  const ACCENTS = /\p{Mn}/gu;
  const PUNCTUATION = /[!-/:-@[-\x60{-~]|\p{P}/u;
  const CHINESE =                                            // each of them is a word
    /[\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B81F}\u{2B920}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/u;

  // The words of a text, each as it was typed and as the model reads it: lower case, no accents, punctuation apart.
  function wordsOf(text) {
    const words = [];
    for (const part of text.split(MARKS)) {
      if (MARKS.test(part)) { words.push({ typed: part, mark: true }); continue; }
      let open = null;                                       // the word that the next character belongs to
      for (const character of part) {
        const plain = DROPPED.test(character) ? "" : character.normalize("NFD").replace(ACCENTS, "").toLowerCase();
        const alone = CHINESE.test(character) || PUNCTUATION.test(plain);
        if (SPACE.test(plain) || alone) open = null;
        if (plain === "" || SPACE.test(plain)) continue;
        if (!open) words.push(open = { typed: "", letters: [] });
        open.typed += character;
        open.letters.push(...plain);
        if (alone) open = null;
      }
    }
    return words;
  }

  // WordPiece: the longest known beginning, then the longest known continuation ("##"); any unknown part: [UNK].
  function tokensOf({ typed, mark, letters }, ids) {
    if (mark) return [typed];
    if (letters.length > LONGEST_WORD) return [UNKNOWN];
    const tokens = [];
    for (let start = 0, end; start < letters.length; start = end) {
      const prefix = start ? "##" : "";
      for (end = letters.length; end > start; end--) if (ids.has(prefix + letters.slice(start, end).join(""))) break;
      if (end === start) return [UNKNOWN];
      tokens.push(prefix + letters.slice(start, end).join(""));
    }
    return tokens;
  }

  // ids: the id of each token, a Map. Returns the ids of a text, and for each word where its tokens begin.
  function tokenize(text, ids) {
    const words = ["[CLS]"], starts = [0], tokens = ["[CLS]"], unknown = [];
    for (const word of wordsOf(text)) {
      const found = tokensOf(word, ids);
      words.push(word.typed);
      starts.push(tokens.length);
      tokens.push(...found);
      if (found[0] === UNKNOWN && !word.mark) unknown.push(word.typed);
    }
    words.push("[SEP]");
    starts.push(tokens.length);
    tokens.push("[SEP]");
    return { words, starts, tokens, ids: tokens.map((token) => ids.get(token)), unknown };
  }

  // Of each subword token its id.
  const idsOf = (buffer) => new Map(layer.read(buffer).metadata.tokens.split("\n").map((token, id) => [token, id]));

  // ---- the encoder --------------------------------------------------------------------------------------------------

  // GELU, overwriting x: x times P(Z < x) for a normal Z, by formula 7.1.26 of Abramowitz and Stegun.
  function gelu(x) {
    for (let n = 0; n < x.length; n++) {
      const z = Math.abs(x[n]) * Math.SQRT1_2, t = 1 / (1 + 0.3275911 * z);
      const factor = 0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)));
      const above = 0.5 * t * factor * Math.exp(-z * z);     // the probability beyond |x|
      x[n] *= x[n] > 0 ? 1 - above : above;
    }
    return x;
  }

  // The embeddings of tokens stay bytes until a token needs its row: as numbers they would take 47 MB.
  let all = null, table = null, scales = null;
  function prepare(buffer) {
    ({ "tokens.weight": table, "tokens.weight.scale": scales, ...all } = layer.read(buffer).tensors);
    all = layer.restore(all, ".scale");
  }

  function embed(ids) {                                      // (tokens, DIM)
    const rows = ids.map((id) => Array.from(table.subarray(id * DIM, (id + 1) * DIM), (byte) => byte * scales[id]));
    return Float32Array.from(rows.flat());
  }

  // ids: those of a sentence. Returns the attention patterns (HEADS, tokens, tokens) of each layer.
  function patternsOf(ids) {
    const { linear, add, norm, attend } = layer, patterns = [];
    const embedded = add(embed(ids), all["positions.weight"]);
    let hidden = norm(embedded, all["norm.weight"], all["norm.bias"], EPS); // (tokens, DIM)
    for (let number = 0; number < LAYERS; number++) {
      const parts = (name) => [all[`layers.${number}.${name}.weight`], all[`layers.${number}.${name}.bias`]];
      const by = (name, x) => linear(x, ...parts(name));
      const addAndNorm = (name, x, y) => norm(add(x, y), ...parts(name), EPS);
      const [queries, keys, values] = ["query", "key", "value"].map((name) => by(`attention.W_${name}`, hidden));
      const { weights, output } = attend(queries, keys, values, DIM, HEADS);
      patterns.push(weights);
      hidden = addAndNorm("attention_norm", hidden, by("attention.W_output", output));
      hidden = addAndNorm("feed_forward_norm", hidden, by("feed_forward.2", gelu(by("feed_forward.0", hidden))));
    }
    return patterns;
  }

  // ---- tokens to words ----------------------------------------------------------------------------------------------

  // Attention patterns between tokens (HEADS, tokens, tokens) to patterns between words (HEADS, words, words): add the
  // columns of a word's tokens, and take the mean of their rows.
  function byWord(patterns, starts) {
    const tokens = Math.sqrt(patterns.length / HEADS), words = starts.length;
    const wordOf = new Uint16Array(tokens), result = new Float32Array(HEADS * words * words);
    starts.forEach((start, word) => wordOf.fill(word, start));
    const count = (word) => (starts[word + 1] ?? tokens) - starts[word];
    for (let n = 0, head = 0; head < HEADS; head++) {
      for (let i = 0; i < tokens; i++) {
        const row = (head * words + wordOf[i]) * words, fraction = 1 / count(wordOf[i]);
        for (let j = 0; j < tokens; j++, n++) result[row + wordOf[j]] += patterns[n] * fraction;
      }
    }
    return result;
  }

  const answer = ({ ids, starts }) => patternsOf(ids).map((each) => byWord(each, starts));

  return { LAYERS, HEADS, MOST_TOKENS, tokenize, idsOf, prepare, answer };
};

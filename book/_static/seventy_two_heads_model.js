// The pretrained model of *A pretrained model* in plain JavaScript: from text to tokens, hidden states and 72 attention
// patterns.
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
  const ACCENT = /\p{Mn}/u;
  const PUNCTUATION = /[!-/:-@[-\x60{-~]|\p{P}/u;
  const CHINESE =                                            // each of them is a word
    /[\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B81F}\u{2B920}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/u;

  // The words of a text, each as it was typed and as the model reads it: lower case, no accents, punctuation apart.
  function wordsOf(text) {
    const words = [];
    let open = null;                                         // the word that the next letter belongs to
    const add = (typed, letter, alone) => {
      if (!open || alone) words.push(open = { typed: "", letters: [] });
      if (open.last !== typed) open.typed += typed.text;
      open.last = typed;
      open.letters.push(letter);
      if (alone) open = null;
    };
    for (const part of text.split(MARKS)) {
      if (MARKS.test(part)) { words.push({ typed: part, mark: true }); open = null; continue; }
      for (const character of part) {
        if (DROPPED.test(character)) continue;
        const typed = { text: character }, chinese = CHINESE.test(character);
        for (const plain of character.normalize("NFD")) {
          if (ACCENT.test(plain)) continue;
          for (const letter of plain.toLowerCase()) {
            if (SPACE.test(letter)) open = null;
            else add(typed, letter, chinese || PUNCTUATION.test(letter));
          }
        }
      }
      open = null;
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

  // The numbers of the file, and of each subword token its id.
  function read(buffer) {
    const { tensors, metadata } = layer.read(buffer);
    return { tensors, ids: new Map(metadata.pieces.split("\n").map((token, id) => [token, id])) };
  }

  const prepare = ({ tensors }) => layer.restore(tensors, ".step");

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

  // The embeddings stay bytes until a token needs its row: as numbers they would take 47 MB.
  function embed({ words, "words.scale": scales }, ids) {    // (tokens, DIM)
    const rows = ids.map((id) => Array.from(words.subarray(id * DIM, (id + 1) * DIM), (byte) => byte * scales[id]));
    return Float32Array.from(rows.flat());
  }

  // ids: those of a sentence. Returns the attention patterns (HEADS, tokens, tokens) of each layer, and the hidden
  // states (tokens, DIM) after the last.
  function encode(all, ids) {
    const { linear, add, norm, attend } = layer, patterns = [];
    let hidden = norm(add(embed(all, ids), all.places), all["norm.weight"], all["norm.bias"], EPS); // (tokens, DIM)
    for (let number = 0; number < LAYERS; number++) {
      const parts = (name) => [all[`${number}.${name}.weight`], all[`${number}.${name}.bias`]];
      const by = (name, x) => linear(x, ...parts(name));
      const addAndNorm = (name, x, y) => norm(add(x, y), ...parts(name), EPS);
      const { weights, output } = attend(by("query", hidden), by("key", hidden), by("value", hidden), DIM, HEADS);
      patterns.push(weights);
      hidden = addAndNorm("attention_norm", hidden, by("output", output));
      hidden = addAndNorm("feed_forward_norm", hidden, by("narrow", gelu(by("widen", hidden))));
    }
    return { patterns, hidden };
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

  return { DIM, LAYERS, HEADS, MOST_TOKENS, tokenize, read, prepare, encode, byWord };
};

// What runs beside the page: it gets the file, then sentence after sentence, and returns the patterns of each layer.
globalThis.headsWorker = (model) => {
  let all = null, newest = null;
  onmessage = async ({ data }) => {
    if (data.file) { all = model.prepare(model.read(data.file)); return; }
    newest = data;
    await new Promise((resolve) => setTimeout(resolve));     // of sentences that wait only the last is computed
    if (newest !== data) return;
    const { patterns } = model.encode(all, data.ids);
    postMessage({ ticket: data.ticket, patterns: patterns.map((each) => model.byWord(each, data.starts)) });
  };
};

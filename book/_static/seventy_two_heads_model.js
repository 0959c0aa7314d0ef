// The pretrained model of lab 16 in plain JavaScript: text to pieces, pieces to features, features to 72 maps.
//
// Built from attention_layer.js, and like it one function, so that the page can hand its text to a worker.
globalThis.headsModel = (layer) => {
  "use strict";

  const DIM = 384, LAYERS = 6, HEADS = 12, EPS = 1e-12;
  const MOST_PIECES = 128, LONGEST_WORD = 100;               // as the package delivers its tokenizer
  const UNKNOWN = "[UNK]";

  // ---- text to words, words to pieces ------------------------------------------------------------------------------

  const MARKS = /(\[(?:CLS|SEP|MASK|PAD|UNK)\])/;            // typed by a reader they are the model's own marks
  const DROPPED = /[\0\uFFFD]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}]/u;
  const SPACE = /\p{White_Space}/u;
  const ACCENT = /\p{Mn}/u;
  const PUNCTUATION = /[!-/:-@[-`{-~]|\p{P}/u;
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

  // The longest known beginning, then the longest known going-on ("##") of the rest; one unknown part and all is [UNK].
  function piecesOf({ typed, mark, letters }, ids) {
    if (mark) return [typed];
    if (letters.length > LONGEST_WORD) return [UNKNOWN];
    const pieces = [];
    for (let start = 0, end; start < letters.length; start = end) {
      const goesOn = start ? "##" : "";
      for (end = letters.length; end > start; end--) if (ids.has(goesOn + letters.slice(start, end).join(""))) break;
      if (end === start) return [UNKNOWN];
      pieces.push(goesOn + letters.slice(start, end).join(""));
    }
    return pieces;
  }

  // ids: Map from piece to number. Out come the numbers of all pieces, and for each word where its pieces begin.
  function tokenize(text, ids) {
    const words = ["[CLS]"], starts = [0], pieces = ["[CLS]"], unknown = [];
    for (const word of wordsOf(text)) {
      const found = piecesOf(word, ids);
      words.push(word.typed);
      starts.push(pieces.length);
      pieces.push(...found);
      if (found[0] === UNKNOWN && !word.mark) unknown.push(word.typed);
    }
    words.push("[SEP]");
    starts.push(pieces.length);
    pieces.push("[SEP]");
    return { words, starts, pieces, ids: pieces.map((piece) => ids.get(piece)), unknown };
  }

  // The numbers of the file, and of each subword token its id.
  function read(buffer) {
    const { tensors, metadata } = layer.read(buffer);
    return { tensors, ids: new Map(metadata.pieces.split("\n").map((piece, id) => [piece, id])) };
  }

  const prepare = ({ tensors }) => layer.restore(tensors, ".step");

  // ---- the encoder --------------------------------------------------------------------------------------------------

  // GELU, in place: x times the share of a normal distribution below x. Its integral by Abramowitz and Stegun, 7.1.26.
  function gelu(x) {
    for (let n = 0; n < x.length; n++) {
      const z = Math.abs(x[n]) * Math.SQRT1_2, t = 1 / (1 + 0.3275911 * z);
      const factor = 0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)));
      const above = 0.5 * t * factor * Math.exp(-z * z);     // the share beyond |x|
      x[n] *= x[n] > 0 ? 1 - above : above;
    }
    return x;
  }

  // words (pieces, DIM): the embeddings of a sentence's pieces. Yields the maps (HEADS, pieces, pieces) of each layer
  // as soon as they are known, so that nobody waits for what follows the last; returns the features (pieces, DIM).
  function* encode(all, words) {
    const { linear, add, norm, attend } = layer;
    let features = norm(add(words, all.places), all["norm.weight"], all["norm.bias"], EPS); // (pieces, DIM)
    for (let number = 0; number < LAYERS; number++) {
      const parts = (name) => [all[`${number}.${name}.weight`], all[`${number}.${name}.bias`]];
      const by = (name, x) => linear(x, ...parts(name));
      const addAndNorm = (name, x, y) => norm(add(x, y), ...parts(name), EPS);
      const { weights, output } = attend(by("query", features), by("key", features), by("value", features), DIM, HEADS);
      yield weights;
      features = addAndNorm("attention_norm", features, by("output", output));
      features = addAndNorm("feed_forward_norm", features, by("narrow", gelu(by("widen", features))));
    }
    return features;
  }

  // ---- pieces to words ----------------------------------------------------------------------------------------------

  // Maps from piece to piece (HEADS, pieces, pieces) to maps from word to word (HEADS, words, words): a word is given
  // what its pieces are given together, and looks where its pieces look on average.
  function joinWords(maps, starts) {
    const pieces = Math.sqrt(maps.length / HEADS), words = starts.length;
    const wordOf = new Uint16Array(pieces), result = new Float32Array(HEADS * words * words);
    starts.forEach((start, word) => wordOf.fill(word, start));
    const count = (word) => (starts[word + 1] ?? pieces) - starts[word];
    for (let n = 0, head = 0; head < HEADS; head++) {
      for (let i = 0; i < pieces; i++) {
        const row = (head * words + wordOf[i]) * words, share = 1 / count(wordOf[i]);
        for (let j = 0; j < pieces; j++, n++) result[row + wordOf[j]] += maps[n] * share;
      }
    }
    return result;
  }

  return { DIM, LAYERS, HEADS, MOST_PIECES, tokenize, read, prepare, encode, joinWords };
};

// What runs beside the page. First comes the file, then sentence after sentence; back go the maps, layer by layer.
globalThis.headsWorker = (model) => {
  let all = null, newest = 0;
  onmessage = async ({ data: { file, ticket, words, starts } }) => {
    if (file) { all = model.prepare(model.read(file)); return; }
    newest = ticket;
    let layer = 0;
    for (const maps of model.encode(all, words)) {
      const joined = model.joinWords(maps, starts);
      postMessage({ ticket, layer, maps: joined }, [joined.buffer]);
      if (++layer === model.LAYERS) return;
      await new Promise((resolve) => setTimeout(resolve));   // has the reader typed on meanwhile?
      if (newest !== ticket) return;
    }
  };
};

// The pretrained model of lab 16 in plain JavaScript: text to pieces, pieces to features, features to 72 maps.
//
// Matrices are flat arrays, row after row; a comment says their shape. All of it stands in one function, so that the
// page can hand its text to a worker: a worker cannot be started from a file when the page was opened from a disk.
globalThis.headsModel = () => {
  "use strict";

  const DIM = 384, LAYERS = 6, HEADS = 12, HEAD_DIM = DIM / HEADS, EPS = 1e-12;
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

  // ---- the file: safetensors, a header of names and shapes, then bare numbers -------------------------------------

  const NUMBERS = { F32: Float32Array, I8: Int8Array };

  function read(buffer) {
    try {
      const size = Number(new DataView(buffer).getBigUint64(0, true));
      const { __metadata__, ...entries } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
      const tensors = {};
      for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(entries)) {
        tensors[name] = new NUMBERS[dtype](buffer.slice(8 + size + begin, 8 + size + end));
        if (tensors[name].length !== shape.reduce((a, b) => a * b, 1)) throw new RangeError(`${name} is cut short`);
      }
      const pieces = __metadata__.pieces.split("\n");
      return { tensors, ids: new Map(pieces.map((piece, id) => [piece, id])) };
    } catch (error) {
      throw new Error(`The file of the model is damaged (${error.message}).`);
    }
  }

  // Bytes times the step of their row: (rows, columns) as floats, once and for all.
  function floats(bytes, steps) {
    const result = new Float32Array(bytes.length), columns = bytes.length / steps.length;
    for (let row = 0, n = 0; row < steps.length; row++) {
      for (let end = n + columns; n < end; n++) result[n] = bytes[n] * steps[row];
    }
    return result;
  }

  function prepare({ tensors }) {
    const all = { ...tensors };
    for (const name of Object.keys(all)) {
      if (all[`${name}.step`]) all[name] = floats(all[name], all[`${name}.step`]);
    }
    return all;
  }

  // ---- the encoder --------------------------------------------------------------------------------------------------

  // x (rows, dim) times a weight (out, dim) as nn.Linear keeps it, plus the bias: (rows, out).
  // Two rows and four outputs at a time: each number that is read serves several products.
  function linear(x, weight, bias) {
    const out = bias.length, dim = weight.length / out, rows = x.length / dim, result = new Float32Array(rows * out);
    for (let o = 0; o < out; o += 4) {
      const w0 = o * dim, w1 = w0 + dim, w2 = w1 + dim, w3 = w2 + dim;
      for (let t = 0; t < rows; t += 2) {
        const x0 = t * dim, x1 = t + 1 < rows ? x0 + dim : x0;
        let a0 = bias[o], a1 = bias[o + 1], a2 = bias[o + 2], a3 = bias[o + 3], b0 = a0, b1 = a1, b2 = a2, b3 = a3;
        for (let i = 0; i < dim; i++) {
          const a = x[x0 + i], b = x[x1 + i];
          const u = weight[w0 + i], v = weight[w1 + i], w = weight[w2 + i], z = weight[w3 + i];
          a0 += a * u; a1 += a * v; a2 += a * w; a3 += a * z;
          b0 += b * u; b1 += b * v; b2 += b * w; b3 += b * z;
        }
        let n = (x1 / dim) * out + o;
        result[n] = b0; result[n + 1] = b1; result[n + 2] = b2; result[n + 3] = b3;
        n = t * out + o;
        result[n] = a0; result[n + 1] = a1; result[n + 2] = a2; result[n + 3] = a3;
      }
    }
    return result;
  }

  // Each row of x + y (rows, DIM) to mean 0 and variance 1, then scaled and shifted.
  function addAndNorm(x, y, weight, bias) {
    const result = new Float32Array(x.length);
    for (let row = 0; row < x.length; row += DIM) {
      let mean = 0, variance = 0;
      for (let i = 0; i < DIM; i++) mean += (result[row + i] = x[row + i] + y[row + i]) / DIM;
      for (let i = 0; i < DIM; i++) variance += (result[row + i] - mean) ** 2 / DIM;
      const scale = 1 / Math.sqrt(variance + EPS);
      for (let i = 0; i < DIM; i++) result[row + i] = (result[row + i] - mean) * scale * weight[i] + bias[i];
    }
    return result;
  }

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

  // All heads of a layer: queries, keys, values (pieces, DIM) to maps (HEADS, pieces, pieces) and joined (pieces, DIM).
  function attend(queries, keys, values) {
    const n = queries.length / DIM, maps = new Float32Array(HEADS * n * n), joined = new Float32Array(n * DIM);
    for (let head = 0; head < HEADS; head++) {
      const first = head * HEAD_DIM, map = maps.subarray(head * n * n, (head + 1) * n * n); // (pieces, pieces)
      for (let i = 0; i < n; i++) {
        const row = map.subarray(i * n, (i + 1) * n);
        let largest = -Infinity, total = 0;
        for (let j = 0; j < n; j++) {
          let score = 0;
          for (let k = first; k < first + HEAD_DIM; k++) score += queries[i * DIM + k] * keys[j * DIM + k];
          row[j] = score / Math.sqrt(HEAD_DIM);
          if (row[j] > largest) largest = row[j];
        }
        for (let j = 0; j < n; j++) total += row[j] = Math.exp(row[j] - largest);
        for (let j = 0; j < n; j++) {
          row[j] /= total;
          for (let k = first; k < first + HEAD_DIM; k++) joined[i * DIM + k] += row[j] * values[j * DIM + k];
        }
      }
    }
    return { maps, joined };
  }

  // words (pieces, DIM): the embeddings of a sentence's pieces. Yields the maps (HEADS, pieces, pieces) of each layer
  // as soon as they are known, so that nobody waits for what follows the last; returns the features (pieces, DIM).
  function* encode(all, words) {
    let features = addAndNorm(words, all.places, all["norm.weight"], all["norm.bias"]); // (pieces, DIM)
    for (let layer = 0; layer < LAYERS; layer++) {
      const parts = (name) => [all[`${layer}.${name}.weight`], all[`${layer}.${name}.bias`]];
      const by = (name, x) => linear(x, ...parts(name)), norm = (name, x, y) => addAndNorm(x, y, ...parts(name));
      const { maps, joined } = attend(by("query", features), by("key", features), by("value", features));
      yield maps;
      features = norm("attention_norm", features, by("output", joined));
      features = norm("feed_forward_norm", features, by("narrow", gelu(by("widen", features))));
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

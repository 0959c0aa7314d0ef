// What models in plain JavaScript are built from: a file of tensors, linear layers, layer norm, multi-head attention.
//
// Matrices are flat arrays, row after row; a comment says their shape. All of it is in one function, so that a page can
// hand its text to a worker, with that of softmaxRow (tools.js): a worker cannot be started from a file when the page was
// opened from a disk.
globalThis.attentionLayer = () => {
  "use strict";

  // ---- the file: safetensors, a header of names and shapes, then bare numbers -------------------------------------

  const NUMBERS = { F32: Float32Array, I8: Int8Array };

  function read(buffer) {
    const size = Number(new DataView(buffer).getBigUint64(0, true)), header = new Uint8Array(buffer, 8, size);
    const { __metadata__: metadata, ...entries } = JSON.parse(new TextDecoder().decode(header)), tensors = {};
    for (const [name, { dtype, data_offsets: [begin, end] }] of Object.entries(entries)) {
      tensors[name] = new NUMBERS[dtype](buffer.slice(8 + size + begin, 8 + size + end));
    }
    return { tensors, metadata };
  }

  // Bytes times the scale of their row: (rows, columns) as floats. The scales of `name` are in `name` + suffix.
  function restore(tensors, suffix) {
    const all = { ...tensors };
    for (const [name, bytes] of Object.entries(tensors)) {
      const scales = tensors[name + suffix];
      if (!scales) continue;
      const matrix = all[name] = new Float32Array(bytes.length), columns = bytes.length / scales.length;
      for (let row = 0, n = 0; row < scales.length; row++) {
        for (let end = n + columns; n < end; n++) matrix[n] = bytes[n] * scales[row];
      }
    }
    return all;
  }

  // ---- layers -----------------------------------------------------------------------------------------------------

  // x (rows, dim) times a weight (out, dim) as nn.Linear stores it, plus the bias: (rows, out). Four outputs at a time,
  // so `out` is a multiple of four: each number that is read serves several products.
  function linear(x, weight, bias) {
    const out = bias.length, dim = weight.length / out, rows = x.length / dim, result = new Float32Array(rows * out);
    for (let o = 0; o < out; o += 4) {
      const w0 = o * dim, w1 = w0 + dim, w2 = w1 + dim, w3 = w2 + dim;
      for (let t = 0; t < rows; t++) {
        let a = bias[o], b = bias[o + 1], c = bias[o + 2], d = bias[o + 3];
        for (let i = 0; i < dim; i++) {
          const value = x[t * dim + i];
          a += value * weight[w0 + i];
          b += value * weight[w1 + i];
          c += value * weight[w2 + i];
          d += value * weight[w3 + i];
        }
        const n = t * out + o;
        result[n] = a;
        result[n + 1] = b;
        result[n + 2] = c;
        result[n + 3] = d;
      }
    }
    return result;
  }

  const add = (x, y) => x.map((value, n) => value + y[n]);

  // Each row of x (rows, dim) to mean 0 and variance 1, then scaled and shifted.
  function norm(x, weight, bias, epsilon) {
    const dim = weight.length, result = new Float32Array(x.length);
    for (let row = 0; row < x.length; row += dim) {
      let mean = 0, variance = 0;
      for (let i = 0; i < dim; i++) mean += x[row + i] / dim;
      for (let i = 0; i < dim; i++) variance += (x[row + i] - mean) ** 2 / dim;
      const scale = 1 / Math.sqrt(variance + epsilon);
      for (let i = 0; i < dim; i++) result[row + i] = (x[row + i] - mean) * scale * weight[i] + bias[i];
    }
    return result;
  }

  // Queries (rows, dim), keys and values (n, dim): weights (heads, rows, n) and the heads' outputs side by side,
  // (rows, dim). With `causal` the queries are those of the last rows, and each attends to itself and what is before it.
  function attend(queries, keys, values, dim, heads, causal = false) {
    const rows = queries.length / dim, n = keys.length / dim, width = dim / heads;
    const weights = new Float32Array(heads * rows * n), output = new Float32Array(rows * dim);
    for (let head = 0; head < heads; head++) {
      const first = head * width;
      for (let i = 0; i < rows; i++) {
        const seen = causal ? n - rows + i + 1 : n, begin = (head * rows + i) * n;
        const row = weights.subarray(begin, begin + n);
        for (let j = 0; j < seen; j++) {
          let score = 0;
          for (let k = first; k < first + width; k++) score += queries[i * dim + k] * keys[j * dim + k];
          row[j] = score / Math.sqrt(width);
        }
        softmaxRow(row, 0, seen);
        for (let j = 0; j < seen; j++) {
          for (let k = first; k < first + width; k++) output[i * dim + k] += row[j] * values[j * dim + k];
        }
      }
    }
    return { weights, output };
  }

  return { read, restore, linear, add, norm, attend };
};

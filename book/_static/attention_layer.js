// What models in plain JavaScript are built from: a file of tensors, linear layers, layer norm, multi-head attention.
//
// Matrices are flat arrays, row after row; a comment says their shape. All of it is in one function, so that a page can
// hand its text to a worker: a worker cannot be started from a file when the page was opened from a disk.
globalThis.attentionLayer = () => {
  "use strict";

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
      return { tensors, metadata: __metadata__ };
    } catch (error) {
      throw new Error(`The file of the model is damaged (${error.message}).`);
    }
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

  // x (rows, dim) times a weight (out, dim) as nn.Linear stores it, plus the bias: (rows, out).
  // Two rows and four outputs at a time: each number that is read serves several products.
  function linear(x, weight, bias) {
    const out = bias.length, dim = weight.length / out, rows = x.length / dim, result = new Float32Array(rows * out);
    for (let o = 0; o < out; o += 4) {
      const w0 = o * dim, w1 = w0 + dim, w2 = w1 + dim, w3 = w2 + dim;
      let t = 0;
      for (; t + 1 < rows; t += 2) {
        const x0 = t * dim, x1 = x0 + dim;
        let a0 = bias[o], a1 = bias[o + 1], a2 = bias[o + 2], a3 = bias[o + 3], b0 = a0, b1 = a1, b2 = a2, b3 = a3;
        for (let i = 0; i < dim; i++) {
          const a = x[x0 + i], b = x[x1 + i];
          const u = weight[w0 + i], v = weight[w1 + i], w = weight[w2 + i], z = weight[w3 + i];
          a0 += a * u; a1 += a * v; a2 += a * w; a3 += a * z;
          b0 += b * u; b1 += b * v; b2 += b * w; b3 += b * z;
        }
        const n = t * out + o, m = n + out;
        result[n] = a0; result[n + 1] = a1; result[n + 2] = a2; result[n + 3] = a3;
        result[m] = b0; result[m + 1] = b1; result[m + 2] = b2; result[m + 3] = b3;
      }
      if (t < rows) {                                        // the last row of an odd number of rows
        const x0 = t * dim, n = t * out + o;
        let a0 = bias[o], a1 = bias[o + 1], a2 = bias[o + 2], a3 = bias[o + 3];
        for (let i = 0; i < dim; i++) {
          const a = x[x0 + i];
          a0 += a * weight[w0 + i]; a1 += a * weight[w1 + i]; a2 += a * weight[w2 + i]; a3 += a * weight[w3 + i];
        }
        result[n] = a0; result[n + 1] = a1; result[n + 2] = a2; result[n + 3] = a3;
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
        let largest = -Infinity, total = 0;
        for (let j = 0; j < seen; j++) {
          let score = 0;
          for (let k = first; k < first + width; k++) score += queries[i * dim + k] * keys[j * dim + k];
          row[j] = score / Math.sqrt(width);
          if (row[j] > largest) largest = row[j];
        }
        for (let j = 0; j < seen; j++) total += row[j] = Math.exp(row[j] - largest);
        for (let j = 0; j < seen; j++) {
          row[j] /= total;
          for (let k = first; k < first + width; k++) output[i * dim + k] += row[j] * values[j * dim + k];
        }
      }
    }
    return { weights, output };
  }

  return { read, restore, linear, add, norm, attend };
};

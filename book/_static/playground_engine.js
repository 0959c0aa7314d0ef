// The attention playground's engine: one or two attention layers, forward and backward, written out, with Adam.
// Nothing of the page is in it, so that the page can run it in a worker. Names and shapes are those of the labs: rows are
// guests, a matrix acts from the right, and S = Q Kᵀ / sqrt(d_k).
globalThis.attentionEngine = () => {
  "use strict";

  const GUESTS = 8, DRINKS = 6, D_MODEL = 16, HIDDEN = 64, BATCH = 32, RATE = 0.01;

  // ---- chance: a small generator, so that a seed in the address gives the same run anywhere ---------------------------

  function random(seed) {                                    // mulberry32
    let state = seed >>> 0;
    const uniform = () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    return { uniform, normal, below: (n) => Math.floor(n * uniform()) };
  }

  // ---- cafés: names, friends and drinks of `count` rooms with eight chairs each ---------------------------------------

  function drawCafes(count, chance) {
    const size = count * GUESTS;
    const cafes = { names: new Uint8Array(size), friends: new Uint8Array(size), drinks: new Uint8Array(size) };
    for (let first = 0; first < size; first += GUESTS) {
      for (let chair = 0; chair < GUESTS; chair++) {
        const other = chance.below(chair + 1);
        cafes.names[first + chair] = cafes.names[first + other];
        cafes.names[first + other] = chair;
      }
      for (let guest = first; guest < first + GUESTS; guest++) {
        cafes.friends[guest] = (cafes.names[guest] + 1 + chance.below(GUESTS - 1)) % GUESTS;
        cafes.drinks[guest] = chance.below(DRINKS);
      }
    }
    return cafes;
  }

  const guestNamed = ({ names }, first, name) => names.indexOf(name, first);
  const friendOf = (cafes, guest) => guestNamed(cafes, guest - (guest % GUESTS), cafes.friends[guest]);

  // The right answers for one guest, by question; a question with two of them needs both.
  const QUESTIONS = {
    ada: (cafes, guest) => [cafes.drinks[guestNamed(cafes, guest - (guest % GUESTS), 0)]],
    friend: (cafes, guest) => [cafes.drinks[friendOf(cafes, guest)]],
    both: (cafes, guest) => [cafes.drinks[guest], cafes.drinks[friendOf(cafes, guest)]],
    right: ({ drinks }, guest) => [drinks[guest % GUESTS === GUESTS - 1 ? guest + 1 - GUESTS : guest + 1]],
    friends_friend: (cafes, guest) => [cafes.drinks[friendOf(cafes, friendOf(cafes, guest))]],
    same: (cafes, guest) => [Number(cafes.drinks[guest] === cafes.drinks[friendOf(cafes, guest)])],
  };
  // The longest run; one that has learned the question ends earlier.
  const stepsOf = ({ feed_forward, layers, scores }) =>
    (feed_forward || layers === 2 ? 400 : scores === "tied" || scores === "none" ? 500 : 300);
  const answersTo = (config) => (config.question === "both" ? 2 : 1);

  // ---- the model: a list of parameters in PyTorch's order, each with its gradient -------------------------------------

  function makeModel(config, seed) {
    const chance = random(seed), parameters = {};
    const add = (name, rows, columns, draw) => {
      parameters[name] = { name, rows, columns, value: Float64Array.from({ length: rows * columns }, draw) };
    };
    const within = (width) => () => (2 * chance.uniform() - 1) / Math.sqrt(width);
    const embedding = () => chance.normal() / Math.sqrt(D_MODEL);
    const linear = (name, rows, columns, bias = true) => {   // as nn.Linear draws it; stored as x meets it, (in, out)
      add(`${name}.weight`, rows, columns, within(rows));
      if (bias) add(`${name}.bias`, 1, columns, within(rows));
    };
    const norm = (name) => { add(`${name}.weight`, 1, D_MODEL, () => 1); add(`${name}.bias`, 1, D_MODEL, () => 0); };
    add("name.weight", GUESTS, D_MODEL, embedding);
    add("friend.weight", GUESTS, D_MODEL, embedding);
    add("drink.weight", DRINKS, D_MODEL, embedding);
    for (let layer = 0; layer < config.layers; layer++) {
      if (config.scores === "query") add(`${layer}.query`, 1, D_MODEL, embedding);
      if (config.layers === 2) norm(`${layer}.norm`);
      if (config.scores === "qk") linear(`${layer}.W_query`, D_MODEL, config.width, false);
      if (config.scores === "qk" || config.scores === "tied") linear(`${layer}.W_key`, D_MODEL, config.width, false);
      if (config.values) linear(`${layer}.W_value`, D_MODEL, D_MODEL, false);
      if (!config.feed_forward) continue;
      if (config.layers === 2) norm(`${layer}.feed_forward_norm`);
      linear(`${layer}.feed_forward.0`, D_MODEL, HIDDEN);
      linear(`${layer}.feed_forward.2`, HIDDEN, D_MODEL);
    }
    linear("read_out", D_MODEL, DRINKS * answersTo(config));
    const list = Object.values(parameters);
    for (const each of list) {
      for (const part of ["gradient", "mean", "square"]) each[part] = new Float64Array(each.value.length);
    }
    return { config, parameters, list, steps: 0 };
  }

  // ---- the parts: each returns its output and how a gradient comes back through it ------------------------------------

  // Arrays of zeros, of which each forward pass takes those of the one before: a browser needs long to make so many.
  const made = new Map(), taken = new Map();                 // by length
  function zeros(length) {
    if (!made.has(length)) made.set(length, []);
    const arrays = made.get(length), n = taken.get(length) ?? 0;
    taken.set(length, n + 1);
    return (arrays[n] ??= new Float64Array(length)).fill(0);
  }

  function add(to, from) {
    for (let n = 0; n < to.length; n++) to[n] += from[n];
    return to;
  }
  const sum = (x, y) => add(add(zeros(x.length), x), y);

  // Writes products of matrices, one in each block: y (rows, columns). In `a` the next row is aRow numbers away, in `b`
  // the next column bColumn; along the sum of products they are aNext and bNext. Four rows (there are always a multiple
  // of four) and two columns at a time: each number that is read serves several products.
  function writeProducts(blocks, y, columns, length, a, aRow, aNext, b, bColumn, bNext) {
    const rows = y.length / columns / blocks;
    for (let block = 0; block < blocks; block++) {
      const inA = (block * a.length) / blocks, inB = (block * b.length) / blocks, inY = (block * y.length) / blocks;
      for (let r = 0; r < rows; r += 4) {
        for (let c = 0; c < columns; c += 2) {
          const isPair = c + 1 < columns, other = isPair ? bColumn : 0;
          let s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
          for (let i = 0, n = inA + r * aRow, m = inB + c * bColumn; i < length; i++, n += aNext, m += bNext) {
            const x0 = a[n], x1 = a[n + aRow], x2 = a[n + 2 * aRow], x3 = a[n + 3 * aRow], v = b[m], w = b[m + other];
            s0 += x0 * v;
            s1 += x1 * v;
            s2 += x2 * v;
            s3 += x3 * v;
            t0 += x0 * w;
            t1 += x1 * w;
            t2 += x2 * w;
            t3 += x3 * w;
          }
          const n = inY + r * columns + c;
          y[n] = s0;
          y[n + columns] = s1;
          y[n + 2 * columns] = s2;
          y[n + 3 * columns] = s3;
          if (!isPair) continue;
          y[n + 1] = t0;
          y[n + columns + 1] = t1;
          y[n + 2 * columns + 1] = t2;
          y[n + 3 * columns + 1] = t3;
        }
      }
    }
  }

  // In each block a (rows, length) times b (length, columns); or times bᵀ, with b (columns, length).
  function multiply(blocks, a, length, b, columns, transposed = false) {
    const rows = a.length / length / blocks, y = zeros(blocks * rows * columns);
    const [bColumn, bNext] = transposed ? [length, 1] : [1, columns];
    writeProducts(blocks, y, columns, length, a, length, 1, b, bColumn, bNext);
    const back = (dy) => {
      const da = zeros(a.length), db = zeros(b.length);
      writeProducts(blocks, da, length, columns, dy, columns, 1, b, bNext, bColumn);
      if (transposed) writeProducts(blocks, db, length, rows, dy, 1, columns, a, 1, length); // dyᵀ a
      else writeProducts(blocks, db, columns, rows, a, 1, length, dy, 1, columns); // aᵀ dy
      return [da, db];
    };
    return [y, back];
  }

  // x (rows, in) times a weight (in, out), plus a bias.
  function linear(x, { rows, columns, value, gradient }, bias) {
    const [y, backProduct] = multiply(1, x, rows, value, columns);
    for (let from = 0; bias && from < y.length; from += columns) {
      for (let c = 0; c < columns; c++) y[from + c] += bias.value[c];
    }
    const back = (dy) => {
      const [dx, dWeight] = backProduct(dy);
      add(gradient, dWeight);
      for (let from = 0; bias && from < dy.length; from += columns) {
        for (let c = 0; c < columns; c++) bias.gradient[c] += dy[from + c];
      }
      return dx;
    };
    return [y, back];
  }

  function layerNorm(x, weight, bias) {
    const width = D_MODEL, rows = x.length / width, y = zeros(x.length);
    const normal = zeros(x.length), inverse = zeros(rows);
    for (let r = 0; r < rows; r++) {
      let mean = 0, variance = 0;
      for (let i = 0; i < width; i++) mean += x[r * width + i] / width;
      for (let i = 0; i < width; i++) variance += (x[r * width + i] - mean) ** 2 / width;
      inverse[r] = 1 / Math.sqrt(variance + 1e-5);
      for (let i = 0; i < width; i++) {
        const n = r * width + i;
        normal[n] = (x[n] - mean) * inverse[r];
        y[n] = normal[n] * weight.value[i] + bias.value[i];
      }
    }
    const back = (dy) => {
      const dx = zeros(x.length);
      for (let r = 0; r < rows; r++) {
        let mean = 0, along = 0;
        for (let i = 0; i < width; i++) {
          const n = r * width + i, d = dy[n] * weight.value[i];
          weight.gradient[i] += dy[n] * normal[n];
          bias.gradient[i] += dy[n];
          mean += d / width;
          along += (d * normal[n]) / width;
        }
        for (let i = 0; i < width; i++) {
          const n = r * width + i;
          dx[n] = inverse[r] * (dy[n] * weight.value[i] - mean - normal[n] * along);
        }
      }
      return dx;
    };
    return [y, back];
  }

  function relu(x) {
    const masked = (values) => {
      const result = zeros(x.length);
      for (let n = 0; n < x.length; n++) result[n] = Number(x[n] > 0) * values[n];
      return result;
    };
    return [masked(x), masked];
  }

  function softmaxRow(row, from, end) {                      // in place
    let largest = -Infinity, total = 0;
    for (let n = from; n < end; n++) if (row[n] > largest) largest = row[n];
    for (let n = from; n < end; n++) total += row[n] = Math.exp(row[n] - largest);
    for (let n = from; n < end; n++) row[n] /= total;
  }

  // Queries and keys (rows, width) to A (rows, 8): each café's softmax(Q Kᵀ / sqrt(width)).
  function attentionWeights(queries, keys, width) {
    const scale = 1 / Math.sqrt(width), cafes = keys.length / width / GUESTS;
    const [weights, backScores] = multiply(cafes, queries, width, keys, GUESTS, true);
    for (let n = 0; n < weights.length; n++) weights[n] *= scale;
    for (let from = 0; from < weights.length; from += GUESTS) softmaxRow(weights, from, from + GUESTS);
    const back = (dWeights) => {
      const dScores = zeros(weights.length);
      for (let from = 0; from < weights.length; from += GUESTS) {
        let mean = 0;
        for (let n = from; n < from + GUESTS; n++) mean += weights[n] * dWeights[n];
        for (let n = from; n < from + GUESTS; n++) dScores[n] = weights[n] * (dWeights[n] - mean) * scale;
      }
      return backScores(dScores);
    };
    return [weights, back];
  }

  function attention({ config: { scores, values: projected }, parameters: p }, layer, x) {
    const rows = x.length / D_MODEL, itself = [x, (d) => d];
    const project = (name) => linear(x, p[`${layer}.${name}.weight`]);
    let weights = null, backToX = () => zeros(x.length);     // of the attention weights
    if (scores === "mean") weights = zeros(rows * GUESTS).fill(1 / GUESTS);
    else {
      const [keys, backKeys] = scores === "qk" || scores === "tied" ? project("W_key") : itself; // itself for X Xᵀ
      const [queries, backQueries] = scores === "qk" ? project("W_query")
        : scores === "query" ? repeated(p[`${layer}.query`], rows) : [keys, backKeys];
      const [a, back] = attentionWeights(queries, keys, keys.length / rows);
      weights = a;
      backToX = (dWeights) => {
        const [dQueries, dKeys] = back(dWeights);
        return sum(backQueries(dQueries), backKeys(dKeys));
      };
    }
    const [values, backValues] = projected ? project("W_value") : itself;
    const [output, backOutput] = multiply(rows / GUESTS, weights, GUESTS, values, D_MODEL); // O = A V
    const back = (dOutput) => {
      const [dWeights, dValues] = backOutput(dOutput);
      return sum(backValues(dValues), backToX(dWeights));
    };
    return [output, back, weights];
  }

  function repeated(query, rows) {                           // the same query for every guest
    const queries = zeros(rows * D_MODEL);
    for (let n = 0; n < queries.length; n++) queries[n] = query.value[n % D_MODEL];
    const back = (d) => {
      for (let n = 0; n < d.length; n++) query.gradient[n % D_MODEL] += d[n];
      return zeros(d.length);
    };
    return [queries, back];
  }

  // A part of a layer, layer norm applied first where there are two layers, added to x where there is a residual.
  function within({ config, parameters: p }, norm, x, apply) {
    const [inside, backNorm] = config.layers === 2
      ? layerNorm(x, p[`${norm}.weight`], p[`${norm}.bias`]) : [x, (d) => d];
    const [output, backOutput, weights] = apply(inside);
    const back = (d) => {
      const dx = backNorm(backOutput(d));
      return config.residual ? sum(d, dx) : dx;
    };
    return [config.residual ? sum(x, output) : output, back, weights];
  }

  function layerOf(model, layer, x) {
    const p = model.parameters, part = `${layer}.feed_forward`;
    const [attended, backAttention, weights] = within(model, `${layer}.norm`, x, (each) => attention(model, layer, each));
    if (!model.config.feed_forward) return [attended, backAttention, weights];
    const [output, backFeedForward] = within(model, `${part}_norm`, attended, (each) => {
      const [hidden, backFirst] = linear(each, p[`${part}.0.weight`], p[`${part}.0.bias`]);
      const [active, backRelu] = relu(hidden);
      const [y, backSecond] = linear(active, p[`${part}.2.weight`], p[`${part}.2.bias`]);
      return [y, (d) => backFirst(backRelu(backSecond(d)))];
    });
    return [output, (d) => backAttention(backFeedForward(d)), weights];
  }

  // Sines and cosines of growing wavelength, base 10,000: (8, d_model).
  const POSITIONS = Float64Array.from({ length: GUESTS * D_MODEL }, (_, n) => {
    const column = n % D_MODEL, angle = Math.floor(n / D_MODEL) / 10000 ** ((2 * Math.floor(column / 2)) / D_MODEL);
    return column % 2 ? Math.cos(angle) : Math.sin(angle);
  });

  // x = e_name + e_friend + e_drink, and the position where it counts.
  function embed({ config, parameters: p }, { names, friends, drinks }) {
    const parts = [[p["name.weight"], names], [p["friend.weight"], friends], [p["drink.weight"], drinks]];
    const x = zeros(names.length * D_MODEL);
    if (config.positions) for (let n = 0; n < x.length; n += POSITIONS.length) x.set(POSITIONS, n);
    for (const [{ value }, ids] of parts) {
      for (let r = 0; r < ids.length; r++) {
        const to = r * D_MODEL, from = ids[r] * D_MODEL;
        for (let i = 0; i < D_MODEL; i++) x[to + i] += value[from + i];
      }
    }
    const back = (dx) => {
      for (const [{ gradient }, ids] of parts) {
        for (let r = 0; r < ids.length; r++) {
          const to = ids[r] * D_MODEL, from = r * D_MODEL;
          for (let i = 0; i < D_MODEL; i++) gradient[to + i] += dx[from + i];
        }
      }
    };
    return [x, back];
  }

  // Cafés to logits (guests, answers * drinks), with the attention weights of each layer and the backward pass.
  function forward(model, cafes) {
    taken.clear();
    let [x, back] = embed(model, cafes);
    const weights = [];
    for (let layer = 0; layer < model.config.layers; layer++) {
      const [output, backLayer, a] = layerOf(model, layer, x), before = back;
      back = (d) => before(backLayer(d));
      weights.push(a);
      x = output;
    }
    const p = model.parameters, [logits, backReadOut] = linear(x, p["read_out.weight"], p["read_out.bias"]);
    return { logits, weights, back: (d) => back(backReadOut(d)) };
  }

  // The mean cross-entropy, and the gradient of each parameter.
  function lossAndGradients(model, cafes) {
    const { logits, back } = forward(model, cafes), ask = QUESTIONS[model.config.question];
    const answers = answersTo(model.config), count = cafes.names.length * answers;
    for (const { gradient } of model.list) gradient.fill(0);
    let loss = 0;
    for (let guest = 0, from = 0; guest < cafes.names.length; guest++) {
      for (const target of ask(cafes, guest)) {
        softmaxRow(logits, from, from + DRINKS);             // from here on they are probabilities
        loss -= Math.log(logits[from + target]) / count;
        logits[from + target] -= 1;
        for (let n = from; n < from + DRINKS; n++) logits[n] /= count;
        from += DRINKS;
      }
    }
    back(logits);
    return loss;
  }

  function adamStep(model) {
    const t = ++model.steps, first = 1 - 0.9 ** t, second = 1 - 0.999 ** t;
    for (const { value, gradient, mean, square } of model.list) {
      for (let n = 0; n < value.length; n++) {
        mean[n] += 0.1 * (gradient[n] - mean[n]);
        square[n] += 0.001 * (gradient[n] ** 2 - square[n]);
        value[n] -= (RATE * mean[n]) / first / (Math.sqrt(square[n] / second) + 1e-8);
      }
    }
  }

  // What is predicted, from which attention weights, and for which guests all answers are right.
  function judge(model, cafes) {
    const { logits, weights } = forward(model, cafes), found = [];
    for (let from = 0; from < logits.length; from += DRINKS) {
      let best = from;
      for (let n = from; n < from + DRINKS; n++) if (logits[n] > logits[best]) best = n;
      found.push(best - from);
    }
    const answers = answersTo(model.config), ask = QUESTIONS[model.config.question];
    const right = Array.from(cafes.names, (_, guest) =>
      ask(cafes, guest).every((target, n) => found[guest * answers + n] === target));
    return { found, weights, right };
  }

  function accuracy(model, lots) {
    const right = lots.flatMap((cafes) => judge(model, cafes).right);
    return right.filter(Boolean).length / right.length;
  }

  // Keys of the eight names and queries for the eight friends, with the other parts of x at their mean: what is drawn
  // where the keys have two numbers. Only the first layer's, and without layer norm.
  function plane(model) {
    const { config, parameters: p } = model;
    if (config.width !== 2 || config.layers !== 1 || (config.scores !== "qk" && config.scores !== "tied")) return null;
    const mean = (rows) => Float64Array.from({ length: D_MODEL }, (_, i) =>
      rows.reduce((total, each, n) => total + (n % D_MODEL === i ? (each * D_MODEL) / rows.length : 0), 0));
    const rest = mean(p["drink.weight"].value);
    if (config.positions) add(rest, mean(POSITIONS));
    const points = (own, other, weight) => {
      const others = mean(p[other].value);
      const x = p[own].value.map((each, n) => each + others[n % D_MODEL] + rest[n % D_MODEL]);
      return Array.from(linear(x, p[weight])[0]);
    };
    return {
      keys: points("name.weight", "friend.weight", "0.W_key.weight"),
      queries: points("friend.weight", "name.weight", config.scores === "tied" ? "0.W_key.weight" : "0.W_query.weight"),
    };
  }

  // ---- a run: what the page asks for, step by step ---------------------------------------------------------------------

  // In lots of a hundred cafés: a phone has little memory.
  const testing = random(1000000), TEST = Array.from({ length: 10 }, () => drawCafes(100, testing));
  const QUICK = [drawCafes(100, random(2000000))];

  // A training run that is asked for so many steps at a time, and says what to draw.
  function makeRun({ config, seed, cafe }) {
    const model = makeModel(config, seed), chance = random(seed + 500000);
    const parameters = model.list.reduce((total, { value }) => total + value.length, 0);
    let room = drawCafes(1, random(cafe));
    let learned = 0;                                         // checks in a row that found hardly a mistake
    let measured = accuracy(model, QUICK), final = null;     // the last accuracy, for it costs as much as a step
    const finished = () => learned === 2 || model.steps >= stepsOf(config);
    const report = () => {
      if (finished()) final ??= accuracy(model, TEST);
      const { found, weights, right } = judge(model, room);
      return {
        step: model.steps, finished: finished(), accuracy: final ?? measured, found, right,
        weights: weights.map((each) => Array.from(each)), plane: plane(model), parameters,
      };
    };
    return {
      report,
      train(steps) {
        for (let n = 0; n < steps && !finished(); n++) {
          lossAndGradients(model, drawCafes(BATCH, chance));
          adamStep(model);
          if (model.steps % 20 && steps > 1) continue;
          measured = accuracy(model, QUICK);
          if (model.steps % 20 === 0) learned = measured >= 0.995 ? learned + 1 : 0;
        }
        return report();
      },
      visit(next) { room = drawCafes(1, random(next)); return report(); },
    };
  }

  // What a worker does with the page's messages.
  function serve(scope) {
    let run = null;
    scope.onmessage = ({ data }) => {
      if (data.start) run = makeRun(data.start);
      const report = data.steps ? run.train(data.steps) : data.cafe === undefined ? run.report() : run.visit(data.cafe);
      scope.postMessage({ id: data.id, ...report });
    };
  }

  return {
    GUESTS, D_MODEL, HIDDEN, BATCH, RATE, stepsOf, answersTo, random, drawCafes, makeModel, forward, lossAndGradients,
    adamStep, makeRun, serve,
  };
};

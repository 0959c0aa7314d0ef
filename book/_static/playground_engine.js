// The attention playground's engine: one or two attention layers, forward and backward, written out, with Adam.
// Nothing of the page is in it, so that the page can run it in a worker, with softmaxRow (tools.js). Names and shapes are those of the labs: rows are
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
    left: ({ drinks }, guest) => [drinks[guest % GUESTS === GUESTS - 1 ? guest + 1 - GUESTS : guest + 1]],
    friends_friend: (cafes, guest) => [cafes.drinks[friendOf(cafes, friendOf(cafes, guest))]],
    same: (cafes, guest) => [Number(cafes.drinks[guest] === cafes.drinks[friendOf(cafes, guest)])],
  };
  // The longest run; one that has learned the question ends earlier.
  const stepsOf = ({ feed_forward, layers, scores }) =>
    (feed_forward || layers === 2 ? 400 : scores === "tied" || scores === "none" ? 500 : 300);
  const answersTo = (config) => (config.question === "both" ? 2 : 1);

  // ---- matrices: each part of a layer returns one, and writes on the tape how a gradient comes back through it --------

  const tape = [];
  function matrix(rows, columns, value, back = () => {}) {
    const y = { rows, columns, value };
    tape.push(() => back(y.gradient));
    return y;
  }

  // Arrays of zeros, of which each forward pass takes those of the one before: a browser needs long to make so many.
  const made = new Map(), taken = new Map();                 // by length
  function zeros(length) {
    if (!made.has(length)) made.set(length, []);
    const arrays = made.get(length), n = taken.get(length) ?? 0;
    taken.set(length, n + 1);
    return (arrays[n] ??= new Float64Array(length)).fill(0);
  }

  // Adds to the gradient of x.
  function pass(x, d) {
    if (!x.gradient) x.gradient = d;
    else for (let n = 0; n < d.length; n++) x.gradient[n] += d[n];
  }

  // a (rows, length) times b (length, columns), once or in each café; or aᵀ times b, with a (length, rows). Two rows (there
  // are always a multiple of two) and four terms of each sum at a time: each number that is read serves several products.
  function times(a, b, length, columns, isTransposed = false) {
    const cafes = b.length / length / columns, rows = a.length / length / cafes, y = zeros(cafes * rows * columns);
    const [row, term] = isTransposed ? [1, rows] : [length, 1], inFours = length - (length % 4);
    for (let cafe = 0; cafe < cafes; cafe++) {
      for (let r = 0; r < rows; r += 2) {
        const inA = cafe * rows * length + r * row, inB = cafe * length * columns, inY = (cafe * rows + r) * columns;
        for (let i = 0; i < inFours; i += 4) {
          const n = inA + i * term, other = n + row;
          const a0 = a[n], a1 = a[n + term], a2 = a[n + 2 * term], a3 = a[n + 3 * term];
          const c0 = a[other], c1 = a[other + term], c2 = a[other + 2 * term], c3 = a[other + 3 * term];
          for (let to = inY, from = inB + i * columns; to < inY + columns; to++, from++) {
            const b0 = b[from], b1 = b[from + columns], b2 = b[from + 2 * columns], b3 = b[from + 3 * columns];
            y[to] = y[to] + a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3;
            y[to + columns] = y[to + columns] + c0 * b0 + c1 * b1 + c2 * b2 + c3 * b3;
          }
        }
        for (let i = inFours; i < length; i++) {
          for (let to = inY, from = inB + i * columns; to < inY + columns; to++, from++) {
            y[to] += a[inA + i * term] * b[from];
            y[to + columns] += a[inA + row + i * term] * b[from];
          }
        }
      }
    }
    return y;
  }

  // Each (rows, columns) in turn becomes (columns, rows).
  function flip(x, rows, columns) {
    const y = zeros(x.length);
    for (let n = 0; n < x.length; n += rows * columns) {
      for (let r = 0; r < rows; r++) {
        for (let c = 0; c < columns; c++) y[n + c * rows + r] = x[n + r * columns + c];
      }
    }
    return y;
  }

  function product(a, b) {
    const length = a.columns, columns = b.columns, rows = (a.rows * length) / b.rows;
    return matrix(a.rows, columns, times(a.value, b.value, length, columns), (dy) => {
      pass(a, times(dy, flip(b.value, length, columns), columns, length)); // dY Bᵀ
      pass(b, times(a.value, dy, rows, columns, true)); // Aᵀ dY
    });
  }

  // Q Kᵀ in each café.
  function similarities(q, k) {
    const width = q.columns;
    return matrix(q.rows, GUESTS, times(q.value, flip(k.value, GUESTS, width), width, GUESTS), (d) => {
      pass(q, times(d, k.value, GUESTS, width));
      pass(k, times(d, q.value, GUESTS, width, true));
    });
  }

  // The row of a table for each id.
  function lookUp(table, ids) {
    const value = zeros(ids.length * D_MODEL);
    ids.forEach((id, r) => value.set(table.value.subarray(id * D_MODEL, (id + 1) * D_MODEL), r * D_MODEL));
    return matrix(ids.length, D_MODEL, value, (d) => {
      for (let n = 0; n < d.length; n++) table.gradient[ids[Math.floor(n / D_MODEL)] * D_MODEL + (n % D_MODEL)] += d[n];
    });
  }

  // x itself, but what comes back to it from several places is added up first: so the order of the sums, and with it
  // the rounding, is the same with and without layer norm or a value projection.
  const copy = (x) => matrix(x.rows, x.columns, x.value, (d) => pass(x, d));

  // The next three change x in place, for no other part needs its numbers before that. Adds y; or adds y to each row or
  // café of x where y is smaller.
  function plus(x, y) {
    const value = x.value, size = y.value.length;
    for (let first = 0; first < value.length; first += size) {
      for (let n = 0; n < size; n++) value[first + n] += y.value[n];
    }
    tape.push(() => {
      const d = x.gradient, dy = zeros(size);
      for (let first = 0; first < d.length; first += size) {
        for (let n = 0; n < size; n++) dy[n] += d[first + n];
      }
      pass(y, dy);
    });
    return x;
  }

  function relu(x) {
    const mask = (values) => { for (let n = 0; n < values.length; n++) values[n] *= Number(x.value[n] > 0); };
    mask(x.value);
    tape.push(() => mask(x.gradient));
    return x;
  }

  // The softmax of each row of x times `scale`.
  function softmax(x, scale) {
    const a = x.value, width = x.columns;
    for (let n = 0; n < a.length; n++) a[n] *= scale;
    for (let from = 0; from < a.length; from += width) softmaxRow(a, from, from + width);
    tape.push(() => {
      const d = x.gradient;
      for (let from = 0; from < d.length; from += width) {
        let mean = 0;
        for (let n = from; n < from + width; n++) mean += a[n] * d[n];
        for (let n = from; n < from + width; n++) d[n] = a[n] * (d[n] - mean) * scale;
      }
    });
    return x;
  }

  function layerNorm(x, weight, bias) {
    const width = x.columns, y = zeros(x.value.length), normal = zeros(y.length), inverse = zeros(x.rows);
    for (let r = 0; r < x.rows; r++) {
      let mean = 0, variance = 0;
      for (let i = 0; i < width; i++) mean += x.value[r * width + i] / width;
      for (let i = 0; i < width; i++) variance += (x.value[r * width + i] - mean) ** 2 / width;
      inverse[r] = 1 / Math.sqrt(variance + 1e-5);
      for (let i = 0; i < width; i++) {
        const n = r * width + i;
        normal[n] = (x.value[n] - mean) * inverse[r];
        y[n] = normal[n] * weight.value[i] + bias.value[i];
      }
    }
    return matrix(x.rows, width, y, (dy) => {
      const dx = zeros(y.length);
      for (let r = 0; r < x.rows; r++) {
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
      pass(x, dx);
    });
  }

  // ---- the model: a list of parameters in PyTorch's order --------------------------------------------------------------

  function makeModel(config, seed) {
    const chance = random(seed), parameters = {};
    const draw = (name, rows, columns, one) => {
      parameters[name] = { name, rows, columns, value: Float64Array.from({ length: rows * columns }, one) };
    };
    const within = (width) => () => (2 * chance.uniform() - 1) / Math.sqrt(width);
    const embedding = () => chance.normal() / Math.sqrt(D_MODEL);
    const linear = (name, rows, columns, bias = true) => {   // as nn.Linear draws it; stored as x meets it, (in, out)
      draw(`${name}.weight`, rows, columns, within(rows));
      if (bias) draw(`${name}.bias`, 1, columns, within(rows));
    };
    const norm = (name) => { draw(`${name}.weight`, 1, D_MODEL, () => 1); draw(`${name}.bias`, 1, D_MODEL, () => 0); };
    draw("name.weight", GUESTS, D_MODEL, embedding);
    draw("friend.weight", GUESTS, D_MODEL, embedding);
    draw("drink.weight", DRINKS, D_MODEL, embedding);
    for (let layer = 0; layer < config.layers; layer++) {
      if (config.scores === "query") draw(`${layer}.query`, 1, D_MODEL, embedding);
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

  const linear = ({ parameters: p }, name, x) => plus(product(x, p[`${name}.weight`]), p[`${name}.bias`]);

  // The output O = A V (guests, d_model), and A (guests, 8).
  function attention({ config: { scores, values: projected }, parameters: p }, layer, x) {
    const project = (name) => product(x, p[`${layer}.${name}.weight`]);
    const values = projected ? project("W_value") : copy(x);
    let weights = null;
    if (scores === "mean") weights = matrix(x.rows, GUESTS, zeros(x.rows * GUESTS).fill(1 / GUESTS));
    else {
      const keys = scores === "qk" || scores === "tied" ? project("W_key") : x; // x for X Xᵀ
      const queries = scores === "qk" ? project("W_query") : scores === "tied" ? project("W_key")
        : scores === "query" ? plus(matrix(x.rows, D_MODEL, zeros(x.value.length)), p[`${layer}.query`]) : x;
      weights = softmax(similarities(queries, keys), 1 / Math.sqrt(keys.columns));
    }
    return [product(weights, values), weights.value];
  }

  // Sines and cosines of growing wavelength, base 10,000: (8, d_model).
  const POSITIONS = Float64Array.from({ length: GUESTS * D_MODEL }, (_, n) => {
    const column = n % D_MODEL, angle = Math.floor(n / D_MODEL) / 10000 ** ((2 * Math.floor(column / 2)) / D_MODEL);
    return column % 2 ? Math.cos(angle) : Math.sin(angle);
  });

  // Cafés to logits (guests, answers * drinks), with the attention weights of each layer.
  function forward(model, { names, friends, drinks }) {
    const { config, parameters: p } = model, weights = [];
    tape.length = 0;
    taken.clear();
    const norm = (name, x) => (config.layers === 2 ? layerNorm(x, p[`${name}.weight`], p[`${name}.bias`]) : copy(x));
    const passOn = (x, output) => (config.residual ? plus(output, x) : output);
    let x = lookUp(p["name.weight"], names);
    if (config.positions) x = plus(x, matrix(GUESTS, D_MODEL, POSITIONS));
    x = plus(plus(x, lookUp(p["friend.weight"], friends)), lookUp(p["drink.weight"], drinks));
    for (let layer = 0; layer < config.layers; layer++) {
      const [output, a] = attention(model, layer, norm(`${layer}.norm`, x)), part = `${layer}.feed_forward`;
      weights.push(a);
      x = passOn(x, output);
      if (!config.feed_forward) continue;
      const hidden = relu(linear(model, `${part}.0`, norm(`${part}_norm`, x)));
      x = passOn(x, linear(model, `${part}.2`, hidden));
    }
    return { logits: linear(model, "read_out", x), weights };
  }

  // The mean cross-entropy, and the gradient of each parameter.
  function lossAndGradients(model, cafes) {
    const { logits } = forward(model, cafes), ask = QUESTIONS[model.config.question];
    const answers = answersTo(model.config), count = cafes.names.length * answers;
    for (const { gradient } of model.list) gradient.fill(0);
    const d = logits.value;                                  // becomes the probabilities, and then the gradient
    let loss = 0;
    for (let guest = 0, from = 0; guest < cafes.names.length; guest++) {
      for (const target of ask(cafes, guest)) {
        softmaxRow(d, from, from + DRINKS);
        loss -= Math.log(d[from + target]) / count;
        d[from + target] -= 1;
        for (let n = from; n < from + DRINKS; n++) d[n] /= count;
        from += DRINKS;
      }
    }
    logits.gradient = d;
    for (const back of tape.toReversed()) back();
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
    const { logits: { value: logits }, weights } = forward(model, cafes), found = [];
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
    if (config.positions) mean(POSITIONS).forEach((each, n) => { rest[n] += each; });
    const points = (own, other, weight) => {
      const others = mean(p[other].value);
      const x = p[own].value.map((each, n) => each + others[n % D_MODEL] + rest[n % D_MODEL]);
      return Array.from(times(x, p[weight].value, D_MODEL, 2));
    };
    return {
      keys: points("name.weight", "friend.weight", "0.W_key.weight"),
      queries: points("friend.weight", "name.weight", config.scores === "tied" ? "0.W_key.weight" : "0.W_query.weight"),
    };
  }

  // ---- a run: what the page asks for, step by step ---------------------------------------------------------------------

  // In lots of a hundred cafés: a phone has little memory.
  const testing = random(1000000), TEST = Array.from({ length: 10 }, () => drawCafes(100, testing));

  // A training run that is asked for so many steps at a time, and says what to draw.
  function makeRun({ config, seed, cafe }) {
    const model = makeModel(config, seed), chance = random(seed + 500000);
    const parameters = model.list.reduce((total, { value }) => total + value.length, 0);
    let room = drawCafes(1, random(cafe));
    let learned = 0;                                         // checks in a row that found hardly a mistake
    let measured = 0, last = accuracy(model, TEST);          // after how many steps; it costs as much as ten of them
    const finished = () => learned === 2 || model.steps >= stepsOf(config);
    const report = () => {
      const { found, weights, right } = judge(model, room);
      return {
        step: model.steps, finished: finished(), measured, accuracy: last, found, right,
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
          measured = model.steps;
          last = accuracy(model, TEST);
          if (model.steps % 20 === 0) learned = last >= 0.995 ? learned + 1 : 0;
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

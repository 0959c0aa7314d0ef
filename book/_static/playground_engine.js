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
    const cafes = { count, names: new Uint8Array(size), friends: new Uint8Array(size), drinks: new Uint8Array(size) };
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
    (feed_forward || scores === "tied" || scores === "none" ? 500 : layers === 2 ? 400 : 300);
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

  const parameterCount = (model) => model.list.reduce((sum, { value }) => sum + value.length, 0);

  // ---- the parts: each returns its output and how a gradient comes back through it ------------------------------------

  // x (rows, in) times a weight (in, out), plus a bias. Four rows at a time, so that each weight is fetched once for
  // them; the number of rows is a multiple of eight.
  function linear(x, weight, bias) {
    const { rows: width, columns, value, gradient } = weight, rows = x.length / width;
    const y = new Float64Array(rows * columns);
    if (bias) for (let n = 0; n < y.length; n += columns) y.set(bias.value, n);
    for (let r = 0; r < rows; r += 4) {
      const y0 = r * columns, y1 = y0 + columns, y2 = y1 + columns, y3 = y2 + columns;
      for (let i = 0; i < width; i++) {
        const n = r * width + i, from = i * columns;
        const x0 = x[n], x1 = x[n + width], x2 = x[n + 2 * width], x3 = x[n + 3 * width];
        for (let c = 0; c < columns; c++) {
          const w = value[from + c];
          y[y0 + c] += x0 * w;
          y[y1 + c] += x1 * w;
          y[y2 + c] += x2 * w;
          y[y3 + c] += x3 * w;
        }
      }
    }
    const back = (dy) => {
      const dx = new Float64Array(x.length);
      if (bias) for (let n = 0; n < dy.length; n++) bias.gradient[n % columns] += dy[n];
      for (let r = 0; r < rows; r += 4) {
        const y0 = r * columns, y1 = y0 + columns, y2 = y1 + columns, y3 = y2 + columns;
        for (let i = 0; i < width; i++) {
          const n = r * width + i, from = i * columns;
          const x0 = x[n], x1 = x[n + width], x2 = x[n + 2 * width], x3 = x[n + 3 * width];
          let d0 = 0, d1 = 0, d2 = 0, d3 = 0;
          for (let c = 0; c < columns; c++) {
            const w = value[from + c], a = dy[y0 + c], b = dy[y1 + c], e = dy[y2 + c], f = dy[y3 + c];
            d0 += a * w;                                     // dx = dy Wᵀ
            d1 += b * w;
            d2 += e * w;
            d3 += f * w;
            gradient[from + c] += x0 * a + x1 * b + x2 * e + x3 * f; // dW = xᵀ dy
          }
          dx[n] = d0;
          dx[n + width] = d1;
          dx[n + 2 * width] = d2;
          dx[n + 3 * width] = d3;
        }
      }
      return dx;
    };
    return [y, back];
  }

  function layerNorm(x, weight, bias) {
    const width = D_MODEL, rows = x.length / width, y = new Float64Array(x.length);
    const normal = new Float64Array(x.length), inverse = new Float64Array(rows);
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
      const dx = new Float64Array(x.length);
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

  function where(positive, values) {                         // values where x is positive, otherwise 0
    const result = new Float64Array(values.length);
    for (let n = 0; n < values.length; n++) if (positive[n] > 0) result[n] = values[n];
    return result;
  }
  const relu = (x) => [where(x, x), (dy) => where(x, dy)];

  function softmaxRow(row, from, end) {                      // in place
    let largest = -Infinity, total = 0;
    for (let n = from; n < end; n++) if (row[n] > largest) largest = row[n];
    for (let n = from; n < end; n++) total += row[n] = Math.exp(row[n] - largest);
    for (let n = from; n < end; n++) row[n] /= total;
  }

  // Queries and keys (rows, width) to A (rows, 8): each café's softmax(Q Kᵀ / sqrt(width)).
  function attentionWeights(queries, keys, width) {
    const rows = keys.length / width, scale = 1 / Math.sqrt(width), weights = new Float64Array(rows * GUESTS);
    for (let r = 0; r < rows; r++) {
      const first = r - (r % GUESTS);
      for (let other = 0; other < GUESTS; other++) {
        let score = 0;
        for (let i = 0; i < width; i++) score += queries[r * width + i] * keys[(first + other) * width + i];
        weights[r * GUESTS + other] = score * scale;
      }
      softmaxRow(weights, r * GUESTS, (r + 1) * GUESTS);
    }
    const back = (dWeights) => {
      const dQueries = new Float64Array(queries.length), dKeys = new Float64Array(keys.length);
      for (let r = 0; r < rows; r++) {
        const first = r - (r % GUESTS);
        let mean = 0;
        for (let n = r * GUESTS; n < (r + 1) * GUESTS; n++) mean += weights[n] * dWeights[n];
        for (let other = 0; other < GUESTS; other++) {
          const n = r * GUESTS + other, dScore = weights[n] * (dWeights[n] - mean) * scale;
          for (let i = 0; i < width; i++) {
            dQueries[r * width + i] += dScore * keys[(first + other) * width + i];
            dKeys[(first + other) * width + i] += dScore * queries[r * width + i];
          }
        }
      }
      return [dQueries, dKeys];
    };
    return [weights, back];
  }

  // O = A V
  function aggregate(weights, values) {
    const rows = values.length / D_MODEL, output = new Float64Array(values.length);
    for (let r = 0; r < rows; r++) {
      const first = r - (r % GUESTS);
      for (let other = 0; other < GUESTS; other++) {
        const weight = weights[r * GUESTS + other], from = (first + other) * D_MODEL;
        for (let i = 0; i < D_MODEL; i++) output[r * D_MODEL + i] += weight * values[from + i];
      }
    }
    const back = (dOutput) => {
      const dWeights = new Float64Array(weights.length), dValues = new Float64Array(values.length);
      for (let r = 0; r < rows; r++) {
        const first = r - (r % GUESTS);
        for (let other = 0; other < GUESTS; other++) {
          const n = r * GUESTS + other, from = (first + other) * D_MODEL;
          let sum = 0;
          for (let i = 0; i < D_MODEL; i++) {
            sum += dOutput[r * D_MODEL + i] * values[from + i];
            dValues[from + i] += weights[n] * dOutput[r * D_MODEL + i];
          }
          dWeights[n] = sum;
        }
      }
      return [dWeights, dValues];
    };
    return [output, back];
  }

  function sum(a, b) {
    const result = new Float64Array(a.length);
    for (let n = 0; n < a.length; n++) result[n] = a[n] + b[n];
    return result;
  }

  function attention({ config, parameters: p }, layer, x) {
    const rows = x.length / D_MODEL, part = (name) => p[`${layer}.${name}`];
    let weights, backToX;                                    // of the attention weights
    if (config.scores === "mean") {
      weights = new Float64Array(rows * GUESTS).fill(1 / GUESTS);
      backToX = () => new Float64Array(x.length);
    } else if (config.scores === "query") {                  // the same query for every guest
      const query = part("query"), queries = new Float64Array(x.length);
      for (let r = 0; r < rows; r++) queries.set(query.value, r * D_MODEL);
      const [a, back] = attentionWeights(queries, x, D_MODEL);
      weights = a;
      backToX = (dWeights) => {
        const [dQueries, dKeys] = back(dWeights);
        dQueries.forEach((each, n) => { query.gradient[n % D_MODEL] += each; });
        return dKeys;
      };
    } else if (config.scores === "none") {                   // X Xᵀ
      const [a, back] = attentionWeights(x, x, D_MODEL);
      weights = a;
      backToX = (dWeights) => sum(...back(dWeights));
    } else {
      const [keys, backKeys] = linear(x, part("W_key.weight"));
      const tied = config.scores === "tied";
      const [queries, backQueries] = tied ? [keys] : linear(x, part("W_query.weight"));
      const [a, back] = attentionWeights(queries, keys, config.width);
      weights = a;
      backToX = (dWeights) => {
        const [dQueries, dKeys] = back(dWeights);
        return tied ? backKeys(sum(dQueries, dKeys)) : sum(backQueries(dQueries), backKeys(dKeys));
      };
    }
    const [values, backValues] = config.values ? linear(x, part("W_value.weight")) : [x, (d) => d];
    const [output, backOutput] = aggregate(weights, values);
    const back = (dOutput) => {
      const [dWeights, dValues] = backOutput(dOutput);
      return sum(backValues(dValues), backToX(dWeights));
    };
    return [output, back, weights];
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
  function embed({ config, parameters: p }, cafes) {
    const parts = [["name.weight", cafes.names], ["friend.weight", cafes.friends], ["drink.weight", cafes.drinks]];
    const rows = cafes.names.length, x = new Float64Array(rows * D_MODEL);
    for (let r = 0; r < rows; r++) {
      for (let i = 0; i < D_MODEL; i++) {
        let value = config.positions ? POSITIONS[(r % GUESTS) * D_MODEL + i] : 0;
        for (const [table, ids] of parts) value += p[table].value[ids[r] * D_MODEL + i];
        x[r * D_MODEL + i] = value;
      }
    }
    const back = (dx) => {
      for (const [table, ids] of parts) {
        const { gradient } = p[table];
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

  function predictions(model, cafes) {
    const { logits, weights } = forward(model, cafes), found = [];
    for (let from = 0; from < logits.length; from += DRINKS) {
      let best = from;
      for (let n = from; n < from + DRINKS; n++) if (logits[n] > logits[best]) best = n;
      found.push(best - from);
    }
    return { found, weights };
  }

  // For which guests all answers are right, and what was predicted.
  function judge(model, cafes) {
    const { found, weights } = predictions(model, cafes), answers = answersTo(model.config);
    const ask = QUESTIONS[model.config.question];
    const right = Array.from(cafes.names, (_, guest) =>
      ask(cafes, guest).every((target, n) => found[guest * answers + n] === target));
    return { found, weights, right };
  }

  function accuracy(model, cafes) {
    const { right } = judge(model, cafes);
    return right.filter(Boolean).length / right.length;
  }

  // Keys of the eight names and queries for the eight friends, with the other parts of x at their mean: what is drawn
  // where the keys have two numbers. Only the first layer's, and without layer norm.
  function plane(model) {
    const { config, parameters: p } = model;
    if (config.width !== 2 || config.layers !== 1 || (config.scores !== "qk" && config.scores !== "tied")) return null;
    const mean = (table, rows) => Float64Array.from({ length: D_MODEL }, (_, i) => {
      let total = 0;
      for (let r = 0; r < rows; r++) total += p[table].value[r * D_MODEL + i] / rows;
      return total;
    });
    const drink = mean("drink.weight", DRINKS), position = Float64Array.from({ length: D_MODEL }, (_, i) => {
      let total = 0;
      if (config.positions) for (let r = 0; r < GUESTS; r++) total += POSITIONS[r * D_MODEL + i] / GUESTS;
      return total;
    });
    const points = (own, other, weight) => {
      const rest = sum(sum(mean(other, GUESTS), drink), position);
      const x = p[own].value.map((each, n) => each + rest[n % D_MODEL]);
      return Array.from(linear(x, p[weight])[0]);
    };
    return {
      keys: points("name.weight", "friend.weight", "0.W_key.weight"),
      queries: points("friend.weight", "name.weight", config.scores === "tied" ? "0.W_key.weight" : "0.W_query.weight"),
    };
  }

  // ---- a run: what the page asks for, step by step ---------------------------------------------------------------------

  const TEST = drawCafes(1000, random(1000000)), QUICK = drawCafes(100, random(2000000));

  // A training run that is asked for so many steps at a time, and says what to draw.
  function makeRun({ config, seed, cafe }) {
    const model = makeModel(config, seed), chance = random(seed + 500000);
    let room = drawCafes(1, random(cafe));
    let learned = 0;                                         // checks in a row that found hardly a mistake
    let measured = null, final = null;                       // the last accuracy, for it costs as much as a step
    const finished = () => learned === 2 || model.steps >= stepsOf(config);
    const report = () => {
      const { found, weights, right } = judge(model, room);
      if (finished()) final ??= accuracy(model, TEST);
      measured ??= accuracy(model, QUICK);
      return {
        step: model.steps, finished: finished(), accuracy: final ?? measured, found, right,
        weights: weights.map((each) => Array.from(each)), plane: plane(model), parameters: parameterCount(model),
      };
    };
    return {
      model, report,
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
    GUESTS, DRINKS, D_MODEL, HIDDEN, BATCH, RATE, QUESTIONS, TEST, stepsOf, answersTo, random, drawCafes,
    makeModel, forward, lossAndGradients, adamStep, accuracy, makeRun, serve,
  };
};

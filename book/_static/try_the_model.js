// Try the model: the classifiers of *Values* and *A question from the text*, as experiments/live_page_models.py rounds
// them, run on what the reader types. Only one page loads this.
//
// First the models: text and bytes in, numbers out, nothing of the page in them. Then the page. What a reader types
// goes in as text nodes, so it is never read as markup; the only thing fetched is the file of weights, when asked for.
(() => {
  "use strict";

  const MOST_WORDS = 128;                                    // of each review, as in training
  const RARELY_SHORT = 40;                                   // words: see "What these models get wrong" on the page
  const UNKNOWN = 1;                                         // the id of any word outside the vocabulary
  const NUMBERS = { F32: Float32Array, I8: Int8Array };

  // ---- text to words, as shared.data.tokenize does ----------------------------------------------------------------

  function tokenize(text) {
    const lower = text.toLowerCase();
    // No tag ends after the last ">". Without this limit each of many open "<a" would be searched to the very end.
    const cut = lower.lastIndexOf(">") + 1;
    const words = [];
    for (const match of lower.slice(0, cut).matchAll(/<\/?[a-z][^>]*>|([a-z]+)/g)) if (match[1]) words.push(match[1]);
    return words.concat(lower.slice(cut).match(/[a-z]+/g) ?? []);
  }

  // ---- the file: safetensors, a header of names and shapes, then bare numbers -------------------------------------

  function read(buffer) {
    try {
      const size = Number(new DataView(buffer).getBigUint64(0, true));
      const { __metadata__, ...tensors } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
      const about = JSON.parse(__metadata__.about);
      const models = {};
      for (const [key, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(tensors)) {
        const [name, part] = [key.slice(0, key.indexOf(".")), key.slice(key.indexOf(".") + 1)];
        const numbers = new NUMBERS[dtype](buffer.slice(8 + size + begin, 8 + size + end));
        if (numbers.length !== shape.reduce((a, b) => a * b, 1)) throw new RangeError(`${key} is cut short`);
        (models[name] ??= { name })[part] = numbers;
        if (part === EMBEDDING) models[name].d_model = shape[1];
      }
      const words = about.words.split(" ");
      const { right, pieces, lengths } = about;
      return { models, words, ids: new Map(words.map((word, id) => [word, id])), right, pieces, lengths };
    } catch (error) {
      throw new Error(`The file of the models is damaged (${error.message}).`);
    }
  }

  // ---- the models: ids in, a logit and one weight a word out ------------------------------------------------------

  const EMBEDDING = "embedding.table.weight";

  const tables = new Map();                                  // d_model -> positions (places, d_model), made when first needed
  function positionsOf(d_model) {
    if (!tables.has(d_model)) {
      const table = new Float64Array((2 * MOST_WORDS + 2) * d_model);
      for (let n = 0; n < table.length; n++) {
        const t = Math.floor(n / d_model), i = n % d_model;
        // Rounded to float32 where PyTorch rounds, so that a sine of a large angle agrees to the sixth decimal.
        const angle = Math.fround(t / Math.fround(1000 ** (2 * Math.floor(i / 2) / d_model)));
        table[n] = i % 2 ? Math.cos(angle) : Math.sin(angle);
      }
      tables.set(d_model, table);
    }
    return tables.get(d_model);
  }

  // Matrices are flat arrays, row after row, as in the file.
  function embed(model, ids) {                          // (tokens, d_model)
    const { d_model, [EMBEDDING]: embedding, [`${EMBEDDING}.step`]: [step] } = model;
    const x = positionsOf(d_model).slice(0, ids.length * d_model);
    for (let t = 0, n = 0; t < ids.length; t++) {
      for (let i = 0; i < d_model; i++, n++) x[n] += embedding[ids[t] * d_model + i] * step;
    }
    return x;
  }

  // Every row of x (rows, d_model) times a weight (out, d_model) as nn.Linear keeps it: (rows, out).
  function linear(x, weight, d_model, bias) {
    const rows = x.length / d_model, out = weight.length / d_model, result = new Float64Array(rows * out);
    for (let t = 0; t < rows; t++) {
      for (let o = 0; o < out; o++) {
        let sum = bias ? bias[o] : 0;
        for (let i = 0; i < d_model; i++) sum += x[t * d_model + i] * weight[o * d_model + i];
        result[t * out + o] = sum;
      }
    }
    return result;
  }

  function softmax(scores) {                                 // in place
    let largest = -Infinity, total = 0;
    for (let t = 0; t < scores.length; t++) if (scores[t] > largest) largest = scores[t];
    for (let t = 0; t < scores.length; t++) total += scores[t] = Math.exp(scores[t] - largest);
    for (let t = 0; t < scores.length; t++) scores[t] /= total;
    return scores;
  }

  // Where the tokens from `first` to before `end` look: their rows of softmax(Q K^T / sqrt(k)), averaged.
  function attendFrom(model, x, first, end) {
    const { d_model } = model, tokens = x.length / d_model, count = end - first;
    const queries = linear(x.subarray(first * d_model, end * d_model), model["attention.W_query.weight"], d_model);
    const keys = linear(x, model["attention.W_key.weight"], d_model);
    const width = queries.length / count, row = new Float64Array(tokens), mean = new Float64Array(tokens);
    for (let q = 0; q < count; q++) {
      for (let t = 0; t < tokens; t++) {
        let score = 0;
        for (let i = 0; i < width; i++) score += queries[q * width + i] * keys[t * width + i];
        row[t] = score / Math.sqrt(width);
      }
      softmax(row);
      for (let t = 0; t < tokens; t++) mean[t] += row[t] / count;
    }
    return mean;
  }

  const ATTEND = {                                           // x (tokens, d_model) to weights (tokens,)
    "mean pooling": (model, x, tokens) => new Float64Array(tokens).fill(1 / tokens),
    "attention pooling": (model, x) =>
      softmax(linear(x, model["score.weight"], model.d_model, model["score.bias"])),
    "self-attention": (model, x, tokens) => attendFrom(model, x, 0, tokens),
    "marker query": (model, x, tokens, mark) => attendFrom(model, x, mark, mark + 1),
  };

  function run(model, ids, mark) {
    const x = embed(model, ids), { d_model } = model; // (tokens, d_model)
    const weights = ATTEND[model.name](model, x, ids.length, mark); // (tokens,)
    let pooled = new Float64Array(d_model);
    for (let t = 0, n = 0; t < ids.length; t++) {
      for (let i = 0; i < d_model; i++, n++) pooled[i] += weights[t] * x[n];
    }
    if (model["attention.W_value.weight"]) pooled = linear(pooled, model["attention.W_value.weight"], d_model);
    const [logit] = linear(pooled, model["output.weight"], pooled.length, model["output.bias"]);
    return { logit, positive: 1 / (1 + Math.exp(-logit)), weights };
  }

  const idsOf = (file, words) => words.slice(0, MOST_WORDS).map((word) => file.ids.get(word) ?? UNKNOWN);

  // The review that counts, alone or after the words of a different review.
  const judge = (file, name, front, own) => run(file.models[name], [...idsOf(file, front), ...idsOf(file, own)]);

  // Two reviews, <MARK> before the one that counts and <SEP> before the other.
  function judgeMarked(file, first, second, markFirst) {
    const [a, b] = [idsOf(file, first), idsOf(file, second)];
    const [mark, separator] = [file.ids.get("<MARK>"), file.ids.get("<SEP>")];
    const ids = [markFirst ? mark : separator, ...a, markFirst ? separator : mark, ...b];
    return run(file.models["marker query"], ids, markFirst ? 0 : a.length + 1);
  }

  globalThis.tryTheModel = { tokenize, read, judge, judgeMarked };

  // ---- words about numbers ----------------------------------------------------------------------------------------

  const percent = (share) => (share > 0 && share < 0.005 ? "less than 1%" : `${Math.round(100 * share)}%`);
  const sumOf = (weights, from, to) => { let sum = 0; for (let t = from; t < to; t++) sum += weights[t]; return sum; };

  function verdict(positive) {
    const sure = Math.max(positive, 1 - positive);
    return [positive > 0.5 ? "positive" : "negative", `${sure > 0.99 ? "more than 99%" : percent(sure)} sure`];
  }

  // What keeps the models from an answer, as a sentence; the empty text when nothing does.
  function obstacle(file, words) {
    if (!words.length) return "There is no word in this text. Type a few words made of the letters a to z.";
    if (words.slice(0, MOST_WORDS).every((word) => !file.ids.has(word))) {
      return "The models know none of these words, so they have nothing to go by. Try everyday English words.";
    }
    return "";
  }

  // Which of the measured lengths of short pieces a text has; -1 for a text as long as a review.
  const shortAs = (file, words) => file.lengths.findIndex(([, most]) => words.length <= most);

  function remarks(file, words) {
    const cut = words.length > MOST_WORDS ? `Read: the first ${MOST_WORDS} of ` : "";
    const notes = [`${cut}${many(words.length, "word")}.`];
    const unknown = words.slice(0, MOST_WORDS).filter((word) => !file.ids.has(word));
    const named = [...new Set(unknown)].slice(0, 3).map(shown);
    const known = Math.min(words.length, MOST_WORDS) - unknown.length;
    if (unknown.length) notes.push(`${unknown.length} unknown to the models (${named.join(", ")}): the prediction rests on the other ${known}.`);
    const short = shortAs(file, words);
    if (short >= 0) {
      const [least, most] = file.lengths[short], right = SIDE_BY_SIDE.map(([name]) => file.pieces[name][short]);
      notes.push(`The training reviews have ${file.lengths.at(-1)[1] + 1} words or more. Of random parts of ` +
        `${least} to ${most} words they get ${percent(Math.min(...right))} to ${percent(Math.max(...right))} right, whereas guessing ` +
        "gets 50%. After another review they have never met one so short.");
    } else if (words.length < RARELY_SHORT) {
      notes.push("Few training reviews are so short. After a long one the models miss many positive texts of this length.");
    }
    return notes.join(" ");
  }

  // ---- the page ---------------------------------------------------------------------------------------------------

  const root = document.getElementById("try");
  if (!root) return;
  const at = (name) => document.getElementById(`try-${name}`);
  const own = at("own"), slide = at("slide"), svg = at("chart");

  const strong = (text) => make("strong", {}, text);

  // The three models side by side, each with its line in the chart.
  const SIDE_BY_SIDE = [
    ["mean pooling", "Mean pooling", "Every word has the same weight.", "2 5", "mean"],
    ["attention pooling", "Attention pooling", "One learned query for every word.", "9 5", "pooling"],
    ["self-attention", "Self-attention", "Every word has a query; shown is the mean of their attention weights.", "", "self-att."],
  ];

  let file = null, words = [], frontWords = [], mostInFront = 0, curve = [];

  // -- shaded words: a word's attention weight times the number of words, from none to eight and more

  const STEPS = 8;

  // texts: the words, and the models' own marks, which begin with "<". parts: place -> name of what begins there.
  function shade(box, texts, weights, parts) {
    const special = (text) => text.startsWith("<");
    const kind = (text) => (special(text) ? "w special" : file.ids.has(text) ? "w" : "w unknown");
    const key = JSON.stringify([texts.map((text) => special(text) || text), Object.entries(parts)]);
    if (box.shadesOf !== key) {                              // else the same words stay, and their shades can glide
      box.shadesOf = key;
      box.replaceChildren(...texts.flatMap((text, t) => [
        ...(t && parts[t] ? [make("br")] : []), ...(parts[t] ? [make("small", {}, parts[t]), " "] : []),
        make("span", { "data-t": t, class: kind(text) }, shown(text)), " ",
      ]));
    }
    box.querySelectorAll(".w").forEach((word, t) => {
      if (special(texts[t])) word.textContent = texts[t];
      word.style.setProperty("--s", Math.min(STEPS, Math.round(weights[t] * weights.length)));
    });
  }

  // -- cards

  const cards = SIDE_BY_SIDE.map(([name, title, how, dashes]) => {
    const line = make("svg:svg", { class: "line", viewBox: "0 0 34 8", "aria-hidden": "true" },
      make("svg:path", { d: "M1 4h32", "stroke-dasharray": dashes }));
    const part = {
      verdict: make("p", { class: "verdict" }), dot: make("i"), share: make("p", { class: "share" }),
      bar: make("div", { class: "bar-of", "aria-hidden": "true" }, make("i"), make("b")),
      words: make("p", { class: "words" }), most: make("p", { class: "most" }), record: make("p", { class: "record" }),
    };
    const meter = make("div", { class: "meter", "aria-hidden": "true" },
      make("span", {}, "negative"), make("div", {}, part.dot), make("span", {}, "positive"));
    // The strip below the slider: the verdict in short, and on a phone whose words are shown.
    part.short = make("span", { class: "short" });
    const radio = make("input", { type: "radio", name: "whose", value: name });
    at("strip").append(make("label", {}, radio, make("span", {}, line.cloneNode(true), make("b", {}, title), part.short)));
    radio.addEventListener("change", () => choose(name));
    const id = `try-card-${name.replace(" ", "-")}`;
    at("cards").append(make("section", { class: "card", "data-name": name, "aria-labelledby": id },
      make("h3", { id }, line, ` ${title}`), make("p", { class: "how" }, how),
      part.verdict, meter, part.share, part.bar, part.words, part.most, part.record));
    return { name, ...part };
  });

  function choose(name) {
    for (const card of at("cards").children) card.classList.toggle("chosen", card.dataset.name === name);
    for (const radio of at("strip").querySelectorAll("input")) radio.checked = radio.value === name;
  }
  choose("self-attention");

  function showVerdict(part, positive) {
    const [side, sure] = verdict(positive);
    part.short?.replaceChildren(side, make("br"), sure.replace("more than ", "> ").replace(" sure", ""));
    part.verdict.replaceChildren(strong(side), `, ${sure}`);
    part.dot.style.left = `${100 * positive}%`;
  }

  function strongest(texts, weights) {
    const order = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a]).slice(0, 4);
    return order.map((t) => `${shown(texts[t])} ${percent(weights[t])}`).join(", ");
  }

  const inFront = () => frontWords.slice(0, Number(slide.value));

  function showCards() {
    const front = inFront(), read = words.slice(0, MOST_WORDS), texts = [...front, ...read];
    for (const card of cards) {
      const { positive, weights } = judge(file, card.name, front, read);
      const share = sumOf(weights, front.length, weights.length), fair = read.length / weights.length;
      showVerdict(card, positive);
      card.share.replaceChildren(...(front.length
        ? [strong(percent(share)), ` of its attention is on your review, which has ${percent(fair)} of the words.`]
        : ["No text comes before: all of its attention is on your review."]));
      card.bar.children[0].style.width = `${100 * share}%`;
      card.bar.children[1].style.right = `${100 * fair}%`;
      shade(card.words, texts, weights, front.length ? { 0: "before yours", [front.length]: "your review" } : {});
      card.most.textContent = card.name === "mean pooling"
        ? `Attends to all ${many(weights.length, "word")} equally: ${(100 / weights.length).toFixed(1)}% each.`
        : `Attends most to: ${strongest(texts, weights)}.`;
      card.weights = weights;
      card.positive = positive;
      card.onOwn = share;
    }
  }

  // -- marker query

  const marked = {
    verdict: at("mark-verdict"), dot: at("mark-dot"), share: at("mark-share"), bar: at("mark-bar"),
    words: at("mark-words"),
  };

  function showMarked() {
    const markFirst = at("mark").querySelector("input:checked").value === "first";
    const front = frontWords.slice(0, MOST_WORDS), read = words.slice(0, MOST_WORDS);
    const { positive, weights } = judgeMarked(file, front, read, markFirst);
    const share = sumOf(weights, front.length + 1, weights.length);
    showVerdict(marked, positive);
    marked.share.replaceChildren(strong(percent(1 - share)), " of its attention is on the first review, ",
      strong(percent(share)), " on the second, yours. Asked about: ", strong(markFirst ? "the first" : "yours"), ".");
    marked.bar.children[0].style.width = `${100 * share}%`;
    const short = shortAs(file, markFirst ? front : read);
    at("mark-record").textContent = marked.record + (short < 0 ? "" : ` Of parts as short as the marked text, in a pair with a whole review, it gets ${percent(file.pieces["marker query"][short])} right.`);
    const [mark, separator] = ["<MARK>", "<SEP>"];
    shade(marked.words, [markFirst ? mark : separator, ...front, markFirst ? separator : mark, ...read], weights,
      { 0: "first", [front.length + 1]: "second, yours" });
  }

  // -- the chart: verdict and attention for every number of words in front

  const EDGE = 11, PANEL = 104, GAP = 40;
  let gutter = 68, right = 0;                                // where the curves begin and end
  const MEASURES = ["positive", "share"];                    // one panel each

  let sweeps = 0;

  async function sweep() {                                   // in short pieces: a reader may be typing
    const ticket = ++sweeps, read = words.slice(0, MOST_WORDS), step = Math.max(1, Math.ceil(mostInFront / 40));
    const points = [];
    let started = performance.now();
    for (let count = 0; ; count = Math.min(count + step, mostInFront)) {
      const front = frontWords.slice(0, count);
      points.push({ count, models: SIDE_BY_SIDE.map(([name]) => {
        const { positive, weights } = judge(file, name, front, read);
        return { positive, share: sumOf(weights, count, weights.length) };
      }) });
      if (count >= mostInFront) break;
      if (performance.now() - started < 10) continue;
      await new Promise((resolve) => setTimeout(resolve));
      if (ticket !== sweeps) return;                         // the texts have changed meanwhile
      started = performance.now();
    }
    curve = points;
    drawChart();
    showTables();
  }

  function drawChart() {
    const width = Math.max(200, at("plot").clientWidth), narrow = width < 500;
    gutter = narrow ? EDGE : 68;
    right = width - (narrow ? 58 : 122);
    const x = (count) => gutter + (right - gutter) * (mostInFront ? count / mostInFront : 0);
    const y = (panel, value) => 22 + panel * (PANEL + GAP) + (1 - value) * PANEL;
    const children = [];
    const panels = [["positive", "negative", "Prediction"], ["100%", "0%", "Attention on your review"]];
    panels.forEach(([high, low, title], panel) => {
      for (const [value, look] of [[0, "rule"], [0.5, "rule half"], [1, "rule"]]) {
        children.push(make("svg:path", { class: look, d: `M${gutter} ${y(panel, value)}H${right}` }));
      }
      children.push(make("svg:text", { class: "title", x: gutter, y: y(panel, 1) - 7 }, title));
      const [side, up, down] = narrow ? [width, -7, 15] : [gutter - 8, 5, 4]; // on a phone, in the corners to the right
      children.push(make("svg:text", { x: side, y: y(panel, 1) + up, "text-anchor": "end" }, high));
      children.push(make("svg:text", { x: side, y: y(panel, 0) + down, "text-anchor": "end" }, low));
      // Each line's name at its end, names pushed apart until none covers another.
      const ends = SIDE_BY_SIDE.map(([, title, , , brief], which) =>
        ({ name: narrow ? brief : title, at: y(panel, curve.at(-1).models[which][MEASURES[panel]]) })).sort((a, b) => a.at - b.at);
      ends.forEach((end, i) => { if (i) end.at = Math.max(end.at, ends[i - 1].at + 15); });
      const over = Math.max(0, ends.at(-1).at - y(panel, 0) + 2);
      for (const { name, at } of ends) children.push(make("svg:text", { class: "name-of-line", x: right + 7, y: at - over + 4 }, name));
    });
    SIDE_BY_SIDE.forEach(([, , , dashes], which) => MEASURES.forEach((measure, panel) => {
      const point = ({ count, models }) => `${x(count).toFixed(1)},${y(panel, models[which][measure]).toFixed(1)}`;
      const points = curve.map(point);
      children.push(make("svg:polyline", { class: measure, points: points.join(" "), "stroke-dasharray": dashes }));
    }));
    children.push(make("svg:path", { class: "now" }));
    for (const _ of cards) children.push(...MEASURES.map((measure) => make("svg:circle", { class: measure, r: 4.5 })));
    svg.setAttribute("width", width);
    svg.setAttribute("height", y(1, 0) + 18);
    svg.setAttribute("viewBox", `0 0 ${width} ${y(1, 0) + 18}`); // paper is narrower than most windows
    svg.replaceChildren(...children);
    slide.style.marginLeft = `${gutter - EDGE}px`;
    slide.style.width = `${right - gutter + 2 * EDGE}px`;
    showPlace(x, y);
    svg.showPlace = () => showPlace(x, y);
  }

  // The line below the slider's thumb, and where it cuts the curves.
  function showPlace(x, y) {
    const here = x(Number(slide.value));
    svg.querySelector(".now").setAttribute("d", `M${here} ${y(0, 1)}V${y(1, 0) + 8}`);
    svg.querySelectorAll("circle").forEach((dot, i) => {
      const card = cards[Math.floor(i / 2)], panel = i % 2;
      dot.setAttribute("cx", here);
      dot.setAttribute("cy", y(panel, panel ? card.onOwn : card.positive));
    });
  }

  // -- tables: every number on the page, for readers who want numbers or hear them

  function fill(table, heads, rows) {
    const body = make("tbody");
    const cell = (text, i) => (i === 1 ? make("th", { scope: "row" }, text) : make("td", {}, text));
    for (const row of rows) body.append(make("tr", {}, ...row.map(cell)));
    table.tHead.replaceChildren(make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head))));
    table.tBodies[0].replaceWith(body);
  }

  function showTables() {
    if (!at("numbers").open || root.classList.contains("mute")) return;
    const tables = at("numbers").querySelectorAll("table");
    const front = inFront(), names = SIDE_BY_SIDE.map(([, title]) => title);
    const row = (text, t) => [t < front.length ? "before" : "yours", shown(text),
      ...cards.map((card) => `${(100 * card.weights[t]).toFixed(2)}%`)];
    fill(tables[0], ["Review", "Word", ...names], [...front, ...words.slice(0, MOST_WORDS)].map(row));
    const every = curve.filter(({ count }, i) => i % 4 === 0 || count === mostInFront);
    const labels = { positive: "how positive", share: "attention on your review" };
    fill(tables[1], ["Measure", "Words before", ...names], MEASURES.flatMap((measure) =>
      every.map(({ count, models }) => [labels[measure], String(count), ...models.map((one) => percent(one[measure]))])));
  }

  // -- when anything changes

  let frame = 0, later = 0, markMoved = false;               // what was moved last is what is spoken of
  const say = announcer(at("said"));

  function frontText() {
    const chosen = at("front").querySelector("input:checked");
    return chosen === at("front-own") ? at("front-words").value : chosen.dataset.text;
  }

  function showFront() {
    const count = Number(slide.value), typed = at("front-own").checked;
    at("front-words").hidden = !typed;
    at("front-text").hidden = typed;
    if (!typed) {                                            // our texts hold no tags: a word is a run of letters
      const text = frontText(), last = [...text.matchAll(/[a-z]+/gi)][count - 1];
      const end = last ? last.index + last[0].length : 0;
      at("front-text").replaceChildren(make("span", { class: "taken" }, text.slice(0, end)), text.slice(end));
    }
    at("count").textContent = count === 0 ? "none" : `${count} of ${mostInFront} words`;
    const label = count === 0 ? "no word before" : `${count} of ${mostInFront} words before`;
    slide.setAttribute("aria-valuetext", label);
  }

  function show() {
    showFront();
    if (!file) return;
    const problem = obstacle(file, words);
    at("note").textContent = problem || remarks(file, words);
    at("note").classList.toggle("problem", problem !== "");
    for (const name of ["try", "try-marked"]) document.getElementById(name).classList.toggle("mute", problem !== "");
    if (problem) return say(problem);
    showCards();
    showMarked();
    svg.showPlace?.();
    showTables();
    keep();
    if (markMoved) return say(`${marked.verdict.textContent}. ${marked.share.textContent}`);
    say(SIDE_BY_SIDE.map(([, title], i) => {
      const behind = slide.value === "0" ? "" : `, ${percent(cards[i].onOwn)} of its attention on your review`;
      return `${title}: ${verdict(cards[i].positive).join(", ")}${behind}.`;
    }).join(" "));
  }

  function moved(what) {
    markMoved = what === at("mark");
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(show);
  }

  function changed() {                                       // one of the two texts
    words = tokenize(own.value);
    frontWords = tokenize(frontText()).slice(0, MOST_WORDS);
    mostInFront = frontWords.length;
    slide.max = mostInFront;
    moved(own);
    clearTimeout(later);
    sweeps += 1;
    later = setTimeout(() => { if (file && !obstacle(file, words)) sweep(); }, 90);
  }

  own.addEventListener("input", changed);
  at("front").addEventListener("change", changed);
  at("front-words").addEventListener("input", changed);
  at("mark").addEventListener("change", () => moved(at("mark")));
  slide.addEventListener("input", () => moved(slide));
  at("numbers").addEventListener("toggle", showTables);
  at("examples").addEventListener("click", ({ target }) => {
    if (target.dataset.text === undefined) return;
    own.value = target.dataset.text;
    changed();
  });
  svg.addEventListener("pointerdown", pull);
  svg.addEventListener("pointermove", (event) => { if (event.buttons) pull(event); });
  function pull(event) {
    const box = svg.getBoundingClientRect();
    const along = (event.clientX - box.left - gutter) / (right - gutter);
    slide.value = Math.round(along * mostInFront);
    moved(slide);
  }
  // Point at a word, and see what each model gives it.
  at("cards").addEventListener("pointerover", ({ target }) => {
    for (const hot of at("cards").querySelectorAll(".hot")) hot.classList.remove("hot");
    if (target.dataset.t === undefined) return;
    for (const card of cards) {
      const word = card.words.querySelector(`[data-t="${target.dataset.t}"]`);
      word.classList.add("hot");
      word.dataset.share = `${(100 * card.weights[target.dataset.t]).toFixed(1)}%`;
    }
  });
  new ResizeObserver(() => { if (curve.length) drawChart(); }).observe(at("plot"));

  // -- loading, when asked to

  async function fetched() {                                 // the bytes of the weights
    const base = root.dataset.weights;
    if (location.protocol !== "file:") {
      const answer = await fetch(`${base}.safetensors`);
      if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
      return answer.arrayBuffer();
    }
    // A browser fetches nothing beside a page that was opened from a disk, but it runs scripts from there: the same
    // bytes as text, packed.
    await new Promise((resolve, reject) => {
      const script = make("script", { src: `${base}.weights.js` });
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject(new Error("The file beside this page is missing.")));
      document.head.append(script);
    });
    const packed = Uint8Array.from(atob(globalThis.tryTheModelWeights), (character) => character.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }

  at("load").addEventListener("click", async () => {
    const button = at("load"), told = at("load-told");
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    told.textContent = "Loading \u2026";
    try {
      file = read(await fetched());
      if (Object.keys(ATTEND).some((name) => !file.models[name])) throw new Error("The file lacks a model.");
    } catch (error) {
      file = null;
      button.removeAttribute("aria-disabled");
      told.textContent = `The models did not arrive. ${error.message} Press the button to try again.`;
      return;
    }
    const focused = document.activeElement === button;
    for (const element of document.querySelectorAll(".try-waits")) element.hidden = false;
    for (const element of document.querySelectorAll(".try")) element.classList.add("loaded");
    at("waiting").hidden = true;
    const record = (name, where) => {
      const [alone, together] = file.right[name];
      return `Of the test reviews it gets ${percent(alone)} right alone and ${percent(together)} ${where}.`;
    };
    for (const card of cards) card.record.textContent = record(card.name, "after another one");
    marked.record = record("marker query", "in such pairs");
    changed();
    sweepNow();
    if (focused) slide.focus({ preventScroll: true });
  });

  function sweepNow() {                                      // the first picture stands at once
    cancelAnimationFrame(frame);
    clearTimeout(later);
    show();
    if (!obstacle(file, words)) sweep();
  }

  // The address holds texts, slider and mark once the reader has changed them, so that they can be shared. The part
  // after the # is never sent to a server.
  const fronts = Array.from(at("front").querySelectorAll("input")), marks = Array.from(at("mark").querySelectorAll("input"));
  let touched = false;
  for (const event of ["input", "change", "click"]) {
    for (const part of [root, at("mark")]) part.addEventListener(event, ({ target }) => { touched ||= target !== at("load"); });
  }

  function keep() {
    if (!touched) return;
    const front = fronts.findIndex((radio) => radio.checked);
    const state = new URLSearchParams({ own: own.value.slice(0, 2000), front, words: slide.value, mark: marks.findIndex((radio) => radio.checked) });
    if (fronts[front] === at("front-own")) state.set("text", at("front-words").value.slice(0, 2000));
    try { history.replaceState(null, "", `#${state}`); } catch { /* some browsers limit how often */ }
  }

  function readAddress() {
    const address = new URLSearchParams(location.hash.slice(1));
    if (!address.has("own")) return;                            // nothing, or the address of a heading
    own.value = address.get("own");
    for (const [radios, name] of [[fronts, "front"], [marks, "mark"]]) if (radios[address.get(name)]) radios[address.get(name)].checked = true;
    at("front-words").value = address.get("text") ?? "";
    changed();
    slide.value = Number(address.get("words")) || 0;
  }
  own.value ||= at("examples").querySelector("button").dataset.text; // unless the browser restored an earlier text
  changed();
  readAddress();
  addEventListener("hashchange", readAddress);
})();

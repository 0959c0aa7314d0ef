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
  const D_MODEL = 16;
  const layer = attentionLayer();

  // ---- text to words, as shared.data.tokenize does ----------------------------------------------------------------

  function tokenize(text) {
    const lower = text.toLowerCase();
    // No tag ends after the last ">". Without this limit each of many open "<a" would be searched to the very end.
    const cut = lower.lastIndexOf(">") + 1;
    const words = [];
    for (const match of lower.slice(0, cut).matchAll(/<\/?[a-z][^>]*>|([a-z]+)/g)) if (match[1]) words.push(match[1]);
    return words.concat(lower.slice(cut).match(/[a-z]+/g) ?? []);
  }

  // ---- the file: each model's tensors by name, the vocabulary, and what was measured --------------------------------

  function read(buffer) {
    const { tensors, metadata } = layer.read(buffer), models = {};
    for (const [key, numbers] of Object.entries(layer.restore(tensors, ".step"))) {
      const [name, ...part] = key.split(".");
      (models[name] ??= {})[part.join(".")] = numbers;
    }
    const about = JSON.parse(metadata.about);
    return { ...about, models, ids: new Map(about.words.split(" ").map((word, id) => [word, id])) };
  }

  // ---- the models: ids in, a logit and one weight a word out ------------------------------------------------------

  const positions = Float32Array.from({ length: (2 * MOST_WORDS + 2) * D_MODEL }, (_, n) => {
    const i = n % D_MODEL, angle = Math.floor(n / D_MODEL) / 1000 ** (2 * Math.floor(i / 2) / D_MODEL);
    return i % 2 ? Math.cos(angle) : Math.sin(angle);
  });

  function embed(model, ids) {                               // (tokens, D_MODEL)
    const table = model["embedding.table.weight"], x = new Float32Array(ids.length * D_MODEL);
    ids.forEach((id, t) => x.set(table.subarray(id * D_MODEL, (id + 1) * D_MODEL), t * D_MODEL));
    return layer.add(x, positions);
  }

  function project(x, weight) {
    const width = weight.length / D_MODEL;
    return layer.linear(x, weight, new Float32Array(width));
  }

  const QUERIES = {
    "mean pooling": () => new Float32Array(D_MODEL),         // scores of zero: every word has the same weight
    // It does not scale its scores, and attend() divides them by this root.
    "attention pooling": (model) => model["score.weight"].map((value) => value * Math.sqrt(D_MODEL)),
    "self-attention": (model, x) => project(x, model["attention.W_query.weight"]),
    "marker query": (model, x, marker) =>
      project(x.subarray(marker * D_MODEL, (marker + 1) * D_MODEL), model["attention.W_query.weight"]),
  };

  function run(file, name, ids, marker) {
    const model = file.models[name], x = embed(model, ids), tokens = ids.length;
    const queries = QUERIES[name](model, x, marker);         // (rows, width)
    const keys = model["attention.W_key.weight"] ? project(x, model["attention.W_key.weight"]) : x; // (tokens, width)
    const width = keys.length / tokens, rows = queries.length / width, weights = new Float32Array(tokens);
    layer.attend(queries, keys, keys, width, 1).weights.forEach((weight, n) => { weights[n % tokens] += weight / rows; });
    let pooled = new Float32Array(D_MODEL);
    x.forEach((value, n) => { pooled[n % D_MODEL] += weights[Math.floor(n / D_MODEL)] * value; });
    if (model["attention.W_value.weight"]) pooled = project(pooled, model["attention.W_value.weight"]);
    const logit = pooled.reduce((sum, value, i) => sum + value * model["output.weight"][i], model["output.bias"][0]);
    return { logit, positive: 1 / (1 + Math.exp(-logit)), weights };
  }

  const idsOf = (file, words) => words.slice(0, MOST_WORDS).map((word) => file.ids.get(word) ?? UNKNOWN);

  // The review that counts, alone or after the words of a different review.
  const judge = (file, name, front, own) => run(file, name, [...idsOf(file, front), ...idsOf(file, own)]);

  // Two reviews, <MARK> before the one that counts and <SEP> before the other.
  function judgeMarked(file, first, second, markFirst) {
    const [a, b] = [idsOf(file, first), idsOf(file, second)];
    const [mark, separator] = [file.ids.get("<MARK>"), file.ids.get("<SEP>")];
    const ids = [markFirst ? mark : separator, ...a, markFirst ? separator : mark, ...b];
    return run(file, "marker query", ids, markFirst ? 0 : a.length + 1);
  }

  globalThis.tryTheModel = { tokenize, read, judge, judgeMarked };

  // ---- words about numbers ----------------------------------------------------------------------------------------

  const percent = (share) => (share > 0 && share < 0.005 ? "less than 1%" : `${Math.round(100 * share)}%`);
  const sumFrom = (weights, first) => weights.subarray(first).reduce((sum, weight) => sum + weight, 0);

  function verdict(positive) {
    const sure = Math.max(positive, 1 - positive);
    return [positive > 0.5 ? "positive" : "negative", `${sure > 0.99 ? "more than 99%" : percent(sure)} sure`];
  }

  // ---- the page ---------------------------------------------------------------------------------------------------

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
  const wordsRead = () => words.slice(0, MOST_WORDS);
  const inFront = () => frontWords.slice(0, Number(slide.value));

  // With so many words before the review: a model's prediction, its attention weights, and the review's fraction of them.
  function answer(name, count) {
    const { positive, weights } = judge(file, name, frontWords.slice(0, count), wordsRead());
    return { positive, weights, share: sumFrom(weights, count) };
  }

  // What keeps the models from an answer, as a sentence; the empty text when nothing does.
  function obstacle(words) {
    if (!words.length) return "There is no word in this text. Type a few words made of the letters a to z.";
    if (words.slice(0, MOST_WORDS).every((word) => !file.ids.has(word))) {
      return "The models know none of these words, so they have nothing to go by. Try everyday English words.";
    }
    return "";
  }

  // Which of the measured lengths of short pieces a text has; -1 for a text as long as a review.
  const shortAs = (words) => file.lengths.findIndex(([, most]) => words.length <= most);

  function remarks(words) {
    const cut = words.length > MOST_WORDS ? `Read: the first ${MOST_WORDS} of ` : "";
    const notes = [`${cut}${many(words.length, "word")}.`];
    const unknown = words.slice(0, MOST_WORDS).filter((word) => !file.ids.has(word));
    const named = [...new Set(unknown)].slice(0, 3).map(shown);
    const known = Math.min(words.length, MOST_WORDS) - unknown.length;
    if (unknown.length) notes.push(`${unknown.length} unknown to the models (${named.join(", ")}): the prediction rests on the other ${known}.`);
    const short = shortAs(words);
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

  // -- shaded words: a word's attention weight times the number of words, from none to eight and more

  const STEPS = 8;

  // texts: the words, and the models' own marks, which begin with "<". parts: position -> name of what begins there.
  function shade(box, texts, weights, parts) {
    const kind = (text) => (text.startsWith("<") ? "w special" : file.ids.has(text) ? "w" : "w unknown");
    const steps = (weight) => Math.min(STEPS, Math.round(weight * weights.length));
    box.replaceChildren(...texts.flatMap((text, t) => [
      ...(t && parts[t] ? [make("br")] : []), ...(parts[t] ? [make("small", {}, parts[t]), " "] : []),
      make("span", { "data-t": t, class: kind(text), style: `--s: ${steps(weights[t])}` }, shown(text)), " ",
    ]));
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
    radio.checked = name === "self-attention";
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

  function showCards() {
    const front = inFront(), read = wordsRead(), texts = [...front, ...read], fair = read.length / texts.length;
    for (const card of cards) {
      card.answer = answer(card.name, front.length);
      const { positive, weights, share } = card.answer;
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
    }
  }

  // -- marker query

  const marked = {
    verdict: at("mark-verdict"), dot: at("mark-dot"), share: at("mark-share"), bar: at("mark-bar"),
    words: at("mark-words"),
  };

  function showMarked() {
    const markFirst = at("mark").querySelector("input:checked").value === "first";
    const front = frontWords, read = wordsRead(), { positive, weights } = judgeMarked(file, front, read, markFirst);
    const share = sumFrom(weights, front.length + 1);
    showVerdict(marked, positive);
    marked.share.replaceChildren(strong(percent(1 - share)), " of its attention is on the first review, ",
      strong(percent(share)), " on the second, yours. Asked about: ", strong(markFirst ? "the first" : "yours"), ".");
    marked.bar.children[0].style.width = `${100 * share}%`;
    const short = shortAs(markFirst ? front : read);
    at("mark-record").textContent = marked.record + (short < 0 ? "" : ` Of parts as short as the marked text, in a pair with a whole review, it gets ${percent(file.pieces["marker query"][short])} right.`);
    const [mark, separator] = ["<MARK>", "<SEP>"];
    shade(marked.words, [markFirst ? mark : separator, ...front, markFirst ? separator : mark, ...read], weights,
      { 0: "first", [front.length + 1]: "second, yours" });
  }

  // -- the chart: verdict and attention for every number of words in front

  const EDGE = 8, PANEL = 104, GAP = 40, POINTS = 40;
  const MEASURES = ["positive", "share"];                    // one panel each
  let x = null;                                              // number of words -> where in the chart
  const y = (panel, value) => 22 + panel * (PANEL + GAP) + (1 - value) * PANEL;

  let sweeps = 0;

  async function sweep() {                                   // a point at a time: a reader may be typing
    const ticket = ++sweeps, points = [];
    const counts = new Set(Array.from({ length: POINTS + 1 }, (_, i) => Math.round(mostInFront * i / POINTS)));
    for (const count of counts) {
      await new Promise((resolve) => setTimeout(resolve));
      if (ticket !== sweeps) return;                         // the texts have changed meanwhile
      points.push({ count, models: SIDE_BY_SIDE.map(([name]) => answer(name, count)) });
    }
    curve = points;
    drawChart();
    showTables();
  }

  function drawChart() {
    const width = Math.max(200, at("plot").clientWidth), narrow = width < 500;
    const gutter = narrow ? EDGE : 68, right = width - (narrow ? 58 : 122); // where the curves begin and end
    x = (count) => gutter + (right - gutter) * (mostInFront ? count / mostInFront : 0);
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
    showPlace();
  }

  // The line below the slider's thumb, and where it cuts the curves.
  function showPlace() {
    const here = x(Number(slide.value));
    svg.querySelector(".now").setAttribute("d", `M${here} ${y(0, 1)}V${y(1, 0) + 8}`);
    svg.querySelectorAll("circle").forEach((dot, i) => {
      const card = cards[Math.floor(i / 2)], panel = i % 2;
      dot.setAttribute("cx", here);
      dot.setAttribute("cy", y(panel, card.answer[MEASURES[panel]]));
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
    if (!at("numbers").open || obstacle(words)) return;
    const tables = at("numbers").querySelectorAll("table");
    const front = inFront(), names = SIDE_BY_SIDE.map(([, title]) => title);
    const row = (text, t) => [t < front.length ? "before" : "yours", shown(text),
      ...cards.map((card) => `${(100 * card.answer.weights[t]).toFixed(2)}%`)];
    fill(tables[0], ["Review", "Word", ...names], [...front, ...wordsRead()].map(row));
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
    slide.setAttribute("aria-valuetext", count === 0 ? "no word before" : `${count} of ${mostInFront} words before`);
  }

  function show() {
    showFront();
    if (!file) return;
    const problem = obstacle(words);
    at("note").textContent = problem || remarks(words);
    at("note").classList.toggle("problem", problem !== "");
    for (const name of ["try", "try-marked"]) document.getElementById(name).classList.toggle("mute", problem !== "");
    if (problem) return say(problem);
    showCards();
    showMarked();
    if (curve.length) showPlace();
    showTables();
    keep();
    if (markMoved) return say(`${marked.verdict.textContent}. ${marked.share.textContent}`);
    say(SIDE_BY_SIDE.map(([, title], i) => {
      const behind = slide.value === "0" ? "" : `, ${percent(cards[i].answer.share)} of its attention on your review`;
      return `${title}: ${verdict(cards[i].answer.positive).join(", ")}${behind}.`;
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
    later = setTimeout(() => { if (file && !obstacle(words)) sweep(); }, 90);
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
  // Point at a word, and see what each model gives it.
  at("cards").addEventListener("pointerover", ({ target }) => {
    for (const hot of at("cards").querySelectorAll(".hot")) hot.classList.remove("hot");
    if (target.dataset.t === undefined) return;
    for (const card of cards) {
      const word = card.words.querySelector(`[data-t="${target.dataset.t}"]`);
      word.classList.add("hot");
      word.dataset.share = `${(100 * card.answer.weights[target.dataset.t]).toFixed(1)}%`;
    }
  });
  new ResizeObserver(() => { if (curve.length) drawChart(); }).observe(at("plot"));

  // -- loading, when asked to

  at("load").addEventListener("click", async () => {
    const button = at("load"), told = at("load-told");
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    told.textContent = "Loading \u2026";
    try {
      file = read(await modelFile(".", globalThis.tryTheModelFiles).download());
    } catch (error) {
      button.removeAttribute("aria-disabled");
      told.textContent = `The models did not arrive. ${error.message} Press the button to try again.`;
      return;
    }
    const focused = document.activeElement === button;
    for (const element of document.querySelectorAll(".try")) element.classList.add("loaded");
    const record = (name, where) => {
      const [alone, together] = file.right[name];
      return `Of the test reviews it gets ${percent(alone)} right alone and ${percent(together)} ${where}.`;
    };
    for (const card of cards) card.record.textContent = record(card.name, "after another one");
    marked.record = record("marker query", "in such pairs");
    changed();
    show();
    if (focused) slide.focus({ preventScroll: true });
  });

  // The address holds texts, slider and mark, so that they can be shared. The part after the # is never sent to a server.
  const fronts = Array.from(at("front").querySelectorAll("input")), marks = Array.from(at("mark").querySelectorAll("input"));

  function keep() {
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

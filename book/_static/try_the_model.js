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
  const form = document.getElementById("try"), { own, text, words: slide, mark } = form.elements;
  const cards = Array.from(at("cards").children), names = cards.map((card) => card.dataset.name);
  const titles = cards.map((card) => card.querySelector("h3").textContent.trim());
  const marked = at("marked-card");
  const strong = (text) => make("strong", {}, text);

  let file = null, words = [], frontWords = [], answers = [], curve = [];
  const wordsRead = () => words.slice(0, MOST_WORDS);
  const inFront = () => frontWords.slice(0, Number(slide.value));

  // With so many words before the review: a model's prediction, its attention weights, and the review's fraction of them.
  function answer(name, count) {
    const { positive, weights } = judge(file, name, frontWords.slice(0, count), wordsRead());
    return { positive, weights, share: sumFrom(weights, count) };
  }

  // What keeps the models from an answer, as a sentence; the empty text when nothing does.
  function obstacle() {
    if (!words.length) return "There is no word in this text. Type a few words made of the letters a to z.";
    if (wordsRead().every((word) => !file.ids.has(word))) {
      return "The models know none of these words, so they have nothing to go by. Try everyday English words.";
    }
    return "";
  }

  // Which of the measured lengths of short pieces a text has; -1 for a text as long as a review.
  const shortAs = (words) => file.lengths.findIndex(([, most]) => words.length <= most);

  function remarks() {
    const cut = words.length > MOST_WORDS ? `Read: the first ${MOST_WORDS} of ` : "";
    const notes = [`${cut}${many(words.length, "word")}.`];
    const unknown = wordsRead().filter((word) => !file.ids.has(word));
    const named = [...new Set(unknown)].slice(0, 3).map(shown);
    const known = wordsRead().length - unknown.length;
    if (unknown.length) notes.push(`${unknown.length} unknown to the models (${named.join(", ")}): the prediction rests on the other ${known}.`);
    const short = shortAs(words);
    if (short >= 0) {
      const [least, most] = file.lengths[short], right = names.map((name) => file.pieces[name][short]);
      notes.push(`The training reviews have ${file.lengths.at(-1)[1] + 1} words or more. Of random parts of ` +
        `${least} to ${most} words they get ${percent(Math.min(...right))} to ${percent(Math.max(...right))} right, whereas guessing ` +
        "gets 50%. After another review they have never met one so short.");
    } else if (words.length < RARELY_SHORT) {
      notes.push("Few training reviews are so short. After a long one the models miss many positive texts of this length.");
    }
    return notes.join(" ");
  }

  // -- cards: a verdict, and words shaded by their attention weight times the number of words

  // texts: the words, and the models' own marks, which begin with "<". parts: position -> name of what begins there.
  function showCard(card, { positive, weights }, share, texts, parts) {
    const part = (name) => card.querySelector(name), [side, sure] = verdict(positive);
    part(".verdict").replaceChildren(strong(side), `, ${sure}`);
    part(".meter i").style.left = `${100 * positive}%`;
    part(".bar-of i").style.width = `${100 * share}%`;
    const kind = (text) => (text.startsWith("<") ? "w special" : file.ids.has(text) ? "w" : "w unknown");
    part(".words").replaceChildren(...texts.flatMap((text, t) => [
      ...(t && parts[t] ? [make("br")] : []), ...(parts[t] ? [make("small", {}, parts[t]), " "] : []),
      make("span", { "data-t": t, class: kind(text), style: `--s: ${Math.round(weights[t] * weights.length)}` }, shown(text)), " ",
    ]));
  }

  function strongest(texts, weights) {
    const order = Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a]).slice(0, 4);
    return order.map((t) => `${shown(texts[t])} ${percent(weights[t])}`).join(", ");
  }

  function showCards() {
    const before = inFront(), read = wordsRead(), texts = [...before, ...read], fair = read.length / texts.length;
    answers = names.map((name) => answer(name, before.length));
    cards.forEach((card, i) => {
      const { positive, weights, share } = answers[i], [side, sure] = verdict(positive);
      showCard(card, answers[i], share, texts, before.length ? { 0: "before yours", [before.length]: "your review" } : {});
      card.querySelector(".share").replaceChildren(...(before.length
        ? [strong(percent(share)), ` of its attention is on your review, which has ${percent(fair)} of the words.`]
        : ["No text comes before: all of its attention is on your review."]));
      card.querySelector(".bar-of b").style.right = `${100 * fair}%`;
      card.querySelector(".most").textContent = names[i] === "mean pooling"
        ? `Attends to all ${many(weights.length, "word")} equally: ${(100 / weights.length).toFixed(1)}% each.`
        : `Attends most to: ${strongest(texts, weights)}.`;
      form.querySelectorAll(".short")[i].replaceChildren(side, make("br"), sure.replace("more than ", "> ").replace(" sure", ""));
    });
  }

  // -- marker query

  function showMarked() {
    const markFirst = mark.value === "0", read = wordsRead(), [first, second] = markFirst ? ["<MARK>", "<SEP>"] : ["<SEP>", "<MARK>"];
    const found = judgeMarked(file, frontWords, read, markFirst), share = sumFrom(found.weights, frontWords.length + 1);
    showCard(marked, found, share, [first, ...frontWords, second, ...read], { 0: "first", [frontWords.length + 1]: "second, yours" });
    marked.querySelector(".share").replaceChildren(strong(percent(1 - share)), " of its attention is on the first review, ",
      strong(percent(share)), " on the second, yours. Asked about: ", strong(markFirst ? "the first" : "yours"), ".");
    const short = shortAs(markFirst ? frontWords : read);
    at("mark-short").textContent = short < 0 ? "" : ` Of parts as short as the marked text, in a pair with a whole review, it gets ${percent(file.pieces["marker query"][short])} right.`;
  }

  // -- the chart: verdict and attention for every number of words in front, each in a square of 100 by 100

  const POINTS = 40;
  const panels = Array.from(at("chart").children);
  const x = (count) => 100 * count / (frontWords.length || 1), y = (value) => 100 - 100 * value;
  let sweeps = 0;

  async function sweep() {                                   // a point at a time: a reader may be typing
    const ticket = ++sweeps, points = [], most = frontWords.length;
    if (!file || obstacle()) return;
    for (const count of new Set(Array.from({ length: POINTS + 1 }, (_, i) => Math.round(most * i / POINTS)))) {
      await new Promise((resolve) => setTimeout(resolve));
      if (ticket !== sweeps) return;                         // the texts have changed meanwhile
      points.push({ count, models: names.map((name) => answer(name, count)) });
    }
    curve = points;
    for (const panel of panels) {
      const { measure } = panel.dataset;
      panel.querySelectorAll("polyline").forEach((line, which) => {
        line.setAttribute("points", curve.map(({ count, models }) => `${x(count)},${y(models[which][measure])}`).join(" "));
      });
      // Each line's name at its end, names pushed apart until none covers another.
      const ends = Array.from(panel.querySelectorAll(".end"), (name, which) => ({ name, top: y(curve.at(-1).models[which][measure]) }));
      ends.sort((a, b) => a.top - b.top).forEach((end, i) => { if (i) end.top = Math.max(end.top, ends[i - 1].top + 15); });
      const over = Math.max(0, ends.at(-1).top - 98);
      for (const { name, top } of ends) name.style.top = `${top - over}%`;
    }
    showPlace();
    showTables();
  }

  // The line below the slider's thumb, and where it cuts the curves.
  function showPlace() {
    at("chart").style.setProperty("--here", `${x(Number(slide.value))}%`);
    for (const panel of panels) {
      panel.querySelectorAll("i").forEach((dot, which) => { dot.style.top = `${y(answers[which][panel.dataset.measure])}%`; });
    }
  }

  // -- tables: every number on the page, for readers who want numbers or hear them

  function fill(table, rows) {
    const cell = (text, i) => (i === 1 ? make("th", { scope: "row" }, text) : make("td", {}, text));
    table.tBodies[0].replaceChildren(...rows.map((row) => make("tr", {}, ...row.map(cell))));
  }

  function showTables() {
    if (!at("numbers").open || !answers.length) return;
    const [weights, charts] = at("numbers").querySelectorAll("table"), before = inFront();
    fill(weights, [...before, ...wordsRead()].map((word, t) => [t < before.length ? "before" : "yours", shown(word),
      ...answers.map((each) => `${(100 * each.weights[t]).toFixed(2)}%`)]));
    const every = curve.filter(({ count }, i) => i % 4 === 0 || count === frontWords.length);
    fill(charts, [["positive", "how positive"], ["share", "attention on your review"]].flatMap(([measure, label]) =>
      every.map(({ count, models }) => [label, String(count), ...models.map((one) => percent(one[measure]))])));
  }

  // -- when anything changes

  const say = announcer(at("said"));
  const chosenText = () => at("front").querySelector(":checked").dataset.text; // none where the reader types one

  function showFront() {
    const count = Number(slide.value), ours = chosenText();
    text.hidden = ours !== undefined;
    at("front-text").hidden = !text.hidden;
    if (ours) {                                              // our texts hold no tags: a word is a run of letters
      const last = [...ours.matchAll(/[a-z]+/gi)][count - 1], end = last ? last.index + last[0].length : 0;
      at("front-text").replaceChildren(make("span", { class: "taken" }, ours.slice(0, end)), ours.slice(end));
    }
    const part = `${count} of ${many(frontWords.length, "word")}`;
    at("count").textContent = count === 0 ? "none" : part;
    slide.setAttribute("aria-valuetext", count === 0 ? "no word before" : `${part} before`);
  }

  function show(markMoved = false) {                         // what was moved last is what is spoken of
    showFront();
    if (!file) return;
    const problem = obstacle();
    at("note").textContent = problem || remarks();
    at("note").classList.toggle("problem", problem !== "");
    for (const part of document.querySelectorAll(".try")) part.classList.toggle("mute", problem !== "");
    if (problem) return say(problem);
    showCards();
    showMarked();
    showPlace();
    showTables();
    keep();
    if (markMoved) return say(`${marked.querySelector(".verdict").textContent}. ${marked.querySelector(".share").textContent}`);
    say(answers.map(({ positive, share }, i) => {
      const behind = slide.value === "0" ? "" : `, ${percent(share)} of its attention on your review`;
      return `${titles[i]}: ${verdict(positive).join(", ")}${behind}.`;
    }).join(" "));
  }

  function changed() {                                       // one of the two texts
    words = tokenize(own.value);
    frontWords = tokenize(chosenText() ?? text.value).slice(0, MOST_WORDS);
    slide.max = frontWords.length;
    show();
    sweep();
  }

  form.addEventListener("input", ({ target }) => (target === slide ? show() : changed()));
  form.addEventListener("submit", (event) => event.preventDefault());
  at("mark").addEventListener("change", () => show(true));
  at("numbers").addEventListener("toggle", showTables);
  at("examples").addEventListener("click", ({ target }) => {
    if (target.dataset.text === undefined) return;
    own.value = target.dataset.text;
    changed();
  });
  // Point at a word, and see what each model gives it.
  at("cards").addEventListener("pointerover", ({ target }) => {
    for (const hot of at("cards").querySelectorAll(".hot")) hot.classList.remove("hot");
    const { t } = target.dataset;
    if (t === undefined) return;
    at("cards").querySelectorAll(`[data-t="${t}"]`).forEach((word, i) => {
      word.classList.add("hot");
      word.dataset.share = `${(100 * answers[i].weights[t]).toFixed(1)}%`;
    });
  });

  // -- loading, when asked to

  function tell(sentence) {
    at("load-told").textContent = sentence;
    say(sentence);
  }
  loadsWith(at("load"), "models", modelFile(".", globalThis.tryTheModelFiles), tell, async (download) => {
    file = read(await download());
    const focused = document.activeElement === at("load");
    for (const element of document.querySelectorAll(".try")) element.classList.add("loaded");
    for (const [card, where] of [...cards.map((card) => [card, "after another one"]), [marked, "in such pairs"]]) {
      const [alone, together] = file.right[card.dataset.name];
      card.querySelector(".record").prepend(`Of the test reviews it gets ${percent(alone)} right alone and ${percent(together)} ${where}.`);
    }
    changed();
    if (focused) slide.focus({ preventScroll: true });
    // On a phone the two texts fill the screen: what has come is brought into sight.
    if (slide.getBoundingClientRect().bottom > innerHeight - 100) slide.scrollIntoView({ block: "center" });
  });

  // The address holds all that was chosen, so that it can be shared. The part after the # is never sent to a server.
  function keep() {
    const state = new FormData(form);
    for (const [name, value] of [...state]) state.set(name, value.slice(0, 2000));
    try { history.replaceState(null, "", `#${new URLSearchParams(state)}`); } catch { /* some browsers limit how often */ }
  }

  function readAddress() {
    const address = new URLSearchParams(location.hash.slice(1));
    if (!address.has("own")) return;                         // nothing, or the address of a heading
    const restore = () => {
      for (const [name, value] of address) Object.assign(form.elements.namedItem(name) ?? {}, { value });
    };
    restore();
    changed();
    restore();                                               // now the slider goes as far as the text before has words
    show();
  }
  own.value ||= at("examples").querySelector("button").dataset.text; // unless the browser restored an earlier text
  changed();
  readAddress();
  addEventListener("hashchange", readAddress);
})();

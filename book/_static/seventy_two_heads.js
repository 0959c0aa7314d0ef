// The page "Your sentence, seventy-two heads": shows what seventy_two_heads_model.js finds. What a reader types goes in
// as text nodes and stays in this browser.
(() => {
  "use strict";

  const { root, at, say, note, ask, showAddress, reveal, start } =
    modelPage("heads", "pretrained_model", "pretrained model", globalThis.pretrainedModel);
  const model = headsModel(attentionLayer());
  const { LAYERS, HEADS, MOST_TOKENS } = model;

  // ---- state --------------------------------------------------------------------------------------------------------

  let tokenIds = null;                                       // once the model is loaded
  let sentence = null;                                       // { text, words, patterns: one Float32Array a layer }
  // The word that is followed, in column 0 as the query and in column 1 as the key. At first, "it" is the query.
  let head = [3, 1], pinned = { column: 0, row: 9 }, hovered = null;

  const named = new Map(Array.from(at("found").children, (button) => [button.dataset.head, button]));
  const nameOf = (layer, number) => named.get(`${layer}.${number}`)?.textContent;
  const titleOf = (...place) => `Layer ${place[0]}, head ${place[1]}${nameOf(...place) ? `: ${nameOf(...place)}` : ""}`;

  function patternOf([layer, number]) {                      // (words, words)
    const size = sentence.words.length ** 2;
    return sentence.patterns[layer].subarray(number * size, (number + 1) * size);
  }

  const writeAddress = () => showAddress({ sentence: sentence.text, head: head.join("."),
    ...(pinned && { [pinned.column ? "to" : "from"]: pinned.row }) });

  function readAddress() {
    const parts = new URLSearchParams(location.hash.slice(1)), asked = (parts.get("head") ?? "").split(".").map(Number);
    if (!parts.has("sentence") && !parts.has("head")) return false; // nothing, or the address of a heading
    if (parts.has("sentence")) at("text").value = parts.get("sentence");
    if (buttons[asked[0]]?.[asked[1]]) head = asked;
    const column = ["from", "to"].findIndex((name) => /^\d+$/.test(parts.get(name) ?? ""));
    pinned = column < 0 ? null : { column, row: Number(parts.get(["from", "to"][column])) };
    return true;
  }

  // ---- drawing ------------------------------------------------------------------------------------------------------

  const ink = () => getComputedStyle(at("maps")).color.match(/[\d.]+/g).map(Number);

  function draw(canvas, pattern, [red, green, blue]) {       // one dot for each weight; its root shows small ones, too
    const size = Math.sqrt(pattern.length), picture = new ImageData(size, size);
    pattern.forEach((weight, n) => picture.data.set([red, green, blue, 255 * Math.sqrt(weight)], 4 * n));
    canvas.width = canvas.height = size;
    canvas.getContext("2d").putImageData(picture, 0, 0);
  }

  // Arrow keys go from button to button, and choose it; Tab reaches one of them, and leaves.
  function arrows(box) {
    box.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!move || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      if (getComputedStyle(box).getPropertyValue("--turned") === "1") move.reverse();
      const [row, column] = ["row", "column"].map((name, n) => Number(event.target.dataset[name]) + move[n]);
      const next = box.querySelector(`[data-row="${row}"][data-column="${column}"]`);
      next?.focus();
      next?.click();
    });
  }

  const buttons = Array.from({ length: LAYERS }, (_, layer) => Array.from({ length: HEADS }, (_, number) => {
    const button = make("button", { type: "button", "aria-label": titleOf(layer, number), "data-row": layer,
      "data-column": number, style: `--l: ${layer}; --h: ${number}` }, make("canvas", { "aria-hidden": "true" }));
    button.classList.toggle("named", named.has(`${layer}.${number}`));
    button.addEventListener("click", () => chooseHead(layer, number));
    return button;
  }));
  const label = (text, place) => make("span", { "aria-hidden": "true", class: "label", style: place }, text);
  at("maps").append(...buttons[0].map((_, number) => label(number, `--l: -1; --h: ${number}`)),
    ...buttons.flatMap((row, layer) => [label(layer, `--l: ${layer}; --h: -1`), ...row]));
  arrows(at("maps"));

  function drawAll() {
    const color = ink(), drawIn = (canvas, head) => draw(canvas, patternOf(head), color);
    at("maps").classList.toggle("fine", sentence.words.length > 24);
    buttons.forEach((row, layer) => row.forEach((button, number) => drawIn(button.firstChild, [layer, number])));
    showHead();
  }

  // -- one head: every word twice, on the left as the query, on the right as the key

  const FAINTEST = 1 / 16;                                   // weight that has a line
  let lists = [[], []];                                      // the buttons left and right

  function showWords() {
    lists = [0, 1].map((column) => sentence.words.map((word, row) =>
      make("button", { type: "button", "data-row": row, "data-column": column }, make("bdi", {}, shown(word)))));
    lists.forEach((list, column) => at(column ? "to" : "from").replaceChildren(...list));
    at("lines").setAttribute("viewBox", `0 0 100 ${sentence.words.length}`);
  }

  function showHead() {
    const chosen = buttons[head[0]][head[1]];
    for (const button of buttons.flat()) {
      button.tabIndex = button === chosen ? 0 : -1;
      button.ariaPressed = button === chosen;
    }
    for (const [key, button] of named) button.ariaPressed = key === head.join(".");
    at("title").textContent = titleOf(...head);
    draw(at("large"), patternOf(head), ink());
    showFollowed();
    showTable();
  }

  function showFollowed() {
    const pattern = patternOf(head), n = sentence.words.length, asked = hovered ?? pinned;
    const word = asked?.row < n ? asked : null, weights = word && weightsOf(pattern, word);
    const lines = [];
    pattern.forEach((weight, k) => {
      const ends = [Math.floor(k / n), k % n];
      if (weight < FAINTEST || (word && ends[word.column] !== word.row)) return;
      const look = { "stroke-width": 1 + 6 * weight, "stroke-opacity": 0.3 + 0.7 * weight };
      lines.push(make("svg:path", { d: `M0 ${ends[0] + 0.5}L100 ${ends[1] + 0.5}`, ...look }));
    });
    at("lines").replaceChildren(...lines);
    lists.forEach((list, column) => list.forEach((button, row) => {
      const own = word?.row === row && word.column === column;
      const across = word && word.column !== column;         // these words get, or give, what the followed one tells
      button.ariaPressed = own;
      button.tabIndex = own || (!word && column === 0 && row === 0) ? 0 : -1;
      button.style.setProperty("--share", across ? weights[row] : 0);
      button.dataset.share = across ? weights[row].toFixed(2) : "";
    }));
    at("cross").hidden = !word;
    if (word) {
      const [before, after] = [word.row, n - 1 - word.row].map((words) => `${100 * words / n}%`);
      at("cross").style.inset = word.column ? `0 ${after} 0 ${before}` : `${before} 0 ${after} 0`;
    }
    at("told").replaceChildren(...tell(word, weights));
    if (hovered === null) say(`${titleOf(...head)}. ${at("told").textContent}`);
  }

  const quoted = (word) => ["\u201c", make("bdi", {}, shown(sentence.words[word])), "\u201d"];
  const strongest = (weights) => Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a]);

  // What a query gives each key, or each query a key.
  function weightsOf(pattern, { column, row }) {
    const n = sentence.words.length;
    return pattern.filter((_, k) => (column ? k % n : Math.floor(k / n)) === row);
  }

  function tell(word, weights) {
    if (!word) return ["Follow a word: point at it, tap it, or go to it by Tab and the arrow keys."];
    const [first, second, third] = strongest(weights).filter((each) => weights[each] >= 0.005);
    const share = (each, before) =>
      (each === undefined ? [] : [before, ...quoted(each), ` ${weights[each].toFixed(2)}`]);
    if (first === undefined) return ["No word attends to ", ...quoted(word.row), " here."];
    const most = word.column ? [...share(first, "Most of all "), " attends to ", ...quoted(word.row)]
      : [...quoted(word.row), ...share(first, " attends most to ")];
    return [...most, ...share(second, ", then "), ...share(third, ", then "), "."];
  }

  function showTable() {
    if (!at("numbers").open) return;
    const pattern = patternOf(head), n = sentence.words.length;
    at("rows").replaceChildren(...sentence.words.map((word, row) => {
      const [given, got] = [0, 1].map((column) => weightsOf(pattern, { column, row }));
      const most = strongest(given).slice(0, 2).flatMap((j) => [shown(sentence.words[j]), given[j].toFixed(2)]);
      const cells = [...most, (got.reduce((sum, weight) => sum + weight) / n).toFixed(2)];
      return make("tr", {}, make("th", { scope: "row" }, shown(word)), ...cells.map((text) => make("td", {}, text)));
    }));
  }

  // ---- what a reader does -------------------------------------------------------------------------------------------

  function chooseHead(...chosen) {
    head = chosen;
    showHead();
    writeAddress();
  }

  function pin(word) {                                       // the same word again lets it go
    pinned = word?.row === pinned?.row && word?.column === pinned?.column ? null : word;
    hovered = null;
    showHead();
    writeAddress();
  }

  function hover(word) {
    hovered = word;
    showFollowed();
  }

  const wordAt = (target) => {
    const { row, column } = target.closest("[data-row]")?.dataset ?? {};
    return row ? { column: Number(column), row: Number(row) } : null;
  };
  const pair = at("pair");
  pair.addEventListener("click", ({ target }) => { if (wordAt(target)) pin(wordAt(target)); });
  pair.addEventListener("pointerover", (event) => { if (event.pointerType === "mouse") hover(wordAt(event.target)); });
  pair.addEventListener("pointerleave", () => hover(null));
  pair.addEventListener("keydown", ({ key }) => { if (key === "Escape") pin(null); });
  arrows(pair);

  at("numbers").addEventListener("toggle", showTable);
  for (const [key, button] of named) button.addEventListener("click", () => chooseHead(...key.split(".").map(Number)));
  // Theme and forced colors: the patterns take the color of their text.
  const redraw = () => { if (sentence) drawAll(); };
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(forced-colors: active)").addEventListener("change", redraw);

  // ---- a sentence goes through --------------------------------------------------------------------------------------

  function problemOf({ words, ids }) {
    if (words.length === 2) return "There is no word in this text. Type a sentence.";
    if (ids.length <= MOST_TOKENS) return "";
    return `The text has ${ids.length} tokens with [CLS] and [SEP]; this page shows at most ${MOST_TOKENS}. ` +
      "Type a shorter one.";
  }

  function remarks({ words, ids, tokens, starts, unknown }) {
    const notes = [`${many(words.length - 2, "word")}, ${many(ids.length, "token")} with [CLS] and [SEP].`];
    const split = words.findIndex((_, word) => starts[word + 1] - starts[word] > 1);
    if (split >= 0) {
      const read = tokens.slice(starts[split], starts[split + 1]).slice(0, 8).join(" ");
      notes.push(`The model reads \u201c${shown(words[split])}\u201d as ${read}.`);
    }
    const strange = [...new Set(unknown)].slice(0, 3).map(shown).join(" ");
    if (strange) notes.push(`Unknown to the model: ${strange}. It reads [UNK] there.`);
    return notes.join(" ");
  }

  const changed = oneAtATime(async () => {
    if (!tokenIds) return;
    const text = at("text").value, tokenized = model.tokenize(text, tokenIds), problem = problemOf(tokenized);
    note(problem || remarks(tokenized), problem !== "");
    if (problem) return;
    const patterns = await ask(tokenized);
    sentence = { text, words: tokenized.words, patterns };
    hovered = null;
    showWords();
    drawAll();
    writeAddress();
    reveal(buttons[head[0]][head[1]]);                       // not the text: a phone would open its keyboard
    root.dataset.viewed = text;                              // for those who wait for it
  });

  start({ model: headsModel, loaded: (data) => { tokenIds = model.idsOf(data); }, changed, readAddress });
})();

// The page "Your sentence, seventy-two heads": loads the pretrained model when asked to, and shows what
// seventy_two_heads_model.js finds. What a reader types goes in as text nodes and stays in this browser.
(() => {
  "use strict";

  const root = document.getElementById("heads"), about = globalThis.pretrainedModel;
  const at = (name) => document.getElementById(`heads-${name}`);
  const model = headsModel(attentionLayer());
  const { LAYERS, HEADS, MOST_TOKENS } = model;
  const { megabytes, address, kept, whole, bytesKept, deleteOld, deleteAll } =
    modelFiles("pretrained_model", "pretrained model", about);

  const FILE = "model.safetensors";

  // ---- state --------------------------------------------------------------------------------------------------------

  let tokenIds = null, worker = null;                        // once the model is loaded
  let asked = null, ticket = 0;                              // { text, words } for which the worker computes patterns
  let sentence = null;                                       // { text, words, patterns: one Float32Array a layer }
  // The word that is followed: its index, and whether it is the query or the key. At first, "it" is the query.
  let head = [3, 1], pinned = { isQuery: true, word: 9 }, hovered = null;

  const named = new Map(Array.from(at("found").children, (button) => [button.dataset.head, button]));
  const nameOf = (layer, number) => named.get(`${layer}.${number}`)?.textContent;
  const titleOf = (...place) => `Layer ${place[0]}, head ${place[1]}${nameOf(...place) ? `: ${nameOf(...place)}` : ""}`;

  function followed() {
    const word = hovered ?? pinned;
    return word && word.word < sentence.words.length ? word : null;
  }

  function patternOf([layer, number]) {                      // (words, words)
    const size = sentence.words.length ** 2;
    return sentence.patterns[layer].subarray(number * size, (number + 1) * size);
  }

  // The address holds it all behind "#", which no browser sends to a server.
  function showAddress() {
    const parts = new URLSearchParams({ sentence: sentence.text, head: head.join(".") });
    if (pinned) parts.set(pinned.isQuery ? "from" : "to", pinned.word);
    try { history.replaceState(null, "", `#${parts}`); } catch { /* too often, or an address that is too long */ }
  }

  function readAddress() {
    const parts = new URLSearchParams(location.hash.slice(1)), asked = (parts.get("head") ?? "").split(".").map(Number);
    if (!parts.has("sentence") && !parts.has("head")) return false; // nothing, or the address of a heading
    if (parts.has("sentence")) at("text").value = parts.get("sentence");
    if (buttons[asked[0]]?.[asked[1]]) head = asked;
    const name = ["from", "to"].find((each) => /^\d+$/.test(parts.get(each) ?? ""));
    pinned = name ? { isQuery: name === "from", word: Number(parts.get(name)) } : null;
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

  // Arrow keys go from button to button; Tab reaches one of them, and leaves.
  function arrows(box, buttonAt, choose, isTurned = () => false) {
    box.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      const { row, column } = event.target.dataset;
      if (!move || row === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      if (isTurned()) move.reverse();
      const next = buttonAt(Number(row) + move[0], Number(column) + move[1]);
      if (next) { choose(next); next.focus(); }
    });
  }

  const buttons = Array.from({ length: LAYERS }, (_, layer) => Array.from({ length: HEADS }, (_, number) => {
    const button = make("button", { type: "button", "aria-label": titleOf(layer, number), "data-row": layer,
      "data-column": number, style: `--l: ${layer}; --h: ${number}` }, make("canvas", { "aria-hidden": "true" }));
    if (nameOf(layer, number)) button.classList.add("named");
    return button;
  }));
  const label = (text, place) => make("span", { "aria-hidden": "true", class: "label", style: place }, text);
  at("maps").append(...Array.from({ length: HEADS }, (_, number) => label(number, `--l: -1; --h: ${number}`)),
    ...buttons.flatMap((row, layer) => [label(layer, `--l: ${layer}; --h: -1`), ...row]));
  at("maps").addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button) chooseHead(Number(button.dataset.row), Number(button.dataset.column));
  });
  arrows(at("maps"), (layer, number) => buttons[layer]?.[number],
    ({ dataset }) => chooseHead(Number(dataset.row), Number(dataset.column)),
    () => getComputedStyle(at("maps")).getPropertyValue("--turned") === "1");

  function drawAll() {
    const colour = ink();
    at("maps").classList.toggle("fine", sentence.words.length > 24);
    buttons.forEach((row, layer) => row.forEach((button, number) => draw(button.firstChild, patternOf([layer, number]), colour)));
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
    const pattern = patternOf(head), n = sentence.words.length, word = followed(), weights = word && weightsOf(pattern, word);
    const counts = (i, j) => !word || (word.isQuery ? i : j) === word.word;
    const lines = [];
    pattern.forEach((weight, k) => {
      const i = Math.floor(k / n), j = k % n;
      if (weight < FAINTEST || !counts(i, j)) return;
      const look = { "stroke-width": 1 + 6 * weight, "stroke-opacity": 0.3 + 0.7 * weight };
      lines.push(make("svg:path", { d: `M0 ${i + 0.5}L100 ${j + 0.5}`, ...look }));
    });
    at("lines").replaceChildren(...lines);
    lists.forEach((list, column) => list.forEach((button, row) => {
      const own = word && word.word === row && word.isQuery === (column === 0);
      const across = word && word.isQuery === (column === 1);  // these words get, or give, what the followed one tells
      button.ariaPressed = Boolean(own);
      button.tabIndex = own || (!word && column === 0 && row === 0) ? 0 : -1;
      button.style.setProperty("--share", across ? weights[row] : 0);
      button.dataset.share = across ? weights[row].toFixed(2) : "";
    }));
    const cross = at("cross");
    cross.hidden = !word;
    if (word) {
      cross.className = word.isQuery ? "row" : "column";
      cross.style.setProperty("--place", `${100 * word.word / n}%`);
      cross.style.setProperty("--size", `${100 / n}%`);
    }
    at("told").replaceChildren(...tell(word, weights));
    if (hovered === null) say(`${titleOf(...head)}. ${at("told").textContent}`);
  }

  const quoted = (word) => ["\u201c", make("bdi", {}, shown(sentence.words[word])), "\u201d"];
  const strongest = (weights) => Array.from(weights.keys()).sort((a, b) => weights[b] - weights[a]);

  // What a query gives each key, or each query a key.
  function weightsOf(pattern, { isQuery, word }) {
    const n = sentence.words.length;
    return pattern.filter((_, k) => (isQuery ? Math.floor(k / n) : k % n) === word);
  }

  function tell(word, weights) {
    if (!word) return ["Follow a word: point at it, tap it, or go to it by Tab and the arrow keys."];
    const [first, second, third] = strongest(weights).filter((each) => weights[each] >= 0.005);
    const share = (each, before) =>
      (each === undefined ? [] : [before, ...quoted(each), ` ${weights[each].toFixed(2)}`]);
    if (first === undefined) return ["No word attends to ", ...quoted(word.word), " here."];
    const most = word.isQuery ? [...quoted(word.word), ...share(first, " attends most to ")]
      : [...share(first, "Most of all "), " attends to ", ...quoted(word.word)];
    return [...most, ...share(second, ", then "), ...share(third, ", then "), "."];
  }

  function showTable() {
    if (!at("numbers").open) return;
    const pattern = patternOf(head), n = sentence.words.length;
    at("rows").replaceChildren(...sentence.words.map((word, i) => {
      const [row, column] = [true, false].map((isQuery) => weightsOf(pattern, { isQuery, word: i }));
      const most = strongest(row).slice(0, 2).flatMap((j) => [shown(sentence.words[j]), row[j].toFixed(2)]);
      const received = column.reduce((sum, weight) => sum + weight / n, 0).toFixed(2);
      const cells = [...most, received].map((text) => make("td", {}, text));
      return make("tr", {}, make("th", { scope: "row" }, shown(word)), ...cells);
    }));
  }

  const say = announcer(at("said"));

  // ---- what a reader does -------------------------------------------------------------------------------------------

  function chooseHead(...chosen) {
    head = chosen;
    showHead();
    showAddress();
  }

  function pin(word) {                                       // the same word again lets it go
    const again = word && pinned?.isQuery === word.isQuery && pinned.word === word.word;
    pinned = again ? null : word;
    hovered = null;
    showHead();
    showAddress();
  }

  function hover(word) {
    hovered = word;
    showFollowed();
  }

  const wordAt = (target) => {
    const button = target.closest("button[data-row]");
    return button && { isQuery: button.dataset.column === "0", word: Number(button.dataset.row) };
  };
  const pair = at("pair");
  pair.addEventListener("click", ({ target }) => { const word = wordAt(target); if (word) pin(word); });
  pair.addEventListener("pointerover", (event) => { if (event.pointerType === "mouse") hover(wordAt(event.target)); });
  pair.addEventListener("pointerleave", () => hover(null));
  pair.addEventListener("keydown", ({ key }) => { if (key === "Escape" && pinned) pin(null); });
  arrows(pair, (row, column) => lists[column]?.[row], (button) => { pinned = null; pin(wordAt(button)); });

  at("numbers").addEventListener("toggle", showTable);
  for (const button of named.values()) {
    button.addEventListener("click", () => chooseHead(...button.dataset.head.split(".").map(Number)));
  }
  at("examples").addEventListener("click", ({ target }) => {
    if (target.dataset.text === undefined) return;
    at("text").value = target.dataset.text;
    run();
  });
  let later = 0;
  at("text").addEventListener("input", () => { clearTimeout(later); later = setTimeout(run, 250); });
  addEventListener("hashchange", () => { if (readAddress()) run(); });
  // Theme and forced colours: the patterns take the colour of their text.
  const redraw = () => { if (sentence) { drawAll(); showHead(); } };
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(forced-colors: active)").addEventListener("change", redraw);

  // ---- a sentence goes through --------------------------------------------------------------------------------------

  function problemOf({ words, ids }) {
    if (words.length === 2) return "There is no word in this text. Type a sentence.";
    if (ids.length > MOST_TOKENS) {
      return `The text has ${ids.length} tokens with [CLS] and [SEP]; this page shows at most ${MOST_TOKENS}. ` +
        "Type a shorter one.";
    }
    return "";
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

  function note(text, problem = false) {
    at("note").textContent = text;
    at("note").classList.toggle("problem", problem);
    root.classList.toggle("mute", problem);
  }

  function run() {
    if (!tokenIds) return;
    ticket++;
    const text = at("text").value, tokenized = model.tokenize(text, tokenIds), problem = problemOf(tokenized);
    if (problem) return fail(problem);
    note(remarks(tokenized));
    asked = { text, words: tokenized.words };
    worker.postMessage({ ticket, ids: tokenized.ids, starts: tokenized.starts });
  }

  function fail(problem) {
    note(problem, true);
    say(problem);
  }

  function arrived({ data }) {
    if (data.ticket !== ticket) return;
    sentence = { ...asked, patterns: data.patterns };
    hovered = null;
    showWords();
    showAddress();
    redraw();
    if (at("results").hidden) reveal();
    root.dataset.done = ticket;                              // for those who wait for it
  }

  function reveal() {
    const focused = document.activeElement === at("load");
    root.classList.add("loaded");
    at("waiting").hidden = true;
    at("results").hidden = false;
    at("still").hidden = true;
    if (focused) buttons[head[0]][head[1]].focus({ preventScroll: true }); // not the text: a phone would open its keyboard
  }

  // ---- loading, when asked to ---------------------------------------------------------------------------------------

  const progress = (text) => { at("progress").textContent = text; say(text); };
  const arriving = (have) => progress(`${megabytes(have)} of ${megabytes(about[FILE].bytes)} MB \u2026`);

  async function load() {
    const button = at("load");
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    progress("Loading \u2026");
    try {
      const data = await whole(FILE, arriving), { ids } = model.read(data);
      const code = `(${headsWorker})((${headsModel})((${attentionLayer})()));`;
      worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
      worker.onmessage = arrived;
      worker.onerror = () => fail("The browser stopped computing; perhaps its memory is full. Load the page again.");
      worker.postMessage({ file: data }, [data]);
      tokenIds = ids;
    } catch (error) {
      button.removeAttribute("aria-disabled");
      progress(`The model did not arrive. ${error.message} Press the button to try again.`);
      await forget();                                        // perhaps what was kept is damaged
      return;
    }
    progress("");
    run();
    await showKept();
  }
  at("load").addEventListener("click", load);

  // -- what this browser keeps

  async function showKept() {
    const bytes = await bytesKept();
    at("clear").hidden = !bytes;
    at("kept").textContent = bytes ? `This browser stores ${megabytes(bytes)} MB of the model, for the next time.`
      : "This browser stores nothing of the model.";
  }
  async function forget() {
    await deleteAll();
    await showKept();
  }
  at("clear").addEventListener("click", async () => { await forget(); at("kept").focus(); });

  async function start() {
    readAddress();
    if (!about) {
      at("load").hidden = true;
      progress("This copy of the site was built without the package of the model, so there is nothing to " +
        "load. The lab \u201cA pretrained model\u201d shows the picture for its own sentence.");
      return;
    }
    at("load").textContent = `Load the model (${megabytes(about[FILE].bytes)} MB)`;
    await deleteOld();
    await showKept();
    if (await kept(address(FILE))) load();    // it is here already: nothing to ask for
  }
  start();
})();

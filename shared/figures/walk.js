// The walk through self-attention: it computes every stage again, in double precision, for each sentence and word that the
// reader chooses. tools.js comes before it.

const MOST_WORDS = 40;
const MOST_TERMS = 10;                                       // a longer sum is written with its middle left out

// ---- numbers and words as text ---------------------------------------------------------------------------------

const minus = (text) => text.replace(/-/g, "\u2212");

function short(value) {                                      // in a cell: two decimals
  if (Math.abs(value) >= 1e5) return minus(value.toExponential(1));
  return minus(value.toFixed(2).replace(/^-0\.00$/, "0.00"));
}

function long(value) {                                       // in a sum: four decimals, or 9.4e-9
  const size = Math.abs(value);
  return minus(size && (size < 5e-5 || size >= 1e7) ? value.toExponential(1) : String(+value.toFixed(4)));
}

const coloured = (role, text) => make("span", { class: `number role-${role}` }, text);

function shown(word) {                                       // cut between characters, never through an emoji
  const characters = Array.from(word.slice(0, 100));
  return characters.length > 20 ? characters.slice(0, 19).join("") + "\u2026" : word;
}

const quoted = (word) => ["\u201c", make("bdi", {}, shown(word)), "\u201d"];

function joined(parts, sign = " + ") {
  const left = parts.length - MOST_TERMS;
  const shortened = left <= 0 ? parts : [...parts.slice(0, MOST_TERMS - 1), `\u2026 ${left} more \u2026`, parts.at(-1)];
  return shortened.flatMap((part, i) => (i ? [sign, part] : [part]));
}

// ---- words and their rows of X ---------------------------------------------------------------------------------

function bare(word) {                                        // "Step," is looked up as "step"
  return word.length > 64 ? word : word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
}

function dictionary(pairs) {
  const exact = new Map(pairs);
  const loose = new Map(pairs.map(([word, numbers]) => [bare(word), numbers]).reverse()); // the first one wins
  loose.delete("");
  const all = pairs.flatMap(([, numbers]) => numbers), low = Math.min(...all), high = Math.max(...all);

  // A word that the table does not hold gets numbers made from its letters: the same ones every time, between the
  // table's smallest and largest, with two decimals (the hash FNV-1a over the column and the characters).
  const madeUp = (word) => pairs[0][1].map((_, column) => {
    let hash = 2166136261;
    for (const character of `${column} ${word}`) hash = Math.imul(hash ^ character.codePointAt(0), 16777619);
    return Math.round((low + (hash >>> 0) / 2 ** 32 * (high - low)) * 100) / 100;
  });

  return (word) => {
    const numbers = exact.get(word) ?? loose.get(bare(word));
    return { known: numbers !== undefined, numbers: numbers ?? madeUp(word) };
  };
}

// ---- grids: a matrix with its name, its role, its labels, and for each cell the sum that made it -----------------

const axis = (kind, count) => ({ kind, names: Array.from({ length: count }, (_, i) => `${i + 1}`) });

function turned(grid) {                                      // each cell keeps its name and its sum
  return {
    ...grid, title: `${grid.title}\u1d40`, rows: grid.cols, cols: grid.rows,
    cells: grid.cols.names.map((_, j) => grid.cells.map((row) => row[j])),
    label: (i, j) => grid.label(j, i), sum: (i, j) => grid.sum(j, i),
  };
}

function product(left, right, labels) {
  const cells = left.cells.map((row) => right.cells[0].map((_, j) =>
    row.reduce((total, value, t) => total + value * right.cells[t][j], 0)));
  const factor = (role, value) => coloured(role, value < 0 ? `(${long(value)})` : long(value));
  const term = (a, b) => make("span", { class: "term" }, factor(left.role, a), " \u00d7 ", factor(right.role, b));
  const sum = (i, j) => [" = ", joined(left.cells[i].map((value, t) => term(value, right.cells[t][j]))),
    " = ", coloured(labels.role, long(cells[i][j]))];
  return { rows: left.rows, cols: right.cols, cells, sum, ...labels };
}

// ---- the computation, as the list of stages that the reader walks through ----------------------------------------

function stages(data, { words, x, known, follow }) {
  const me = quoted(words[follow]);
  const ofWord = (what) => (i, j) => [what, " of ", quoted(words[i]), `, number ${j + 1}`];
  const ofPair = (what) => (i, j) => [what, " of ", quoted(words[i]), " for ", quoted(words[j])];

  const input = {
    title: "input", role: "input", rows: { kind: "word", names: words }, cols: axis("column", x[0].length), cells: x,
    label: (i, j) => [`feature ${j + 1} of `, quoted(words[i])],
    sum: (i, j) => [" = ", coloured("input", long(x[i][j])), known[i] ? "" : ", made up from its letters"],
  };

  function projection(name, title, role) {
    const cells = data[name], cols = axis("number", cells[0].length);
    const learned = {
      title: name, role, cells, rows: axis("row", cells.length), cols: axis("column", cells[0].length),
      label: (i, j) => `${name}, row ${i + 1}, column ${j + 1}`,
      sum: (i, j) => [" = ", coloured(role, long(cells[i][j])), ", the same for every sentence"],
    };
    return { left: input, right: learned, result: product(input, learned, { title, role, cols, label: ofWord(role) }) };
  }

  const q = projection("W_query", "queries", "query");
  const k = projection("W_key", "keys", "key");
  const v = projection("W_value", "values", "value");
  const [queries, keys, values] = [q.result, k.result, v.result];
  const scores = product(queries, turned(keys), { title: "scores", role: "score", label: ofPair("score") });

  const width = queries.cells[0].length;
  const scaled = {
    ...scores, title: "scaled scores", label: ofPair("scaled score"),
    cells: scores.cells.map((row) => row.map((value) => value / Math.sqrt(width))),
    sum: (i, j) => [" = ", coloured("score", long(scores.cells[i][j])), ` / \u221a${width} = `,
      coloured("score", long(scaled.cells[i][j]))],
  };

  const power = (i, j) => make("span", { class: "term" }, "exp(", coloured("score", long(scaled.cells[i][j])), ")");
  const weights = {
    ...scaled, title: "weights", role: "weight", label: ofPair("weight"),
    cells: scaled.cells.map((row) => softmaxRow([...row])),
    sum: (i, j) => [" = ", power(i, j), " / ( ", joined(scaled.cells[i].map((_, t) => power(i, t))), " ) = ",
      coloured("weight", long(weights.cells[i][j]))],
  };

  const context = product(weights, values, { title: "context", role: "output", label: ofWord("context") });

  const mine = weights.cells[follow], top = mine.indexOf(Math.max(...mine));
  const rowAndColumn = (i, j) => ({ left: [i, null], right: [null, j] });
  return [
    { name: "X", result: input, sign: "", from: () => ({}),
      text: [me, ` is a row of X: ${x[0].length} numbers. Every word has a row of its own. `,
        "Go on with Next or the arrow keys, and point at any number to see what made it."] },
    { name: "Queries", ...q, sign: "\u00d7", from: rowAndColumn,
      text: ["What is ", me, " looking for? Its row of X times W_query is its query."] },
    { name: "Keys", ...k, sign: "\u00d7", from: rowAndColumn,
      text: ["What can ", me, " be found by? Its row of X times W_key is its key."] },
    { name: "Values", ...v, sign: "\u00d7", from: rowAndColumn,
      text: ["What does ", me, " pass on? Its row of X times W_value is its value."] },
    { name: "Scores", left: queries, sign: "\u00d7", right: turned(keys), result: scores, from: rowAndColumn,
      text: ["The query of ", me, " meets the key of every word. Each meeting is one sum of products, the score: ",
        "the larger, the better the two fit."] },
    { name: "Scaled", left: scores, sign: `/ \u221a${width} =`, result: scaled, from: (i, j) => ({ left: [i, j] }),
      text: [`Every score is divided by \u221a${width} = ${long(Math.sqrt(width))}, the root of the keys\u2019 width: `,
        "wider keys would otherwise make larger scores."] },
    { name: "Weights", left: scaled, sign: "softmax \u2192", result: weights, from: (i) => ({ left: [i, null] }),
      text: ["The softmax makes each row positive, with the sum 1. ", me, " attends most to ", quoted(words[top]),
        `: ${long(mine[top])} of its attention.`], across: top },
    { name: "Context", left: weights, sign: "\u00d7", right: values, result: context, from: rowAndColumn,
      text: [me, " receives of every word\u2019s value as much as its weights say. The sum is its context."] },
  ];
}

// ---- drawing ---------------------------------------------------------------------------------------------------

function table(grid, follow) {                               // follow: the row to mark, or null
  const most = Math.max(...grid.cells.flat().map(Math.abs)) || 1;
  const whole = grid.cells.flat().every(Number.isInteger);   // one-hot vectors read better as 0 and 1
  const heading = (axis, i, scope, look = "") => make("th", { scope, class: look }, axis.kind === "word"
    ? make("bdi", {}, shown(axis.names[i]))
    : [make("span", { class: "spoken" }, `${axis.kind} `), axis.names[i]]);
  const row = (values, i) => {
    const look = i === follow ? "followed" : "";
    return make("tr", {}, heading(grid.rows, i, "row", look), values.map((value, j) => make("td",
      { tabindex: "-1", "data-row": i, "data-col": j, "data-value": value, class: look, style: `--share: ${Math.abs(value) / most}` },
      whole ? minus(String(value)) : short(value))));
  };
  const size = make("small", {}, ` ${grid.cells.length} \u00d7 ${grid.cells[0].length}`);
  return make("table", { class: `role-${grid.role}`, "data-name": grid.title },
    make("caption", {}, grid.title, size),
    make("thead", {}, make("tr", {}, make("td"), grid.cols.names.map((_, j) => heading(grid.cols, j, "col")))),
    make("tbody", {}, grid.cells.map(row)));
}

const cellsOf = (element, [row, col]) => Array.from(element.querySelectorAll("td[data-row]")).filter((cell) =>
  (row === null || +cell.dataset.row === row) && (col === null || +cell.dataset.col === col));

startAll("walk", (walk, data, host) => {
  const lab = { words: data.words, x: data.x, known: data.words.map(() => true), follow: data.follow };
  const state = { ...lab, stage: 0 };
  let list = [], grids = new Map();                          // the stages for this state; table element -> its grid
  let started = false;                                       // before, the address is read and not written

  const notice = make("p", { class: "notice", role: "status" }), words = make("fieldset", { class: "words" });
  const label = (text) => make("span", { class: "name" }, text);
  const back = make("button", { type: "button", class: "back", "aria-label": "Back one stage" }, "\u2190", label(" Back"));
  const next = make("button", { type: "button", class: "next", "aria-label": "Next stage" }, label("Next "), "\u2192");
  const places = make("ol"), what = make("p", { class: "what" }), picture = make("div", { class: "picture" });
  const sum = make("p", { class: "sum" }), stage = make("div", { class: "stage" }, picture, sum), status = make("p", { class: "spoken", role: "status" });
  const stageBar = make("div", { class: "stages", role: "group", "aria-label": "Stages" }, back, places, next);
  walk.setAttribute("aria-label", "Walk through self-attention");
  walk.append(notice, words, stageBar, what, stage, status);

  // Marks a cell and what made it, and writes its sum: aloud when the keyboard came to it, silently for a pointer.
  function point(cell, aloud) {
    const element = cell.closest("table"), [i, j] = [+cell.dataset.row, +cell.dataset.col];
    for (const old of picture.querySelectorAll(".chosen, .source")) old.classList.remove("chosen", "source");
    for (const old of element.querySelectorAll('td[tabindex="0"]')) old.tabIndex = -1;
    cell.tabIndex = 0;                                       // each table is one stop of the tab key: its last cell
    cell.classList.add("chosen");
    const { result, from } = list[state.stage], grid = grids.get(element), [first, second] = grids.keys();
    const { left, right } = grid === result ? from(i, j) : {};
    for (const source of left ? cellsOf(first, left) : []) source.classList.add("source");
    for (const source of right ? cellsOf(second, right) : []) source.classList.add("source");
    sum.replaceChildren(make("strong", {}, grid.label(i, j)), ...grid.sum(i, j).flat(Infinity));
    if (aloud) status.textContent = sum.textContent;
  }

  function draw() {
    list = stages(data, state);
    const { name, text, left, right, result, sign, across } = list[state.stage];
    places.replaceChildren(...list.map((stage, i) => {
      const here = i === state.stage;
      const button = make("button", { type: "button", "aria-current": here && "step", tabindex: here ? 0 : -1 },
        `${i + 1}`, label(` ${stage.name}`));
      button.addEventListener("click", () => step(i));
      return make("li", {}, button);
    }));
    back.setAttribute("aria-disabled", state.stage === 0);
    next.setAttribute("aria-disabled", state.stage === list.length - 1);
    what.replaceChildren(make("strong", {}, `${state.stage + 1}. ${name}`), ...text.flat(Infinity));

    grids = new Map([left, right, result].filter(Boolean).map((grid) =>
      [table(grid, grid === left || grid === result ? state.follow : null), grid]));
    const signs = ["", sign, "="].map((text) => (text ? make("span", { class: "sign" }, text) : []));
    picture.replaceChildren(...[...grids.keys()].map((element, i) =>
      make("div", { class: "operand" }, signs[i], make("div", { class: "scroll" }, element))));
    for (const element of grids.keys()) cellsOf(element, [0, 0])[0].tabIndex = 0;

    // It opens on the cell that it speaks of, and where the matrix scrolls, that cell is in sight.
    const column = across ?? (result.cols.kind === "word" ? state.follow : 0);
    const cell = cellsOf([...grids.keys()].at(-1), [state.follow, column])[0], box = cell.closest(".scroll");
    point(cell, false);
    const [at, frame] = [cell.getBoundingClientRect(), box.getBoundingClientRect()];
    box.scrollBy((at.left + at.right - frame.left - frame.right) / 2, (at.top + at.bottom - frame.top - frame.bottom) / 2);
    status.textContent = `Stage ${state.stage + 1} of ${list.length}. ${what.textContent}`;
    keep();
  }

  function step(to) {
    const inside = places.contains(walk.getRootNode().activeElement);
    state.stage = Math.max(0, Math.min(list.length - 1, to));
    draw();
    if (inside) places.querySelector("[aria-current]").focus();
  }

  function show(sentence, remarks) {
    Object.assign(state, sentence);
    notice.replaceChildren(...remarks.flat(Infinity));
    words.replaceChildren(make("legend", {}, "Follow"), ...state.words.map((word, i) => {
      const radio = make("input", { type: "radio", name: "follow", value: i });
      radio.checked = i === state.follow;
      radio.addEventListener("change", () => { state.follow = i; draw(); });
      return make("label", { class: "chip" }, radio, make("span", {}, make("bdi", {}, shown(word))));
    }));
    draw();
  }

  // ---- a sentence that the reader types

  const input = make("input", { type: "text", autocomplete: "off", spellcheck: "false", dir: "auto", "aria-label": "Your own sentence" });
  function take() {
    const all = input.value.split(/\s+/).filter(Boolean), taken = all.slice(0, MOST_WORDS);
    if (!taken.length) return notice.replaceChildren("Type at least one word. Until then the last sentence stays.");
    const found = taken.map(dictionary(data.vocabulary)), follow = Math.min(state.follow, taken.length - 1);
    const strange = [...new Set(taken.filter((_, i) => !found[i].known))];
    const remarks = [];
    if (strange.length) {
      remarks.push("Not in the lab\u2019s table: ", joined(strange.map(quoted), ", "),
        ". The walk computes a row for such words from their letters, always the same ones. ");
    }
    if (all.length > taken.length) remarks.push(`You typed ${all.length} words; the walk takes the first ${MOST_WORDS}.`);
    show({ words: taken, x: found.map((it) => it.numbers), known: found.map((it) => it.known), follow }, remarks);
  }
  if (data.vocabulary) {
    const reset = make("button", { type: "button" }, "Lab\u2019s sentence");
    const form = make("form", {}, make("label", {}, "Type a sentence of your own"), input, reset);
    input.value = data.words.join(" ");
    input.addEventListener("input", take);
    form.addEventListener("submit", (event) => event.preventDefault());
    reset.addEventListener("click", () => { input.value = data.words.join(" "); show(lab, []); });
    walk.prepend(form);
  }

  // ---- on the course's own pages the address holds the step of the walk, once the reader has moved it, to be shared

  const site = document.documentElement.dataset.content_root !== undefined;
  const name = `walk${Array.from(document.querySelectorAll(".attention-walk")).indexOf(host) + 1}`;
  function keep() {
    if (!site || !started) return;
    const typed = state.words.join(" ") === data.words.join(" ") ? "" : `,${encodeURIComponent(state.words.join(" "))}`;
    history.replaceState(null, "", `#${name}=${state.stage + 1},${state.follow + 1}${typed}`);
  }
  function recall() {
    const address = site && new URLSearchParams(location.hash.slice(1)).get(name);
    if (!address) return;
    const [stage, follow, ...typed] = address.split(",");
    if (typed.length && data.vocabulary) {
      input.value = typed.join(",");
      take();
    }
    const within = (text, count) => Math.max(0, Math.min(count, text) - 1) || 0;
    show({ follow: within(follow, state.words.length), stage: within(stage, list.length) }, []);
    host.scrollIntoView();
  }

  // ---- pointing and walking

  back.addEventListener("click", () => step(state.stage - 1));
  next.addEventListener("click", () => step(state.stage + 1));
  const onCell = (reach) => (event) => {
    const cell = event.target.closest("td[data-row]");
    if (cell) reach(cell);
  };
  for (const event of ["pointermove", "pointerdown"]) {      // not pointerover: cells scroll under a resting pointer
    picture.addEventListener(event, onCell((cell) => cell.matches(".chosen") || point(cell, false)));
  }
  picture.addEventListener("focusin", onCell((cell) => point(cell, true)));

  // Arrow keys: in a table from cell to cell, in the text and the choices as the browser does, elsewhere the stages.
  walk.addEventListener("keydown", (event) => {
    const move = arrowOf(event), cell = event.target.closest("td[data-row]");
    if (!move || event.target.matches("input") || !cell && !move[1]) return; // up and down scroll the page
    event.preventDefault();
    if (!cell) return step(state.stage + move[1]);
    cellsOf(cell.closest("table"), [+cell.dataset.row + move[0], +cell.dataset.col + move[1]])[0]?.focus();
  });

  show(lab, []);
  recall();
  started = true;
  status.textContent = "";                                   // nothing has happened yet that is worth saying aloud
});

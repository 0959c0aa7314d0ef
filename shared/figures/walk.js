// The walk through self-attention: one small module of plain JavaScript, inlined by walk.py in every output that
// needs it. It starts each element `.attention-walk` that waits in the document, with the arrays in its `data-walk`.
//
// Why it is built this way:
// * It looks for waiting elements, and never for "the script that runs now": a built page runs scripts while it is
//   being read, JupyterLab creates them again once it has added the output, others evaluate their text. This works in all.
// * Everything is drawn in a shadow tree: no style or name leaks in or out, and two walks on a page cannot meet.
//   Once that tree exists, the browser itself stops showing the still picture inside the element.
// * All text goes in as text nodes. Nothing that a reader types is ever read as markup.
(() => {
  "use strict";

  const MOST_WORDS = 40;
  const MOST_TERMS = 10;                                     // a longer sum is written with its middle left out

  // ---- small tools -------------------------------------------------------------------------------------------

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== false) element.setAttribute(name, value);
    element.append(...children.flat(Infinity));
    return element;
  }

  const minus = (text) => text.replace(/-/g, "\u2212");

  function short(value) {                                    // in a cell: two decimals
    if (value === -Infinity) return "\u2212\u221e";
    if (Math.abs(value) >= 1e5) return minus(value.toExponential(1));
    return minus(value.toFixed(2).replace(/^-0\.00$/, "0.00"));
  }

  function long(value) {                                     // in a sum: four decimals, or 9.4e-9
    if (value === -Infinity) return "\u2212\u221e";
    const size = Math.abs(value);
    return minus(size && (size < 5e-5 || size >= 1e7) ? value.toExponential(1) : String(+value.toFixed(4)));
  }

  const bracketed = (value) => (value < 0 ? `(${long(value)})` : long(value));
  const coloured = (role, text) => make("span", { class: `number role-${role}` }, text);

  function shown(word) {                                     // cut between characters, never through an emoji
    const characters = Array.from(word.slice(0, 100));
    return characters.length > 20 ? characters.slice(0, 19).join("") + "\u2026" : word;
  }

  const quoted = (word) => ["\u201c", make("bdi", {}, shown(word)), "\u201d"];

  function joined(parts, sign = " + ") {
    const left = parts.length - MOST_TERMS;
    const shortened = left <= 0 ? parts : [...parts.slice(0, MOST_TERMS - 1), `\u2026 ${left} more \u2026`, parts.at(-1)];
    return shortened.flatMap((part, i) => (i ? [sign, part] : [part]));
  }

  // ---- words and their rows of X ------------------------------------------------------------------------------

  function bare(word) {                                      // "Step," is looked up as "step"
    return word.length > 64 ? word : word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
  }

  function dictionary(pairs) {
    const exact = new Map(pairs);
    const loose = new Map(pairs.map(([word, numbers]) => [bare(word), numbers]).reverse()); // the first one wins
    loose.delete("");
    const all = pairs.flatMap(([, numbers]) => numbers);
    const low = all.reduce((a, b) => Math.min(a, b)), high = all.reduce((a, b) => Math.max(a, b));

    // A word that the table does not hold gets numbers made from its letters: the same ones every time, between the
    // table's smallest and largest, with two decimals (FNV-1a over the characters, then the mulberry32 generator).
    function madeUp(word) {
      let seed = 2166136261;
      for (const character of word) seed = Math.imul(seed ^ character.codePointAt(0), 16777619);
      return pairs[0][1].map(() => {
        seed = (seed + 0x6d2b79f5) | 0;
        let mixed = Math.imul(seed ^ (seed >>> 15), seed | 1);
        mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
        return Math.round((low + ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 * (high - low)) * 100) / 100;
      });
    }

    return (word) => {
      const numbers = exact.get(word) ?? loose.get(bare(word));
      return { known: numbers !== undefined, numbers: numbers ?? madeUp(word) };
    };
  }

  // ---- grids: a matrix with its name, its role, its labels, and for each cell the sum that made it --------------

  const wordAxis = (words) => ({ kind: "word", names: words });
  const axis = (kind, count, first = 1) => ({ kind, names: Array.from({ length: count }, (_, i) => `${first + i}`) });
  const ofWord = (what, words) => (i, j) => [what, " of ", quoted(words[i]), `, number ${j + 1}`];
  const ofPair = (what, words) => (i, j) => [what, " of ", quoted(words[i]), " for ", quoted(words[j])];

  function turned(grid) {                                    // each cell keeps its name and its sum
    return {
      ...grid, title: `${grid.title}\u1d40`, rows: grid.cols, cols: grid.rows,
      cells: grid.cols.names.map((_, j) => grid.cells.map((row) => row[j])),
      label: (i, j) => grid.label(j, i), sum: (i, j) => grid.sum(j, i),
    };
  }

  function product(left, right, labels) {
    const cells = left.cells.map((row) => right.cells[0].map((_, j) =>
      row.reduce((total, value, t) => total + value * right.cells[t][j], 0)));
    const term = (a, b) => make("span", { class: "term" },
      coloured(left.role, bracketed(a)), " \u00d7 ", coloured(right.role, bracketed(b)));
    const sum = (i, j) => [" = ", joined(left.cells[i].map((value, t) => term(value, right.cells[t][j]))),
      " = ", coloured(labels.role, long(cells[i][j]))];
    return { rows: left.rows, cols: right.cols, cells, sum, ...labels };
  }

  // ---- the computation, as the list of stages that the reader walks through -------------------------------------
  // It runs again, in double precision, for every sentence, word and head.

  function stages(data, { words, x: rows, known, follow, head }) {
    const me = quoted(words[follow]);
    const leftward = data.convention === "Wx";               // q = W x: the matrix is on the left, one word is one column

    const input = {
      title: "input", role: "input", rows: wordAxis(words), cols: axis("column", rows[0].length), cells: rows,
      label: (i, j) => [`feature ${j + 1} of `, quoted(words[i])],
      sum: (i, j) => [" = ", coloured("input", long(rows[i][j])), known[i] ? "" : ", made up from its letters"],
    };

    // What one head owns of a learned matrix: some of its columns in x W, some of its rows in W x.
    function part(title, role, matrix, heads = data.heads) {
      const whole = leftward ? matrix.length : matrix[0].length;
      const start = heads > 1 ? head * whole / heads : 0, stop = start + whole / heads;
      const cells = leftward ? matrix.slice(start, stop) : matrix.map((row) => row.slice(start, stop));
      const [first, others] = leftward ? [start + 1, 1] : [1, start + 1];
      const [rows, cols] = [axis("row", cells.length, first), axis("column", cells[0].length, others)];
      const grid = { title, role, cells, rows, cols };
      grid.label = (i, j) => `${title}, row ${rows.names[i]}, column ${cols.names[j]}`;
      grid.sum = (i, j) => [" = ", coloured(role, long(cells[i][j])), ", the same for every sentence"];
      return grid;
    }

    function project(input, W, title, role, what) {
      const labels = { title, role, label: ofWord(what, words) };
      const numbers = axis("number", leftward ? W.cells.length : W.cells[0].length);
      if (!leftward) {
        const result = product(input, W, { ...labels, cols: numbers });
        return { left: input, right: W, result, grid: result };
      }
      const columns = product(W, turned(input), { ...labels, rows: numbers });
      const grid = { ...turned(columns), title, label: labels.label };
      return { left: W, right: turned(input), result: turned(grid), grid };
    }

    const q = project(input, part("W_query", "query", data.W_query), "queries", "query", "query");
    const k = project(input, part("W_key", "key", data.W_key), "keys", "key", "key");
    const v = project(input, part("W_value", "value", data.W_value), "values", "value", "value");
    const [queries, keys, values] = [q.grid, k.grid, v.grid];

    const scores = product(queries, turned(keys), { title: "scores", role: "score", label: ofPair("score", words) });

    const width = queries.cells[0].length;
    const hidden = (i, j) => data.mask !== null && !data.mask[i][j];
    const scaled = {
      ...scores, title: "scaled scores", label: ofPair("scaled score", words),
      cells: scores.cells.map((row, i) => row.map((value, j) => (hidden(i, j) ? -Infinity : value / Math.sqrt(width)))),
      sum: (i, j) => hidden(i, j)
        ? [" = \u2212\u221e: the mask hides ", quoted(words[j]), " from ", quoted(words[i])]
        : [" = ", coloured("score", long(scores.cells[i][j])), ` / \u221a${width} = `,
          coloured("score", long(scaled.cells[i][j]))],
    };

    const weights = {
      ...scaled, title: "weights", role: "weight", label: ofPair("weight", words),
      cells: scaled.cells.map((row) => {
        const largest = row.reduce((a, b) => Math.max(a, b)); // taken off first, or a score of 1,000 would overflow
        const powers = row.map((value) => Math.exp(value - largest));
        const total = powers.reduce((a, b) => a + b);
        return powers.map((power) => power / total);
      }),
      sum: (i, j) => [" = ", power(i, j), " / ( ", joined(scaled.cells[i].map((_, t) => power(i, t))), " ) = ",
        coloured("weight", long(weights.cells[i][j]))],
    };
    const power = (i, j) => make("span", { class: "term" }, "exp(", coloured("score", long(scaled.cells[i][j])), ")");

    const context = product(weights, values, { title: "context", role: "output", label: ofWord("context", words) });

    const top = weights.cells[follow].indexOf(weights.cells[follow].reduce((a, b) => Math.max(a, b)));
    const rowOf = (i, j) => ({ left: [i, null], right: [null, j] });
    const list = [
      { name: "X", result: input, sign: "", from: () => ({}),
        text: [me, ` is a row of X: ${rows[0].length} numbers. Every word has a row of its own. `,
          "Go on with Next or the arrow keys, and point at any number to see what made it."] },
      { name: "Queries", ...q, sign: "\u00d7", from: rowOf,
        text: ["What is ", me, " looking for? Its row of X times W_query is its query."] },
      { name: "Keys", ...k, sign: "\u00d7", from: rowOf,
        text: ["What can ", me, " be found by? Its row of X times W_key is its key."] },
      { name: "Values", ...v, sign: "\u00d7", from: rowOf,
        text: ["What does ", me, " pass on? Its row of X times W_value is its value."] },
      { name: "Scores", left: queries, sign: "\u00d7", right: turned(keys), result: scores, from: rowOf,
        text: ["The query of ", me, " meets the key of every word. Each meeting is one sum of products, the score: ",
          "the larger, the better the two fit."] },
      { name: "Scaled", left: scores, sign: `/ \u221a${width} =`, result: scaled, from: (i, j) => ({ left: [i, j] }),
        text: [`Every score is divided by \u221a${width} = ${long(Math.sqrt(width))}, the root of the keys\u2019 width: `,
          "wider keys would otherwise make larger scores.",
          data.mask ? " What the mask hides becomes \u2212\u221e." : ""] },
      { name: "Weights", left: scaled, sign: "softmax \u2192", result: weights, from: (i) => ({ left: [i, null] }),
        text: ["The softmax makes each row positive, with the sum 1. ", me, " attends most to ", quoted(words[top]),
          `: ${long(weights.cells[follow][top])} of its attention.`], across: top },
      { name: "Context", left: weights, sign: "\u00d7", right: values, result: context, from: rowOf,
        text: [me, " receives of every word\u2019s value as much as its weights say. The sum is its context."] },
    ];
    if (data.W_output) {
      const others = Array.from({ length: data.heads }, (_, h) => h === head ? context.cells : contextOf(h));
      const size = context.cells[0].length;
      const side = {
        ...context, title: data.heads > 1 ? "contexts of all heads" : "context", cols: axis("number", size * data.heads),
        cells: words.map((_, i) => others.flatMap((cells) => cells[i])),
        sum: (i, j) => [" = ", coloured("output", long(side.cells[i][j])), `, from head ${Math.floor(j / size)}`],
      };
      const mixed = project(side, part("W_output", "output", data.W_output, 1), "output", "output", "output");
      list.push({ name: "Output", ...mixed, sign: "\u00d7", from: rowOf,
        text: [data.heads > 1 ? `The contexts of all ${data.heads} heads stand side by side. ` : "",
          "Times W_output they become what ", me, " hands to the next layer."] });
    }
    return list;

    function contextOf(h) {
      const other = stages({ ...data, W_output: null }, { words, x: rows, known, follow, head: h });
      return other.at(-1).result.cells;
    }
  }

  // ---- drawing -------------------------------------------------------------------------------------------------

  function table(grid, follow) {                             // follow: the word to mark, or null
    const sizes = grid.cells.flat().filter(Number.isFinite).map(Math.abs);
    const most = sizes.reduce((a, b) => Math.max(a, b), 0) || 1;
    const whole = grid.cells.flat().every(Number.isInteger); // one-hot vectors read better as 0 and 1
    // Scores and weights have words on both sides; the followed word is the query, so its row is marked.
    const alongRows = grid.rows.kind === "word";
    const mark = (i, along) => (along && i === follow ? "followed" : "");

    const heading = (axis, i, scope, along) => make("th", { scope, class: mark(i, along) }, axis.kind === "word"
      ? make("bdi", {}, shown(axis.names[i]))
      : [make("span", { class: "spoken" }, `${axis.kind} `), axis.names[i]]);
    function cell(value, i, j) {
      const attributes = { tabindex: "-1", "data-row": i, "data-col": j, "data-value": value };
      const td = make("td", { ...attributes, class: mark(alongRows ? i : j, true) },
        whole ? minus(String(value)) : short(value));
      td.style.setProperty("--share", Number.isFinite(value) ? Math.abs(value) / most : 0);
      return td;
    }
    const head = make("tr", {}, make("td"), grid.cols.names.map((_, j) => heading(grid.cols, j, "col", !alongRows)));
    const body = grid.cells.map((row, i) =>
      make("tr", {}, heading(grid.rows, i, "row", alongRows), row.map((value, j) => cell(value, i, j))));
    const size = make("small", {}, ` ${grid.cells.length} \u00d7 ${grid.cells[0].length}`);
    return make("table", { class: `role-${grid.role}`, "data-name": grid.title },
      make("caption", {}, grid.title, size), make("thead", {}, head), make("tbody", {}, body));
  }

  const cellsOf = (element, [row, col]) => Array.from(element.querySelectorAll("td[data-row]")).filter((cell) =>
    (row === null || +cell.dataset.row === row) && (col === null || +cell.dataset.col === col));

  function start(host) {
    const data = JSON.parse(host.dataset.walk);
    const lab = { words: data.words, x: data.x, known: data.words.map(() => true), follow: data.follow };
    const state = { ...lab, head: 0, stage: 0 };
    let list = [], grids = new Map();                        // the stages for this state; table element -> its grid

    const form = make("form"), notice = make("p", { class: "notice", role: "status" });
    const words = make("fieldset", { class: "words" }), heads = make("fieldset", { class: "heads" });
    const label = (text) => make("span", { class: "name" }, text);
    const back = make("button", { type: "button", class: "back", "aria-label": "Back one stage" }, "\u2190", label(" Back"));
    const next = make("button", { type: "button", class: "next", "aria-label": "Next stage" }, label("Next "), "\u2192");
    const places = make("ol"), what = make("p", { class: "what" }), picture = make("div", { class: "picture" });
    const sum = make("p", { class: "sum" }), status = make("p", { class: "spoken", role: "status" });
    const stageBar = make("div", { class: "stages", role: "group", "aria-label": "Stages" }, back, places, next);
    const walk = make("div", { class: "walk", role: "group", "aria-label": "Walk through self-attention" },
      form, notice, words, heads, stageBar, what, picture, sum, status);
    const root = host.attachShadow({ mode: "open" });
    root.append(make("style", {}, data.style), walk);

    function chips(fieldset, legend, names, chosen, choose) {
      fieldset.replaceChildren(make("legend", {}, legend), ...names.map((name, i) => {
        const radio = make("input", { type: "radio", name: legend, value: i });
        radio.checked = i === chosen;
        radio.addEventListener("change", () => { choose(i); draw(); });
        return make("label", { class: "chip" }, radio, make("span", {}, make("bdi", {}, name)));
      }));
    }

    // Marks a cell and what made it, and writes its sum: aloud when the keyboard came to it, silently for a pointer.
    function point(cell, aloud) {
      const element = cell.closest("table"), [i, j] = [+cell.dataset.row, +cell.dataset.col];
      for (const old of picture.querySelectorAll(".chosen, .source")) old.classList.remove("chosen", "source");
      for (const old of element.querySelectorAll('td[tabindex="0"]')) old.tabIndex = -1;
      cell.tabIndex = 0;                                     // each table is one stop of the tab key: its last cell
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
      const { name, text, left, right, result, sign, across: spoken } = list[state.stage];
      places.replaceChildren(...list.map((stage, i) => {
        const here = i === state.stage;
        const button = make("button", { type: "button",
          "aria-current": here && "step", tabindex: here ? 0 : -1 }, `${i + 1}`, label(` ${stage.name}`));
        button.addEventListener("click", () => step(i));
        return make("li", {}, button);
      }));
      back.setAttribute("aria-disabled", state.stage === 0);
      next.setAttribute("aria-disabled", state.stage === list.length - 1);
      what.replaceChildren(make("strong", {}, `${state.stage + 1}. ${name}`), ...text.flat(Infinity));

      // The followed word is marked where it asks: in W x its column of the right operand, else its row of the left.
      const asking = result.rows.kind === "word" ? left : right;
      grids = new Map([left, right, result].filter(Boolean).map((grid) =>
        [table(grid, grid === asking || grid === result ? state.follow : null), grid]));
      const signs = [[], sign, "="].map((text) => (text.length ? make("span", { class: "sign" }, text) : []));
      picture.replaceChildren(...[...grids.keys()].map((element, i) =>
        make("div", { class: "operand" }, signs[i], make("div", { class: "scroll" }, element))));
      for (const element of grids.keys()) cellsOf(element, [0, 0])[0].tabIndex = 0;

      // It opens on the cell that it speaks of, and where the matrix scrolls, that cell is in sight.
      const across = spoken ?? (result.cols.kind === "word" ? state.follow : 0);
      const down = result.rows.kind === "word" ? state.follow : 0;
      const cell = cellsOf([...grids.keys()].at(-1), [down, across])[0], box = cell.closest(".scroll");
      point(cell, false);
      const [at, frame] = [cell.getBoundingClientRect(), box.getBoundingClientRect()];
      box.scrollBy((at.left + at.right - frame.left - frame.right) / 2, (at.top + at.bottom - frame.top - frame.bottom) / 2);
      keep();
      status.textContent = `Stage ${state.stage + 1} of ${list.length}. ${what.textContent}`;
    }

    // On the course's own pages the address holds the step of the walk, once the reader has moved it, to be shared.
    const site = document.documentElement.dataset.content_root !== undefined;
    const name = `walk${Array.from(document.querySelectorAll(".attention-walk")).indexOf(host) + 1}`;
    let moved = false;
    function keep() {
      const { stage, follow, head, words } = state;
      const typed = words.join(" ") === data.words.join(" ") ? "" : `,${encodeURIComponent(words.join(" "))}`;
      try {
        if (site && moved) history.replaceState(null, "", `#${name}=${stage + 1},${follow + 1},${head + 1}${typed}`);
      } catch { /* some browsers limit how often */ }
    }
    function recall() {
      const address = site && new RegExp(`^#${name}=(\\d+),(\\d+),(\\d+)(?:,(.*))?$`).exec(location.hash);
      if (!address) return;
      let words = "";
      try { words = decodeURIComponent(address[4] ?? ""); } catch { /* cut off on its way */ }
      if (words && data.vocabulary) {
        form.querySelector("input").value = words;
        take(words, dictionary(data.vocabulary));
      }
      const within = (text, count) => Math.max(0, Math.min(count, text) - 1);
      state.follow = within(address[2], state.words.length);
      state.head = within(address[3], data.heads);
      state.stage = within(address[1], list.length);
      show(state, []);
      host.scrollIntoView();
    }
    for (const event of ["click", "input", "change"]) walk.addEventListener(event, () => { moved = true; keep(); });
    walk.addEventListener("keydown", () => { moved = true; }, true);

    function step(to) {
      const inside = places.contains(root.activeElement);
      state.stage = Math.max(0, Math.min(list.length - 1, to));
      draw();
      if (inside) places.querySelector("[aria-current]").focus();
    }

    function show(sentence, remarks) {
      Object.assign(state, sentence);
      notice.replaceChildren(...remarks.flat(Infinity));
      chips(words, "Follow", state.words.map(shown), state.follow, (i) => { state.follow = i; });
      if (data.heads > 1) chips(heads, "Head", axis("", data.heads, 0).names, state.head, (i) => { state.head = i; });
      draw();
    }

    function take(typed, lookUp) {
      const all = typed.split(/\s+/).filter(Boolean), taken = all.slice(0, MOST_WORDS);
      if (!taken.length) return notice.replaceChildren("Type at least one word. Until then the last sentence stays.");
      const found = taken.map(lookUp), follow = Math.min(state.follow, taken.length - 1);
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
      const lookUp = dictionary(data.vocabulary);
      const input = make("input", { type: "text", autocomplete: "off", spellcheck: "false", dir: "auto" });
      const reset = make("button", { type: "button" }, "Lab\u2019s sentence");
      input.value = data.words.join(" ");
      input.setAttribute("aria-label", "Your own sentence");
      input.addEventListener("input", () => take(input.value, lookUp));
      form.addEventListener("submit", (event) => event.preventDefault());
      reset.addEventListener("click", () => { input.value = data.words.join(" "); show(lab, []); });
      form.append(make("label", {}, "Type a sentence of your own"), input, reset);
    } else form.remove();
    if (data.heads <= 1) heads.remove();

    back.addEventListener("click", () => step(state.stage - 1));
    next.addEventListener("click", () => step(state.stage + 1));
    const onCell = (reach) => (event) => {
      const cell = event.target.closest("td[data-row]");
      if (cell) reach(cell);
    };
    for (const moved of ["pointermove", "pointerdown"]) {      // not pointerover: cells scroll under a resting pointer
      picture.addEventListener(moved, onCell((cell) => cell.matches(".chosen") || point(cell, false)));
    }
    picture.addEventListener("focusin", onCell((cell) => point(cell, true)));

    // Arrow keys: in a table from cell to cell, in the text and the choices as the browser does, elsewhere the stages.
    walk.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!move || event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input")) return;
      const cell = event.target.closest("td[data-row]");
      if (!cell && !move[1]) return;                         // up and down scroll the page
      event.preventDefault();
      if (!cell) return step(state.stage + move[1]);
      cellsOf(cell.closest("table"), [+cell.dataset.row + move[0], +cell.dataset.col + move[1]])[0]?.focus();
    });

    // Where the page sets no colours (a notebook), light letters mean a dark theme.
    function theme() {
      const [red, green, blue] = getComputedStyle(walk).color.match(/[\d.]+/g).map(Number);
      walk.classList.toggle("dark", red + green + blue > 384);
    }
    const watch = new MutationObserver(theme);
    for (const element of [document.documentElement, document.body]) watch.observe(element, { attributes: true });
    show(lab, []);
    theme();
    recall();
    status.textContent = "";                                 // nothing has happened yet that is worth saying aloud
  }

  for (const host of document.querySelectorAll(".attention-walk[data-walk]")) if (!host.shadowRoot) start(host);
})();

// The walk through self-attention: one small module of plain JavaScript, inlined by walk.py in every output that
// needs it. It starts each element `.attention-walk` that waits in the document, with the arrays in its `data-walk`.
//
// Why it is built this way:
// * It looks for waiting elements, and never for "the script that runs now": a built page runs scripts while it is
//   being read, JupyterLab makes them anew once the output stands, others evaluate their text. This works in all.
// * Everything is drawn in a shadow tree: no style or name leaks in or out, and two walks on a page cannot meet.
//   Once that tree stands, the browser itself stops showing the still picture inside the element.
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

  const named = (word) => ["\u201c", make("bdi", {}, shown(word)), "\u201d"];

  function joined(parts, sign = " + ") {
    const left = parts.length - MOST_TERMS;
    const kept = left <= 0 ? parts : [...parts.slice(0, MOST_TERMS - 1), `\u2026 ${left} more \u2026`, parts.at(-1)];
    return kept.flatMap((part, i) => (i ? [sign, part] : [part]));
  }

  // ---- words and their features ------------------------------------------------------------------------------

  function bare(word) {                                      // "Step," is looked up as "step"
    return word.length > 64 ? word : word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
  }

  function dictionary(pairs) {
    const exact = new Map(pairs);
    const loose = new Map(pairs.filter(([word]) => bare(word)).map(([word, numbers]) => [bare(word), numbers]).reverse());
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
  const ofWord = (what, words) => (i, j) => [what, " of ", named(words[i]), `, number ${j + 1}`];
  const ofPair = (what, words) => (i, j) => [what, " of ", named(words[i]), " for ", named(words[j])];

  function turned(grid) {                                    // each cell keeps its name and its sum
    return {
      ...grid, title: `${grid.title}\u1d40`, rows: grid.cols, cols: grid.rows,
      cells: grid.cols.names.map((_, j) => grid.cells.map((row) => row[j])),
      label: (i, j) => grid.label(j, i), sum: (i, j) => grid.sum(j, i),
    };
  }

  function product(left, right, looks) {
    const cells = left.cells.map((row) => right.cells[0].map((_, j) =>
      row.reduce((total, value, t) => total + value * right.cells[t][j], 0)));
    const term = (a, b) => make("span", { class: "term" },
      coloured(left.role, bracketed(a)), " \u00d7 ", coloured(right.role, bracketed(b)));
    const sum = (i, j) => [" = ", joined(left.cells[i].map((value, t) => term(value, right.cells[t][j]))),
      " = ", coloured(looks.role, long(cells[i][j]))];
    return { rows: left.rows, cols: right.cols, cells, sum, ...looks };
  }

  // ---- the computation, as the list of stages that the reader walks through -------------------------------------
  // It runs anew, in double precision, for every sentence, word and head.

  function stages(data, { words, features: rows, known, follow, head }) {
    const me = named(words[follow]);
    const leftward = data.convention === "Wx";               // q = W x: weights stand left, one word is one column

    const features = {
      title: "features", role: "features", rows: wordAxis(words), cols: axis("feature", rows[0].length), cells: rows,
      label: (i, j) => [`feature ${j + 1} of `, named(words[i])],
      sum: (i, j) => [" = ", coloured("features", long(rows[i][j])), known[i] ? "" : ", made up from its letters"],
    };

    // What one head owns of a learned matrix: some of its columns in x W, some of its rows in W x.
    function part(title, role, matrix, heads = data.heads) {
      const whole = leftward ? matrix.length : matrix[0].length;
      const start = heads > 1 ? head * whole / heads : 0, stop = start + whole / heads;
      const cells = leftward ? matrix.slice(start, stop) : matrix.map((row) => row.slice(start, stop));
      const [first, others] = leftward ? [start + 1, 1] : [1, start + 1];
      const grid = { title, role, cells, rows: axis("row", cells.length, first), cols: axis("column", cells[0].length, others) };
      grid.label = (i, j) => `${title}, row ${grid.rows.names[i]}, column ${grid.cols.names[j]}`;
      grid.sum = (i, j) => [" = ", coloured(role, long(cells[i][j])), ", the same for every sentence"];
      return grid;
    }

    function project(input, W, title, role, what) {
      const looks = { title, role, label: ofWord(what, words) };
      const numbers = axis("number", leftward ? W.cells.length : W.cells[0].length);
      if (!leftward) {
        const result = product(input, W, { ...looks, cols: numbers });
        return { left: input, right: W, result, grid: result };
      }
      const columns = product(W, turned(input), { ...looks, rows: numbers });
      const grid = { ...turned(columns), title, label: looks.label };
      return { left: W, right: turned(input), result: turned(grid), grid };
    }

    const q = project(features, part("W_query", "query", data.W_query), "queries", "query", "query");
    const k = project(features, part("W_key", "key", data.W_key), "keys", "key", "key");
    const v = project(features, part("W_value", "value", data.W_value), "values", "value", "value");
    const [queries, keys, values] = [q.grid, k.grid, v.grid];

    const scores = product(queries, turned(keys), { title: "scores", role: "score", label: ofPair("score", words) });

    const width = queries.cells[0].length;
    const hidden = (i, j) => data.mask !== null && !data.mask[i][j];
    const scaled = {
      ...scores, title: "scaled scores", label: ofPair("scaled score", words),
      cells: scores.cells.map((row, i) => row.map((value, j) => (hidden(i, j) ? -Infinity : value / Math.sqrt(width)))),
      sum: (i, j) => hidden(i, j)
        ? [" = \u2212\u221e: the mask hides ", named(words[j]), " from ", named(words[i])]
        : [" = ", coloured("score", long(scores.cells[i][j])), ` / \u221a${width} = `, coloured("score", long(scaled.cells[i][j]))],
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
      { name: "Features", result: features, sign: "", from: () => ({}),
        text: [me, ` starts as ${rows[0].length} numbers, its features; every word has a row of its own. `,
          "Go on with Next or the arrow keys, and point at any number to see what made it."] },
      { name: "Queries", ...q, sign: "\u00d7", from: rowOf,
        text: ["What is ", me, " looking for? Its features times W_query make its query."] },
      { name: "Keys", ...k, sign: "\u00d7", from: rowOf,
        text: ["What can ", me, " be found by? Its features times W_key make its key."] },
      { name: "Values", ...v, sign: "\u00d7", from: rowOf,
        text: ["What does ", me, " tell those who look at it? Its features times W_value make its value."] },
      { name: "Scores", left: queries, sign: "\u00d7", right: turned(keys), result: scores, from: rowOf,
        text: ["The query of ", me, " meets the key of every word. Each meeting is one sum of products, the score: ",
          "the larger, the better the two fit."] },
      { name: "Scaled", left: scores, sign: `/ \u221a${width} =`, result: scaled, from: (i, j) => ({ left: [i, j] }),
        text: [`Every score is divided by \u221a${width} = ${long(Math.sqrt(width))}, the root of the keys\u2019 width: `,
          "wider keys would otherwise make larger scores.", data.mask ? " What the mask hides becomes \u2212\u221e." : ""] },
      { name: "Weights", left: scaled, sign: "softmax \u2192", result: weights, from: (i) => ({ left: [i, null] }),
        text: ["The softmax makes each row positive, with the sum 1. ", me, " looks most at ", named(words[top]),
          `: ${long(weights.cells[follow][top])} of its attention.`] },
      { name: "Context", left: weights, sign: "\u00d7", right: values, result: context, from: rowOf,
        text: [me, " receives a little of every word\u2019s value, as much as its weights say. That sum is its context."] },
    ];
    if (data.W_output) {
      const others = Array.from({ length: data.heads }, (_, h) => h === head ? context.cells : contextOf(h));
      const size = context.cells[0].length;
      const side = {
        ...context, title: data.heads > 1 ? "contexts of all heads" : "context", cols: axis("number", size * data.heads),
        cells: words.map((_, i) => others.flatMap((cells) => cells[i])),
        sum: (i, j) => [" = ", coloured("output", long(side.cells[i][j])), `, from head ${Math.floor(j / size) + 1}`],
      };
      list.push({ name: "Output", ...project(side, part("W_output", "output", data.W_output, 1), "output", "output", "output"),
        sign: "\u00d7", from: rowOf, text: [data.heads > 1 ? `The contexts of all ${data.heads} heads stand side by side. ` : "",
          "Times W_output they become what ", me, " hands to the next layer."] });
    }
    return list;

    function contextOf(h) {
      const other = stages({ ...data, W_output: null }, { words, features: rows, known, follow, head: h });
      return other.at(-1).result.cells;
    }
  }

  // ---- drawing -------------------------------------------------------------------------------------------------

  const SUBTLE = "color-mix(in srgb, currentColor 22%, transparent)";
  const style = (colours) => `
    :host { display: block; margin: 1rem 0; }
    * { box-sizing: border-box; }
    .walk { --ground: var(--role-paper, var(--jp-layout-color0, ${colours.paper[0]})); container-type: inline-size;
      --ink: var(--role-ink, var(--jp-content-font-color1, ${colours.ink[0]})); color: var(--ink); background: var(--ground);
      border: 1px solid ${SUBTLE}; border-radius: 12px; font: 16px/1.5 var(--pst-font-family-base, system-ui, sans-serif); }
    ${Object.entries(colours).map(([role, [light, dark]]) => `.role-${role} { --role: var(--role-${role}, ${light}); }
    .dark .role-${role} { --role: var(--role-${role}, ${dark}); }`).join("\n")}
    .walk > * { margin: 0; padding: .75rem 1rem 0; }
    .spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
    button, input[type=text] { font: inherit; color: inherit; background: transparent; border: 1px solid
      color-mix(in srgb, currentColor 55%, transparent); border-radius: 8px; min-height: 44px; padding: 0 .8rem; }
    button { cursor: pointer; }
    button:hover:not([aria-disabled], [aria-current]), .chip:hover :not(:checked) + span { background: color-mix(in srgb, currentColor 8%, transparent); }
    [aria-disabled] { border-style: dotted; cursor: default; }
    :focus-visible, input:focus-visible + span { outline: 3px solid currentColor; outline-offset: 2px; }
    form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
    form label { flex: 1 1 100%; font-weight: 600; } form input { flex: 1 1 12rem; min-width: 0; }
    fieldset { border: 0; display: flex; flex-wrap: wrap; gap: .4rem; align-items: center; min-width: 0; }
    legend { float: left; font-weight: 600; padding: 0; margin-right: .4rem; }
    .chip { position: relative; display: inline-block; cursor: pointer; }
    .chip input { position: absolute; inset: 0; opacity: 0; margin: 0; cursor: pointer; }
    .chip span { display: grid; place-items: center; min-height: 36px; min-width: 36px; padding: 0 .7rem;
      border: 1px solid color-mix(in srgb, currentColor 55%, transparent); border-radius: 18px; }
    .chip :checked + span, [aria-current] { background: var(--ink); color: var(--ground); font-weight: 600; }
    .stages { display: flex; gap: .5rem; align-items: center; }
    ol { display: flex; flex: 1; flex-wrap: wrap; gap: 2px; justify-content: center; list-style: none; margin: 0; padding: 0; }
    ol button { min-height: 36px; min-width: 28px; padding: 0 .38rem; border-color: transparent; font-size: .85rem; }
    .what { min-height: 4.4em; } .what strong { display: block; font-size: 1.15rem; }
    .picture { display: flex; flex-wrap: wrap; gap: .5rem .8rem; align-items: center; justify-content: safe center; }
    .operand { display: flex; align-items: center; gap: .8rem; max-width: 100%; min-width: 0; }
    .sign { font-size: 1.2rem; white-space: nowrap; }
    .scroll { overflow: auto; max-width: 100%; max-height: 75vh; padding: 4px; }
    table { border-collapse: separate; border-spacing: 3px; font-variant-numeric: tabular-nums; font-size: .85rem; line-height: 1.2; }
    caption { text-align: left; white-space: nowrap; padding-bottom: 4px; font-weight: 600; }
    caption::before { content: ""; display: inline-block; width: .75em; height: .75em; border-radius: 3px; margin-right: .4em;
      background: var(--role, currentColor); }
    caption small { font-weight: 400; font-size: inherit; }
    th { font-weight: 400; padding: 0 4px; max-width: 9em; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; background: var(--ground); }
    thead th { position: sticky; top: -4px; z-index: 1; max-width: 4.6em; height: 28px; } tbody th { position: sticky; left: -4px; z-index: 2; text-align: right; }
    td { min-width: 42px; height: 32px; padding: 0 4px; text-align: right; border-radius: 4px; scroll-margin: 3rem 1rem 9rem 7rem;
      background: color-mix(in srgb, var(--role, currentColor) calc(var(--share) * 38%), var(--ground)); }
    td[tabindex] { cursor: crosshair; }
    .followed { font-weight: 700; }
    th.followed { box-shadow: inset -3px 0 var(--role, currentColor); } thead th.followed { box-shadow: inset 0 -3px var(--role, currentColor); }
    td.source { box-shadow: inset 0 0 0 2px var(--role, currentColor); }
    td.chosen { box-shadow: 0 0 0 3px currentColor; font-weight: 700; }
    td:focus-visible { outline: 2px solid currentColor; outline-offset: -4px; }
    .sum { position: sticky; bottom: 0; z-index: 3; margin-top: .75rem; padding: .75rem 1rem 1rem; background: var(--ground);
      border-top: 1px solid ${SUBTLE}; border-radius: 0 0 12px 12px; min-height: 5.2em; max-height: 40vh; overflow: auto; }
    .number { font-variant-numeric: tabular-nums; font-weight: 600; border-bottom: 2px solid var(--role, currentColor); }
    .term { white-space: nowrap; }
    .hint { font-size: .85rem; }
    @container (max-width: 620px) {
      .walk > *, .sum { padding-left: .6rem; padding-right: .6rem; } .picture { justify-content: flex-start; }
      .stages .name { display: none; } .stages { gap: 2px; } ol { gap: 0; } ol button { min-width: 24px; padding: 0; }
      .stages > button { min-width: 40px; padding: 0; } td { min-width: 38px; padding: 0 3px; } }
    @media (prefers-reduced-motion: no-preference) { td, .chip span, button { transition: background-color .2s, box-shadow .15s; } }
    @media print { form, .stages > button { display: none; } .scroll { max-height: none; } .sum { position: static; } }`;

  function start(host) {
    const data = JSON.parse(host.dataset.walk);
    const lookUp = data.vocabulary && dictionary(data.vocabulary);
    const lab = { words: data.words, features: data.features, known: data.words.map(() => true) };
    const state = { ...lab, follow: data.follow, head: 0, stage: 0 };
    let list = [];                                           // the stages, computed for this state

    const words = make("fieldset", { class: "words" }), heads = make("fieldset", { class: "heads" });
    const back = make("button", { type: "button", class: "back", "aria-label": "Step back" }, "\u2190", make("span", { class: "name" }, " Back"));
    const next = make("button", { type: "button", class: "next", "aria-label": "Step forward" }, make("span", { class: "name" }, "Next "), "\u2192");
    const places = make("ol"), what = make("p", { class: "what" }), picture = make("div", { class: "picture" });
    const sum = make("p", { class: "sum" }), status = make("p", { class: "spoken", role: "status" });
    const form = make("form", { class: "typed" }), notice = make("p", { class: "notice hint", role: "status" });
    const walk = make("div", { class: "walk", role: "group", "aria-label": "Walk through self-attention" }, form, notice, words,
      heads, make("div", { class: "stages", role: "group", "aria-label": "Stages" }, back, places, next), what, picture, sum, status);
    const root = host.attachShadow({ mode: "open" });
    root.append(make("style", {}, style(data.colours)), walk);

    function chips(fieldset, legend, names, chosen, choose) {
      const radios = names.map((name, i) => {
        const radio = make("input", { type: "radio", name: legend, value: i });
        radio.checked = i === chosen;
        radio.addEventListener("change", () => { choose(i); draw(); });
        return make("label", { class: "chip" }, radio, make("span", {}, make("bdi", {}, name)));
      });
      fieldset.replaceChildren(make("legend", {}, legend), ...radios);
    }

    const chipWords = () => chips(words, "Follow", state.words.map(shown), state.follow, (i) => { state.follow = i; });

    function table(grid, followed, isResult) {
      const most = grid.cells.flat().reduce((m, v) => (Number.isFinite(v) ? Math.max(m, Math.abs(v)) : m), 0) || 1;
      const whole = grid.cells.flat().every(Number.isInteger); // one-hot vectors read better as 0 and 1
      // Scores and weights have words on both sides; the followed word is the one that looks, so its row is marked.
      const alongRows = grid.rows.kind === "word";
      const mark = (i) => (followed && i === state.follow ? "followed" : "");
      const heading = (which, i, scope, marked) => make("th", { scope, class: marked ? mark(i) : "" },
        which.kind === "word" ? make("bdi", {}, shown(which.names[i]))
          : [make("span", { class: "spoken" }, `${which.kind} `), which.names[i]]);
      const head = make("tr", {}, make("td"), grid.cols.names.map((_, j) => heading(grid.cols, j, "col", !alongRows)));
      const body = grid.cells.map((row, i) => make("tr", {}, heading(grid.rows, i, "row", alongRows), row.map((value, j) => {
        const cell = make("td", { tabindex: "-1", "data-row": i, "data-col": j, "data-value": value,
          class: mark(alongRows ? i : j) }, whole ? minus(String(value)) : short(value));
        cell.style.setProperty("--share", Number.isFinite(value) ? Math.abs(value) / most : 0);
        return cell;
      })));
      const size = `${grid.cells.length} \u00d7 ${grid.cells[0].length}`;
      const element = make("table", { class: `role-${grid.role}`, "data-name": grid.title }, make("caption", {}, grid.title, make("small", {}, ` ${size}`)),
        make("thead", {}, head), make("tbody", {}, body));
      element.grid = grid;
      element.isResult = isResult;
      return element;
    }

    const cellsOf = (element, [row, col] = [-1, -1]) => Array.from(element?.querySelectorAll("td[data-row]") ?? []).filter((cell) =>
      (row === null || +cell.dataset.row === row) && (col === null || +cell.dataset.col === col));

    // Marks a cell and what made it, and writes its sum. `aloud` is for a cell reached by keyboard: the pointer is silent.
    function point(cell, aloud) {
      const element = cell.closest("table"), [i, j] = [+cell.dataset.row, +cell.dataset.col];
      for (const old of picture.querySelectorAll(".chosen, .source")) old.classList.remove("chosen", "source");
      for (const old of element.querySelectorAll('td[tabindex="0"]')) old.tabIndex = -1;
      cell.tabIndex = 0;
      cell.classList.add("chosen");
      if (element.isResult) {
        const { left, right } = list[state.stage].from(i, j), [first, second] = picture.querySelectorAll("table");
        for (const source of [...cellsOf(left && first, left), ...cellsOf(right && second, right)]) source.classList.add("source");
      }
      sum.replaceChildren(make("strong", {}, element.grid.label(i, j)), ...[element.grid.sum(i, j)].flat(Infinity));
      if (aloud) status.textContent = sum.textContent;
    }

    function draw() {
      list = stages(data, state);
      const stage = list[state.stage], mine = data.convention === "Wx" && stage.grid ? stage.right : stage.left;
      places.replaceChildren(...list.map(({ name }, i) => {
        const button = make("button", { type: "button", "aria-current": i === state.stage && "step", tabindex: i === state.stage ? 0 : -1 },
          `${i + 1}`, make("span", { class: "name" }, ` ${name}`));
        if (i !== state.stage) button.setAttribute("aria-label", `${i + 1} ${name}`);
        button.addEventListener("click", () => step(i));
        return make("li", {}, button);
      }));
      for (const [button, end] of [[back, 0], [next, list.length - 1]]) {
        if (state.stage === end) button.setAttribute("aria-disabled", "true"); else button.removeAttribute("aria-disabled");
      }
      what.replaceChildren(make("strong", {}, `${state.stage + 1}. ${stage.name}`), ...stage.text.flat(Infinity));
      const shownGrids = [stage.left, stage.right, stage.result].filter(Boolean);
      const tables = shownGrids.map((grid) => table(grid, grid === mine || grid === stage.result, grid === stage.result));
      const signs = [[], stage.sign, "="].map((sign) => (sign.length ? make("span", { class: "sign" }, sign) : []));
      picture.replaceChildren(...tables.map((element, i) =>
        make("div", { class: "operand" }, signs[i], make("div", { class: "scroll" }, element))));
      for (const element of tables) cellsOf(element, [0, 0])[0].tabIndex = 0;
      const result = tables.at(-1), turnedRound = stage.result.rows.kind !== "word";
      const square = stage.result.cols.kind === "word" && !turnedRound;
      point(cellsOf(result, turnedRound ? [0, state.follow] : [state.follow, square ? state.follow : 0])[0], false);
      status.textContent = `Stage ${state.stage + 1} of ${list.length}. ${what.textContent}`;
    }

    function step(to) {
      const inside = places.contains(root.activeElement);
      state.stage = Math.max(0, Math.min(list.length - 1, to));
      draw();
      if (inside) places.querySelector("[aria-current]").focus();
    }

    back.addEventListener("click", () => step(state.stage - 1));
    next.addEventListener("click", () => step(state.stage + 1));
    picture.addEventListener("pointerover", (event) => { const cell = event.target.closest("td[data-row]"); if (cell) point(cell, false); });
    picture.addEventListener("click", (event) => { event.target.closest("td[data-row]")?.focus(); });
    picture.addEventListener("focusin", (event) => { if (event.target.matches("td[data-row]")) point(event.target, true); });

    // Arrow keys: in a table from cell to cell, in the text and the choices as the browser does, elsewhere the stages.
    walk.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!moves || event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input")) return;
      const cell = event.target.closest("td[data-row]");
      if (cell) cellsOf(cell.closest("table"), [+cell.dataset.row + moves[0], +cell.dataset.col + moves[1]])[0]?.focus();
      else if (moves[1]) step(state.stage + moves[1]);
      else return;
      event.preventDefault();
    });

    function take(sentence) {
      const typed = sentence.split(/\s+/).filter(Boolean), kept = typed.slice(0, MOST_WORDS);
      if (!kept.length) { notice.textContent = "Type at least one word. Until then the last sentence stays."; return; }
      const found = kept.map(lookUp);
      Object.assign(state, { words: kept, features: found.map(({ numbers }) => numbers), known: found.map(({ known }) => known),
        follow: Math.min(state.follow, kept.length - 1) });
      const strange = [...new Set(kept.filter((_, i) => !found[i].known))];
      notice.replaceChildren(...[
        strange.length ? ["Not in the lab\u2019s table: ", joined(strange.slice(0, 8).map(named), ", "), strange.length > 8 ? ` and ${strange.length - 8} more` : "",
          ". The walk makes up features for such words from their letters, always the same ones. "] : "",
        typed.length > MOST_WORDS ? `You typed ${typed.length} words; the walk takes the first ${MOST_WORDS}.` : ""].flat(Infinity));
      chipWords();
      draw();
    }

    if (lookUp) {
      const input = make("input", { type: "text", autocomplete: "off", spellcheck: "false", dir: "auto", "aria-label": "Your own sentence" });
      const reset = make("button", { type: "button" }, "Lab\u2019s sentence");
      input.value = data.words.join(" ");
      input.addEventListener("input", () => take(input.value));
      form.addEventListener("submit", (event) => event.preventDefault());
      reset.addEventListener("click", () => {
        input.value = data.words.join(" ");
        Object.assign(state, lab, { follow: data.follow });
        notice.replaceChildren();
        chipWords();
        draw();
      });
      form.append(make("label", {}, "Type a sentence of your own"), input, reset);
    } else form.remove();
    if (data.heads > 1) chips(heads, "Head", axis("", data.heads).names, 0, (i) => { state.head = i; }); else heads.remove();

    // Colours come from the page; where it has none (a notebook), light text means a dark theme.
    function theme() {
      const [r, g, b] = getComputedStyle(walk).color.match(/[\d.]+/g).map(Number);
      walk.classList.toggle("dark", r + g + b > 384);
    }
    const watch = new MutationObserver(theme);
    for (const element of [document.documentElement, document.body]) watch.observe(element, { attributes: true });
    chipWords();
    draw();
    theme();
    status.textContent = "";                                 // nothing has happened yet that is worth saying aloud
  }

  for (const host of document.querySelectorAll(".attention-walk[data-walk]")) if (!host.shadowRoot) start(host);
})();

// All heads over one sentence: a small picture of each, the chosen one large, and its numbers. tools.js comes before it.

const SHADES = 8, ROW = 24, WIDE = 300, NAMES = 96;          // pixels: a word's line, the whole figure, its names
const share = (thousandths) => (thousandths / 1000).toFixed(2);
const quoted = (word) => ["\u201c", make("bdi", {}, word), "\u201d"];

function picture(map) {                                      // one path for each shade: few elements, sharp at any size
  const places = Array(SHADES + 1).fill("");
  map.forEach((row, i) => row.forEach((w, j) => { places[Math.round(SHADES * w / 1000)] += `M${j} ${i}h1v1h-1z`; }));
  const paths = places.map((d, shade) => (shade && d ? make("svg:path", { d, opacity: shade / SHADES }) : []));
  const size = `0 0 ${map.length} ${map.length}`;
  return make("svg:svg", { viewBox: size, preserveAspectRatio: "none", "aria-hidden": "true" }, paths);
}

// The chosen head, large: every word on the left attends along its lines to the words on the right.
function lines(place, words, map, follow) {
  const size = `0 0 ${WIDE} ${ROW * words.length}`;          // hidden: the sentence and the table say the same
  const svg = make("svg:svg", { viewBox: size, "aria-hidden": "true" });
  place.replaceChildren(svg);                                // text has a width only where it is shown
  const y = (i) => ROW * (i + 0.5);
  const name = (i, attributes) => {                          // cut to its room, in whatever font the page has
    const text = make("svg:text", { y: y(i) + 5, ...attributes }, words[i]), letters = Array.from(words[i]).slice(0, 30);
    svg.append(text);
    while (letters.length > 1 && text.getComputedTextLength() > NAMES - 4) {
      letters.pop();
      text.textContent = `${letters.join("")}\u2026`;
    }
  };
  map.forEach((row, i) => row.forEach((w, j) => {
    if (w < 50 && i !== follow || w < 10) return;            // what nobody could see
    svg.append(make("svg:line", { x1: NAMES + 4, y1: y(i), x2: WIDE - NAMES - 4, y2: y(j), "data-row": i,
      "stroke-width": (i === follow ? 1.5 + 5 * w / 1000 : 1), "stroke-opacity": (i === follow ? 1 : 0.3) * (0.15 + 0.85 * w / 1000) }));
  }));
  words.forEach((_, i) => {
    name(i, { x: NAMES, "text-anchor": "end", "data-row": i, "font-weight": i === follow ? 700 : 400 });
    name(i, { x: WIDE - NAMES, "font-weight": map[follow][i] >= 100 ? 700 : 400 });
  });
}

startAll("heads", (figure, data) => {
  const { words, weights } = data, state = data;             // state: layer, head, follow
  const about = words.join(" ").slice(0, 80);                // a page may hold several of these: their names must differ
  const summary = make("p", { class: "said", role: "status" });
  const sentence = make("fieldset", { class: "sentence role-weight" }, make("legend", {}, "Follow"));
  const numbers = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Numbers of this head: ${about}` });
  const choose = (change) => { Object.assign(state, change); show(); };

  const buttons = weights.map((layer, l) => layer.map((map, h) => {
    const button = make("button", { type: "button", "aria-label": `Layer ${l}, head ${h}` }, picture(map));
    button.addEventListener("click", () => choose({ layer: l, head: h }));
    return button;
  }));
  const number = (scope, word, i) => make("th", { scope }, make("span", { class: "spoken" }, word), i);
  const grid = make("table", { class: "role-weight" },
    make("caption", {}, "Every head: layers downward, heads across"),
    make("thead", {}, make("tr", {}, make("td"), weights[0].map((_, h) => number("col", "head ", h)))),
    make("tbody", {}, buttons.map((row, l) => make("tr", {}, number("row", "layer ", l), row.map((button) => make("td", {}, button))))));

  const large = make("div", { class: "lines role-weight" });
  large.addEventListener("click", (event) => {               // a word on the left, or one of its lines
    const { row } = event.target.dataset;
    if (row !== undefined) choose({ follow: +row });
  });
  const chips = words.map((word, i) => {
    const radio = make("input", { type: "radio", name: "follow", value: i }), weight = make("small");
    radio.addEventListener("change", () => choose({ follow: i }));
    const chip = make("label", { class: "chip" }, radio, make("span", {}, make("bdi", {}, word), weight));
    sentence.append(chip);
    return { radio, weight, chip };
  });

  function show() {
    const { layer, head, follow } = state, map = weights[layer][head], row = map[follow];
    for (const button of buttons.flat()) {
      const chosen = button === buttons[layer][head];
      button.tabIndex = chosen ? 0 : -1;
      button.setAttribute("aria-pressed", chosen);
    }
    chips.forEach(({ radio, weight, chip }, i) => {
      radio.checked = i === follow;
      weight.textContent = share(row[i]);
      chip.style.setProperty("--share", row[i] / 1000);
    });
    const [first, second] = row.map((_, i) => i).sort((a, b) => row[b] - row[a]);
    summary.replaceChildren(make("strong", {}, `Layer ${layer}, head ${head}. `), ...quoted(words[follow]),
      " attends most to ", ...quoted(words[first]), `: ${share(row[first])}`,
      ...(second === undefined ? ["."] : [", then to ", ...quoted(words[second]), `: ${share(row[second])}.`]));
    lines(large, words, map, follow);
    if (!all.open) return;                                   // hundreds of cells that nobody may ask for
    const cell = (w) => make("td", { style: `--share: ${w / 1000}` }, share(w));
    numbers.replaceChildren(make("table", { class: "role-weight" },
      make("caption", {}, `Layer ${layer}, head ${head}: the weights of the query in each row`),
      make("thead", {}, make("tr", {}, make("td"), words.map((word) => make("th", { scope: "col" }, word)))),
      make("tbody", {}, map.map((weights, i) => make("tr", {}, make("th", { scope: "row" }, words[i]), weights.map(cell))))));
  }

  // Arrow keys go from map to map; what they reach opens at once, as with the words.
  grid.addEventListener("keydown", (event) => {
    const move = arrowOf(event);
    if (!move) return;
    event.preventDefault();
    const [layer, head] = [state.layer + move[0], state.head + move[1]];
    if (!buttons[layer]?.[head]) return;
    choose({ layer, head });
    buttons[layer][head].focus();
  });

  const all = make("details", { class: "numbers" }, make("summary", {}, "All numbers of this head"), numbers);
  all.addEventListener("toggle", show);
  figure.setAttribute("aria-label", `The attention of every head: ${about}`);
  figure.append(make("div", { class: "maps" }, grid), sentence, summary, large, all);
  show();
});

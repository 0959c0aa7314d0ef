// All heads over one sentence: plain JavaScript, inlined by heads.py in every output that needs it. Like the walk it
// looks for waiting elements, draws in a shadow tree, and puts in all text as text nodes; walk.js says why.
(() => {
  "use strict";

  const SHADES = 8;
  const SVG = "http://www.w3.org/2000/svg";

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== false) element.setAttribute(name, value);
    element.append(...children.flat(Infinity));
    return element;
  }

  const quoted = (word) => ["\u201c", make("bdi", {}, word), "\u201d"];
  const share = (thousandths) => (thousandths / 1000).toFixed(2);

  function picture(map) {                                    // one path for each shade: few elements, sharp at any size
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${map.length} ${map.length}`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const places = Array.from({ length: SHADES + 1 }, () => "");
    map.forEach((row, i) => row.forEach((w, j) => { places[Math.round(SHADES * w / 1000)] += `M${j} ${i}h1v1h-1z`; }));
    places.forEach((path, shade) => {
      if (!shade || !path) return;
      const drawn = document.createElementNS(SVG, "path");
      drawn.setAttribute("d", path);
      drawn.setAttribute("opacity", shade / SHADES);
      svg.append(drawn);
    });
    return svg;
  }

  const ROW = 24, WIDE = 300, NAMES = 96;                    // pixels: a word's line, the whole figure, its names

  // The chosen head, large: every word on the left looks along its lines at the words on the right.
  function lines(place, words, map, follow) {
    const svg = document.createElementNS(SVG, "svg");
    place.replaceChildren(svg);                              // text has a width only where it is shown
    const draw = (tag, attributes, text = "") => {
      const element = document.createElementNS(SVG, tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      element.append(text);
      svg.append(element);
      return element;
    };
    const name = (word, attributes) => {                     // cut to its room, in whatever font the page has
      const element = draw("text", attributes, word), letters = Array.from(word).slice(0, 30);
      while (letters.length > 1 && element.getComputedTextLength() > NAMES - 4) {
        letters.pop();
        element.textContent = `${letters.join("")}\u2026`;
      }
    };
    const y = (i) => ROW * (i + 0.5);
    svg.setAttribute("viewBox", `0 0 ${WIDE} ${ROW * words.length}`);
    svg.setAttribute("aria-hidden", "true");                 // the sentence and the table say the same
    map.forEach((row, i) => row.forEach((w, j) => {
      if (w < 50 && i !== follow || w < 10) return;          // what nobody could see
      draw("line", { x1: NAMES + 4, y1: y(i), x2: WIDE - NAMES - 4, y2: y(j), "data-row": i,
        "stroke-width": (i === follow ? 1.5 + 5 * w / 1000 : 1), "stroke-opacity": (i === follow ? 1 : 0.3) * (0.15 + 0.85 * w / 1000) });
    }));
    words.forEach((word, i) => {
      const look = i === follow ? { "font-weight": 700, "data-row": i } : { "data-row": i };
      name(word, { x: NAMES, y: y(i) + 5, "text-anchor": "end", ...look });
      name(word, { x: WIDE - NAMES, y: y(i) + 5, "font-weight": map[follow][i] >= 100 ? 700 : 400 });
    });
  }

  function start(host) {
    const data = JSON.parse(host.dataset.heads);
    const { words, weights } = data;
    const state = { layer: data.layer, head: data.head, follow: data.follow };

    const about = words.join(" ").slice(0, 80); // a page may hold several of these: their names must differ
    const summary = make("p", { class: "said", role: "status" });
    const sentence = make("fieldset", { class: "sentence role-weight" }, make("legend", {}, "Follow"));
    const numbers = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Numbers of this head: ${about}` });
    const buttons = weights.map((layer, l) => layer.map((map, h) => {
      const button = make("button", { type: "button", "aria-label": `Layer ${l}, head ${h}` }, picture(map));
      button.addEventListener("click", () => { Object.assign(state, { layer: l, head: h }); show(); });
      return button;
    }));
    const number = (word, i) => make("th", { scope: "col" }, make("span", { class: "spoken" }, word), i);
    const grid = make("table", { class: "role-weight" },
      make("caption", {}, "Every head: layers downward, heads across"),
      make("thead", {}, make("tr", {}, make("td"), weights[0].map((_, h) => number("head ", h)))),
      make("tbody", {}, buttons.map((row, l) => make("tr", {},
        make("th", { scope: "row" }, make("span", { class: "spoken" }, "layer "), l),
        row.map((button) => make("td", {}, button))))));

    const large = make("div", { class: "lines role-weight" });
    large.addEventListener("click", (event) => {             // a word on the left, or one of its lines
      const { row } = event.target.dataset;
      if (row !== undefined) { state.follow = +row; show(); }
    });
    const chips = words.map((word, i) => {
      const radio = make("input", { type: "radio", name: "follow", value: i });
      radio.addEventListener("change", () => { state.follow = i; show(); });
      const weight = make("small");
      const chip = make("label", { class: "chip" }, radio, make("span", {}, make("bdi", {}, word), weight));
      sentence.append(chip);
      return { radio, weight, chip };
    });

    function show() {
      const map = weights[state.layer][state.head], row = map[state.follow];
      buttons.flat().forEach((button) => { button.tabIndex = -1; button.setAttribute("aria-pressed", "false"); });
      const chosen = buttons[state.layer][state.head];
      chosen.tabIndex = 0;
      chosen.setAttribute("aria-pressed", "true");
      chips.forEach(({ radio, weight, chip }, i) => {
        radio.checked = i === state.follow;
        weight.textContent = share(row[i]);
        chip.style.setProperty("--share", row[i] / 1000);
      });
      const order = row.map((_, i) => i).sort((a, b) => row[b] - row[a]);
      const [first, second] = order;
      summary.replaceChildren(make("strong", {}, `Layer ${state.layer}, head ${state.head}. `), ...quoted(words[state.follow]),
        " attends most to ", ...quoted(words[first]), `: ${share(row[first])}`,
        ...(second === undefined ? ["."] : [", then at ", ...quoted(words[second]), `: ${share(row[second])}.`]));
      lines(large, words, map, state.follow);
      if (!all.open) return;                                 // hundreds of cells that nobody may ask for
      const cell = (w) => {
        const td = make("td", {}, share(w));
        td.style.setProperty("--share", w / 1000);
        return td;
      };
      numbers.replaceChildren(make("table", { class: "role-weight" },
        make("caption", {}, `Layer ${state.layer}, head ${state.head}: where the word of the row looks`),
        make("thead", {}, make("tr", {}, make("td"), words.map((word) => make("th", { scope: "col" }, word)))),
        make("tbody", {}, map.map((line, i) => make("tr", {}, make("th", { scope: "row" }, words[i]), line.map(cell))))));
    }

    // Arrow keys go from map to map; what they reach opens at once, as with the words.
    grid.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!move || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      const [l, h] = [state.layer + move[0], state.head + move[1]];
      if (!buttons[l]?.[h]) return;
      Object.assign(state, { layer: l, head: h });
      show();
      buttons[l][h].focus();
    });

    const all = make("details", { class: "numbers" }, make("summary", {}, "All numbers of this head"), numbers);
    all.addEventListener("toggle", show);
    const figure = make("section", { class: "walk", "aria-label": `The attention of every head: ${about}` },
      make("div", { class: "maps" }, grid), sentence, summary, large, all);
    const root = host.attachShadow({ mode: "open" });
    root.append(make("style", {}, data.style), figure);

    // Where the page sets no colours (a notebook), light letters mean a dark theme.
    function theme() {
      const [red, green, blue] = getComputedStyle(figure).color.match(/[\d.]+/g).map(Number);
      figure.classList.toggle("dark", red + green + blue > 384);
    }
    const watch = new MutationObserver(theme);
    for (const element of [document.documentElement, document.body]) watch.observe(element, { attributes: true });
    show();
    theme();
  }

  for (const host of document.querySelectorAll(".attention-heads[data-heads]")) if (!host.shadowRoot) start(host);
})();

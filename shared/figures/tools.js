// What scripts share, of figures and of the site. picture.py puts it before walk.js or heads.js, inside one function,
// because a notebook's output brings all that it needs; the site loads it before its own scripts.
//
// Why figures are built this way:
// * A script looks for waiting elements, and never for "the script that runs now": a built page runs scripts while it is
//   being read, JupyterLab creates them again once it has added the output, others evaluate their text. This works in all.
// * Everything is drawn in a shadow tree: no style or name leaks in or out, and two figures on a page cannot meet.
//   Once that tree exists, the browser itself stops showing the still picture inside the element.
// * All text goes in as text nodes. Nothing that a reader types is ever read as markup.
"use strict";

function make(tag, attributes = {}, ...children) {           // "svg:path" is an element of a drawing
  const space = tag.startsWith("svg:") ? "http://www.w3.org/2000/svg" : document.documentElement.namespaceURI;
  const element = document.createElementNS(space, tag.replace("svg:", ""));
  for (const [name, value] of Object.entries(attributes)) if (value !== false) element.setAttribute(name, value);
  element.append(...children.flat(Infinity));
  return element;
}

// Scores to weights, in place: the softmax of row[from] to row[end - 1]. Also in workers, which get its text.
function softmaxRow(row, from = 0, end = row.length) {
  let largest = -Infinity, total = 0;                        // taken off first, or a score of 1,000 would overflow
  for (let n = from; n < end; n++) if (row[n] > largest) largest = row[n];
  for (let n = from; n < end; n++) total += row[n] = Math.exp(row[n] - largest);
  for (let n = from; n < end; n++) row[n] /= total;
  return row;
}

function arrowOf({ key, ctrlKey, altKey, metaKey }) {        // [down, across] of an arrow key
  if (ctrlKey || altKey || metaKey) return undefined;
  return { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[key];
}

// Starts every element of this kind that waits in the document: `start(figure, data, host)` fills the figure.
function startAll(kind, start) {
  for (const host of document.querySelectorAll(`.attention-${kind}[data-${kind}]`)) {
    if (host.shadowRoot) continue;
    const data = JSON.parse(host.dataset[kind]), figure = make("div", { class: "walk", role: "group" });
    host.attachShadow({ mode: "open" }).append(make("style", {}, data.style), figure);
    const theme = () => {                                    // where the page sets no colours, light letters mean a dark theme
      const [red, green, blue] = getComputedStyle(figure).color.match(/[\d.]+/g).map(Number);
      figure.classList.toggle("dark", red + green + blue > 384);
    };
    const watch = new MutationObserver(theme);
    for (const element of [document.documentElement, document.body]) watch.observe(element, { attributes: true });
    theme();
    start(figure, data, host);
  }
}

// Starts the deck: figures as large as their slide lets them be, keys, light and dark, paper.

const root = document.documentElement;
const stored = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const PAPER = /print-pdf/.test(location.search);
root.dataset.theme = PAPER ? "light" : stored || (dark ? "dark" : "light");

// As large as there is room: pictures threefold, what is read by half, words as they are.
const LARGEST = { picture: 3, printed: 1.5, table: 1.5, code: 1.5, live: 1.4 };
const WIDTHS = ["max-content", "1000px", "800px", "600px", "450px"];

function fit(slide) {
  const shown = slide.querySelector(".shown"), room = slide.querySelector(".room");
  const kind = slide.classList[0], largest = LARGEST[kind] || 1;
  let best = { scale: 0 };
  const attempt = (width, beside = false) => {
    slide.classList.toggle("beside", beside);
    shown.style.width = width;
    const wide = Math.max(shown.offsetWidth, shown.scrollWidth) + 1; // a picture may be wider than it was given
    const scale = Math.min(room.clientWidth / wide, room.clientHeight / shown.offsetHeight);
    if (scale > 1.05 * best.scale) best = { scale, beside, width: `${wide}px` };
  };
  slide.classList.remove("fitted", "scrolls");
  shown.style.zoom = 1;
  if (kind === "live" && !PAPER) best = { scale: largest, beside: false, width: "100%" };
  else if (kind === "picture") { // side by side or in rows, below the heading or, a tall one, beside it
    for (const beside of [false, true]) for (const width of WIDTHS) attempt(width, beside);
    if (best.scale < 1 && !shown.querySelector("svg, img") && !PAPER) { // a whole review, its words shaded
      best = { scale: 1, beside: false, width: "100%" };
      slide.classList.add("scrolls");
    }
  } else {
    if (kind in LARGEST && kind !== "live") attempt("max-content");
    if (best.scale < 1) {
      best.scale = 0;
      attempt(`${room.clientWidth}px`);
    }
  }
  slide.classList.toggle("beside", best.beside);
  shown.style.width = best.width;
  shown.style.zoom = Math.min(best.scale, largest);
  slide.classList.add("fitted");
}

// The walk and the heads lie side by side with their words here, where a page has them one below the other.
const WIDE = `
  .walk { display: grid; grid-template-columns: 16.5rem minmax(0, 1fr); }
  .walk > * { grid-column: 1; align-self: start; padding-inline: .6rem; }
  .walk > :is(.stages, .sum, .sentence, .said, .numbers) { grid-column: 1 / -1; }
  .walk > .stages { grid-row: 1; position: static; }
  .walk > .picture { grid-column: 2; grid-row: 2 / span 6; }
  .walk > .sum { min-height: 0; }
  .walk ol button { padding: 0 .15rem; font-size: .8rem; }
  .walk > .what { min-height: 0; }
  .walk:has(.maps) { grid-template-columns: 29rem minmax(0, 1fr); }
  .walk > .maps { grid-row: 1 / span 3; padding-top: .3rem; }
  .walk .maps button { width: 31px; height: 31px; padding: 1px; }
  .walk > .lines { grid-column: 2; grid-row: 1; }
`;
document.querySelectorAll(".attention-walk, .attention-heads").forEach((figure) => {
  figure.shadowRoot?.append(Object.assign(document.createElement("style"), { textContent: WIDE }));
});

const deck = new Reveal({
  width: 1280, height: 720, margin: 0, center: false, display: "flex", hash: true, slideNumber: "c/t", transition: "none",
  backgroundTransition: "none", pdfSeparateFragments: false, pdfMaxPagesPerSlide: 1, plugins: [RevealNotes, RevealZoom],
  // Keys that are pressed in a figure are the figure's; a presenter's PageDown goes on.
  keyboardCondition: (event) => event.key.startsWith("Page")
    || !event.composedPath().some((node) => node.matches?.(".attention-walk, .attention-heads")),
});
deck.addKeyBinding({ keyCode: 68, key: "D", description: _("Light or dark") }, () => {
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
});
deck.on("slidechanged", (event) => fit(event.currentSlide));
deck.on("pdf-ready", () => {
  deck.getSlides().forEach(fit);
  root.dataset.printable = "";
});
deck.initialize().then(() => fit(deck.getCurrentSlide()));

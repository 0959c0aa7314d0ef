// Starts the deck: figures as large as their slide lets them be, keys, light and dark, paper.

const root = document.documentElement;
const stored = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
root.dataset.theme = /print-pdf/.test(location.search) ? "light" : stored || (dark ? "dark" : "light");

// As large as there is room: pictures threefold, what is read by half, and what is played with so that it can be read.
const LARGEST = { picture: 3, printed: 1.5, table: 1.5, code: 1.5, live: 1.5 };
const WIDTHS = { picture: ["max-content", "1000px", "800px", "600px", "450px"], live: [] };

function fit(slide) {
  const shown = slide.querySelector(".shown"), room = slide.querySelector(".room");
  const largest = LARGEST[slide.classList[0]];
  if (!largest) return;
  shown.style.zoom = 1;
  // Side by side, or in rows: what lets the letters be largest.
  const scale = (width) => {
    shown.style.width = width;
    return Math.min(room.clientWidth / shown.offsetWidth, room.clientHeight / shown.offsetHeight);
  };
  const widths = WIDTHS[slide.classList[0]] || ["max-content", `${room.clientWidth}px`];
  let best = [largest, "100%"];
  widths.forEach((width, place) => {
    const found = scale(width);
    if (!place || found > 1.05 * best[0]) best = [found, `${shown.offsetWidth + 1}px`];
  });
  shown.style.width = best[1];
  shown.style.zoom = Math.min(best[0], largest);
}

// The walk and the heads lie side by side with their words here, where a page has them one below the other.
const WIDE = `
  .walk { display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
  .walk > * { grid-column: 1; align-self: start; }
  .walk > :is(form, .stages, .sum, .sentence, .said, .numbers) { grid-column: 1 / -1; }
  .walk > .stages { grid-row: 1; position: static; }
  .walk > .picture { grid-column: 2; grid-row: 3 / span 5; align-self: center; }
  .walk > .sum { min-height: 0; }
  .walk > .maps { grid-column: 1 / -1; }
`;
document.querySelectorAll(".attention-walk, .attention-heads").forEach((figure) => {
  figure.shadowRoot?.append(Object.assign(document.createElement("style"), { textContent: WIDE }));
});

const deck = new Reveal({
  width: 1280, height: 720, margin: 0, center: false, display: "flex", hash: true, slideNumber: "c/t", transition: "none",
  backgroundTransition: "none", pdfSeparateFragments: false, plugins: [RevealNotes, RevealZoom],
  // Keys that are pressed in a figure are the figure's; a presenter's PageDown goes on.
  keyboardCondition: (event) => event.key.startsWith("Page")
    || !event.composedPath().some((node) => node.matches?.(".attention-walk, .attention-heads")),
});
deck.addKeyBinding({ keyCode: 68, key: "D", description: "Light or dark" }, () => {
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
});
deck.on("slidechanged", (event) => fit(event.currentSlide));
deck.on("pdf-ready", () => deck.getSlides().forEach(fit));
deck.initialize().then(() => fit(deck.getCurrentSlide()));

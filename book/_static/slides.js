// Starts the deck: figures as large as their slide lets them be, keys, light and dark, paper.

const root = document.documentElement;
const stored = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
root.dataset.theme = /print-pdf/.test(location.search) ? "light" : stored || (dark ? "dark" : "light");

// As large as there is room: pictures threefold, what is read by half, and what is played with so that it can be read.
const LARGEST = { picture: 3, few: 1.5, printed: 1.5, table: 1.5, code: 1.2 };

function fit(slide) {
  const shown = slide.querySelector(".shown"), room = slide.querySelector(".room");
  const largest = LARGEST[slide.classList[0]];
  shown.style.zoom = 1;
  if (slide.matches(".live")) {
    shown.style.zoom = 1.5;
    shown.style.width = "100%";
  } else if (largest) {
    // Side by side, or in rows: what lets the letters be largest.
    const scale = (width) => {
      shown.style.width = width;
      return Math.min(room.clientWidth / shown.offsetWidth, room.clientHeight / shown.offsetHeight);
    };
    const widths = ["max-content", "1000px", "800px", "600px", "450px"].map((width) => [scale(width), width]);
    const [best, width] = widths.reduce((one, other) => (other[0] > 1.05 * one[0] ? other : one));
    shown.style.width = width;
    shown.style.zoom = Math.min(best, largest);
  }
}

const deck = new Reveal({
  width: 1280, height: 720, margin: 0, center: false, display: "flex", hash: true, slideNumber: "c/t", transition: "none",
  backgroundTransition: "none", pdfSeparateFragments: false, plugins: [RevealNotes],
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

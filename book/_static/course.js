// What a page does beyond showing text: its theme, the labs read so far, the place in the page, figures, code that folds,
// copy buttons, scrolling by keyboard, closing the contents.
// Everything is readable without it.

const announce = (words) => { document.getElementById("said").textContent = words; };

// What the scripts of single pages use, too; `make` is in tools.js.
const shown = (word) => (word.length > 24 ? `${word.slice(0, 23)}\u2026` : word);
const many = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

// Speaks once the reader rests, and only what changed: for fields that answer to every letter.
const announcer = (place) => {
  let timer = 0;
  return (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => { if (place.textContent !== text) place.textContent = text; }, 900);
  };
};

// What this browser stores. Private windows and some file:// pages store nothing.
const recall = (key) => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
const retain = (key, value) => { try { localStorage.setItem(key, value); } catch { /* then it is forgotten */ } };

// Theme: the system's, until the reader chooses.
const root = document.documentElement;
const theme = document.getElementById("theme");
const showTheme = () => { theme.ariaPressed = root.dataset.theme === "dark"; };
theme.hidden = false;
showTheme();
theme.addEventListener("click", () => {
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  retain("theme", root.dataset.theme);
  showTheme();
});

// Paper is white, also for readers in the dark.
let onScreen = null;
addEventListener("beforeprint", () => { onScreen ??= root.dataset.theme; root.dataset.theme = "light"; });
addEventListener("afterprint", () => { root.dataset.theme = onScreen ?? root.dataset.theme; onScreen = null; });

// Progress: a lab, or another page with questions, counts as read once its end was in sight. That is noted in this browser and nowhere else.
const courseRoot = new URL(root.dataset.content_root, location.href).href;
const nameOf = (address) => address.split(/[?#]/)[0].slice(courseRoot.length);
const labsRead = () => new Set([recall("labs read") ?? []].flat());
const showRead = () => {
  const names = labsRead();
  for (const link of document.querySelectorAll('#contents a:has(.number)')) {
    if (!names.has(nameOf(link.href)) || link.classList.contains("read")) continue;
    link.classList.add("read");
    link.append(make("span", { class: "hidden" }, ", read"));
  }
};
showRead();
if (document.querySelector(".lab-head, .quiz")) {
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    retain("labs read", JSON.stringify([...labsRead().add(nameOf(location.href))]));
    showRead();
  }).observe(document.querySelector(".turn"));
}

// Where the reader is: the bar says how far down, the contents mark the section, and the place is kept for next time.
const bar = document.querySelector(".bar"), contents = document.getElementById("contents");
// The contents scroll to an entry that is far down in them or out of sight.
function showInContents(entry) {
  const away = entry.getBoundingClientRect().top - contents.getBoundingClientRect().top;
  if (away < contents.querySelector("form").offsetHeight || away > contents.clientHeight * 0.6) contents.scrollTop += away - contents.clientHeight / 4;
}
const places = Array.from(document.querySelectorAll("#contents .sections a"), (link) =>
  ({ link, heading: document.getElementById(decodeURIComponent(link.hash.slice(1))) }));
let looking = false;
function look() {
  looking = false;
  const below = root.scrollHeight - innerHeight;
  bar.style.setProperty("--read", below > 0 ? Math.min(1, scrollY / below).toFixed(4) : 1);
  // A short last section never comes up to the top.
  const line = below > 0 && scrollY > below - 2 ? innerHeight : innerHeight / 3;
  const here = places.findLast(({ heading }) => heading.getBoundingClientRect().top < line);
  if (here && !here.link.ariaCurrent) showInContents(here.link);
  for (const place of places) place.link.ariaCurrent = place === here ? "location" : null;
  document.getElementById("here").textContent = here?.link.textContent ?? "";
  if (!here) return;
  const place = { page: nameOf(location.href), hash: here.link.hash, name: here.link.textContent };
  if (place.page.startsWith("labs/")) retain("place", JSON.stringify(place));
}
const lookSoon = () => { if (!looking) requestAnimationFrame(look); looking = true; };
addEventListener("scroll", lookSoon, { passive: true });
addEventListener("resize", lookSoon);

// The welcome page leads back to where the reader was.
const start = document.querySelector(".start p");
if (start) {
  const place = recall("place");
  if (typeof place?.page === "string" && /^labs\/\w+\/\w+\.html$/.test(place.page)) {
    const number = document.querySelector(`#contents a[href$="${place.page}"] .number`)?.textContent;
    const where = `Go on where you were: ${number ? `lab ${number}` : "a lab"}, “${place.name}”`;
    start.append(" ", make("a", { href: `${courseRoot}${place.page}${place.hash}` }, where));
  }
}

// What this browser keeps, and one button that clears it.
const forget = document.getElementById("forget");
if (forget) {
  forget.hidden = false;
  forget.textContent = "Forget all of it";
  forget.addEventListener("blur", () => { if (forget.dataset.sure) { delete forget.dataset.sure; forget.textContent = "Forget all of it"; } });
  forget.addEventListener("click", async () => {
    if (!forget.dataset.sure) {
      forget.dataset.sure = "asked";
      announce(forget.textContent = "Press again: what you have read, guessed and answered will be gone for good");
      return;
    }
    delete forget.dataset.sure;
    try {
      for (const key of ["theme", "labs read", "place", "code", "answers", "playground", "remember"]) localStorage.removeItem(key);
    } catch { /* nothing is stored */ }
    for (const room of ["pretrained model", "review writer"]) await globalThis.caches?.delete(room).catch(() => {}); // a page from a disk has none
    forget.textContent = "Forgotten";
    announce("Forgotten");
  });
}

// Figures that answer to the reader are drawn when the reader comes near, or prints, or follows a link into the page.
const nearFigures = new IntersectionObserver((entries) => {
  if (entries.some((entry) => entry.isIntersecting)) drawFigures();
}, { rootMargin: "200% 0px" });
function drawFigures() {
  nearFigures.disconnect();
  for (const waiting of document.querySelectorAll("script.figures")) {
    waiting.replaceWith(Object.assign(document.createElement("script"), { textContent: waiting.textContent }));
  }
}
for (const host of document.querySelectorAll("[data-walk], [data-heads]")) nearFigures.observe(host);
addEventListener("beforeprint", drawFigures);
if (location.hash) drawFigures();
// Another state of a walk, put into the address of an open page: walks read theirs when they are drawn.
addEventListener("hashchange", () => { if (/^#walk\d+=/.test(location.hash)) location.reload(); });

// Code folds, one cell or all of them; results stay. Unfolded it is as the page was delivered.
const inputs = Array.from(document.querySelectorAll(".cell_input")).filter((input) => !input.closest("details"));
const launch = document.querySelector(".launch");
if (launch && inputs.length) {
  const button = make("button", { type: "button", id: "fold" });
  const isFolded = () => document.querySelector("details.code") !== null;
  const fold = (folded) => {
    for (const details of document.querySelectorAll("details.code")) details.replaceWith(details.lastElementChild);
    for (const input of folded ? inputs : []) {
      const lines = input.querySelector("pre").textContent.trimEnd().split("\n").length;
      const details = make("details", { class: "code" }, make("summary", {}, `Code, ${many(lines, "line")}`));
      input.replaceWith(details);
      details.append(input);
    }
    button.textContent = folded ? "Unfold code" : "Fold code";
  };
  button.addEventListener("click", () => {
    fold(!isFolded());
    retain("code", isFolded());
    lookSoon();
  });
  fold(recall("code") === true);
  launch.append(make("li", {}, button));
}
lookSoon(); // not now: the page has not been laid out yet, and what follows changes it

// Copy: code is stored without prompts, so its text is what to copy.
if (navigator.clipboard) {
  for (const code of document.querySelectorAll(".highlight > pre")) {
    const button = make("button", { type: "button", class: "copy", "aria-label": "Copy this code" }, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = button.ariaLabel = "Copied";
        announce("Copied");
      } catch {
        announce("The browser did not allow copying; select the code instead.");
      }
      setTimeout(() => Object.assign(button, { textContent: "Copy", ariaLabel: "Copy this code" }), 2000);
    });
    code.parentElement.append(button);
  }
}

// What scrolls inside itself can be reached and scrolled by keyboard, and only while it does scroll.
const scrollers = document.querySelectorAll("pre, .scroll, div.math, p:has(math), .cell_output > .output");
const showScrolling = (target) => {
  const scrolls = target.scrollWidth > target.clientWidth + 1;
  const label = `${target.tagName === "PRE" ? "Code or text" : "Table or figure"}, scrolls sideways`;
  for (const [name, value] of Object.entries({ tabindex: 0, role: "group", "aria-label": label })) {
    if (scrolls) target.setAttribute(name, value);
    else target.removeAttribute(name);
  }
  target.classList.toggle("more", target.scrollLeft + target.clientWidth < target.scrollWidth - 1); // an arrow says so
};
const watch = new ResizeObserver((entries) => entries.forEach(({ target }) => showScrolling(target)));
// A font that arrives late changes how wide a text is, but not the size of the box around it.
document.fonts.addEventListener("loadingdone", () => scrollers.forEach(showScrolling));
for (const element of scrollers) {
  watch.observe(element);
  element.addEventListener("scroll", () => showScrolling(element), { passive: true });
}

// Chromium leaves a quarter of an em behind what stands in a root, other browsers nothing.
document.fonts.ready.then(() => {
  const radical = Array.from(document.querySelectorAll("msqrt")).find((each) => each.getBoundingClientRect().width);
  if (!radical) return;
  const air = radical.getBoundingClientRect().right - radical.lastElementChild.getBoundingClientRect().right;
  root.style.setProperty("--root-air", (air / parseFloat(getComputedStyle(radical).fontSize)).toFixed(3));
});

const openPage = document.querySelector('#contents [aria-current="page"]');
if (openPage) {
  showInContents(openPage);
  contents.addEventListener("toggle", () => showInContents(openPage)); // on a phone it has no size before
}

// Contents on a phone: gone once the reader has chosen a heading of this page.
contents.addEventListener("click", (event) => {
  if (event.target.closest('a[href^="#"]') && contents.matches(":popover-open")) contents.hidePopover();
});

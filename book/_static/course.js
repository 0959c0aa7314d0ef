// What a page does beyond standing there: its theme, the labs read so far, its copy buttons, scrolling by keyboard,
// closing the contents.
// Everything is readable without it.

const said = (words) => { document.getElementById("said").textContent = words; };

// Theme: the system's, until the reader chooses.
const root = document.documentElement;
const theme = document.getElementById("theme");
const showTheme = () => theme.setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
theme.hidden = false;
showTheme();
theme.addEventListener("click", () => {
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* private windows and some file:// pages */ }
  showTheme();
});

// Paper is white, also for readers in the dark.
let onScreen = null;
addEventListener("beforeprint", () => { onScreen ??= root.dataset.theme; root.dataset.theme = "light"; });
addEventListener("afterprint", () => { root.dataset.theme = onScreen ?? root.dataset.theme; onScreen = null; });

// Progress: a lab counts as read once its end was in sight. That is noted in this browser and nowhere else.
const courseRoot = new URL(root.dataset.content_root, location.href).href;
const nameOf = (address) => address.split(/[?#]/)[0].slice(courseRoot.length);
const labsRead = () => {
  try { return new Set(JSON.parse(localStorage.getItem("labs read")) || []); } catch { return new Set(); }
};
const showRead = () => {
  const names = labsRead();
  for (const link of document.querySelectorAll('.steps a, #contents a:has(.number)')) {
    if (!names.has(nameOf(link.href)) || link.classList.contains("read")) continue;
    link.classList.add("read");
    link.insertAdjacentHTML("beforeend", '<span class="hidden">, read</span>');
  }
};
showRead();
if (document.querySelector(".steps")) {
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    try { localStorage.setItem("labs read", JSON.stringify([...labsRead().add(nameOf(location.href))])); } catch { /* as above */ }
    showRead();
  }).observe(document.querySelector(".turn"));
}

// Copy: code is stored without prompts, so its text is what to copy.
if (navigator.clipboard) {
  for (const block of document.querySelectorAll(".highlight")) {
    const code = block.querySelector("pre");
    if (!code || block.closest(".cell_output")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this code");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
        said("Copied");
      } catch {
        said("The browser did not allow copying; select the code instead.");
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.append(button);
  }
}

// What scrolls inside itself can be reached and scrolled by keyboard, and only while it does scroll.
const scrollers = document.querySelectorAll("pre, .scroll, div.math, p:has(math), .cell_output > .output");
const names = { PRE: "Code or text" };
const watch = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth + 1;
    if (scrolls) {
      target.tabIndex = 0;
      target.setAttribute("role", "group");
      target.setAttribute("aria-label", `${names[target.tagName] || "Table or figure"}, scrolls sideways`);
    } else if (target.tabIndex === 0) {
      target.removeAttribute("tabindex");
      target.removeAttribute("role");
      target.removeAttribute("aria-label");
    }
    showMore(target);
  }
});
// It fades out where more of it is to come.
const showMore = (target) => {
  target.classList.toggle("more", target.scrollLeft + target.clientWidth < target.scrollWidth - 1);
};
for (const element of scrollers) {
  watch.observe(element);
  element.addEventListener("scroll", () => showMore(element), { passive: true });
}

// Contents on a phone: gone once the reader has chosen a heading of this page.
const contents = document.getElementById("contents");
contents.addEventListener("click", (event) => {
  if (event.target.closest('a[href^="#"]') && contents.matches(":popover-open")) contents.hidePopover();
});

// How many pages a search found is said aloud, too, and in the course's words: it has no categories, and no "page(s)".
const results = document.getElementById("search-results");
if (results) {
  Object.assign(Documentation.TRANSLATIONS, {
    "Search Results": "Found",
    "Search finished, found ${resultCount} page(s) matching the search query.":
      "Pages and sections found: ${resultCount}.",
    ["Your search did not match any documents. Please make sure that all words are spelled correctly and that " +
      "you've selected enough categories."]: "No page holds all of these words. Try fewer, or another spelling.",
  });
  new MutationObserver(() => said(results.querySelector(".search-summary")?.textContent || ""))
    .observe(results, { childList: true, subtree: true, characterData: true });
}

// Search results quote the pages they found, which a browser refuses to read over file://.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

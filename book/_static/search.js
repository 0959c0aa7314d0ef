// The search: all words of the query, section by section. A query in quotes stays together, a number is whole ("3.2" is
// not in "13.2"), a word that stands nowhere may differ by a letter. Only the search page loads this, with its index.
(() => {
  "use strict";

  const MOST = 200;                                          // letters of a query, and sections shown
  const results = document.getElementById("search-results");
  const pages = globalThis.courseIndex;
  const sections = pages.flatMap(([page, heading, list]) => list.map(([id, title, text]) =>
    ({ page, heading, id, title, text, low: `${title}\n${text}`.toLowerCase() })));

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function pattern(term) {
    const plain = term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+");
    if (/^\d/.test(term)) return new RegExp(`(?<![\\d.])${plain}(?!\\d)`, "g");
    return new RegExp(/^[a-z]{1,2}$/.test(term) ? `(?<![a-z])${plain}(?![a-z])` : plain, "g");
  }

  const termsOf = (query) => Array.from(query.toLowerCase().replace(/[\u201c-\u201f\u00ab\u00bb]/g, '"').matchAll(/"([^"]+)"|(\S+)/g),
    ([, phrase, word]) => phrase?.trim() ?? word.replace(/^["(,;:]+|[").,;:!?]+$/g, "")).filter(Boolean);

  // One letter too many, too few, another one, or two that changed places.
  function near(a, b) {
    if (Math.abs(a.length - b.length) > 1 || a === b) return false;
    let i = 0;
    while (a[i] === b[i]) i++;
    return a.slice(i + 1) === b.slice(i + 1) || a.slice(i) === b.slice(i + 1) || a.slice(i + 1) === b.slice(i)
      || (a[i] === b[i + 1] && a[i + 1] === b[i] && a.slice(i + 2) === b.slice(i + 2));
  }

  let counts = null;                                         // word -> how often the course has it
  function forgiven(term) {
    if (term.length < 4 || sections.some(({ low }) => low.match(pattern(term)))) return term;
    if (!counts) {
      counts = new Map();
      for (const { low } of sections) {
        for (const [word] of low.matchAll(/[\p{L}\p{N}_]{3,}/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
      }
    }
    const close = [...counts.keys()].filter((word) => near(term, word));
    return close.sort((a, b) => counts.get(b) - counts.get(a))[0] ?? term;
  }

  function score(section, terms) {
    let sum = 0;
    for (const term of terms) {
      const hits = section.low.match(pattern(term));
      if (!hits) return 0;
      sum += Math.min(hits.length, 5) + 20 * pattern(term).test(section.title.toLowerCase())
        + 8 * pattern(term).test(section.heading.toLowerCase());
    }
    return sum + 30 * (terms.length > 1 && pattern(terms.join(" ")).test(section.low));
  }

  // The words around the first match in the text, better of all terms together, and the words to which the link leads.
  function found({ text }, terms) {
    const low = text.toLowerCase();
    const places = (list) => list.map((term) => pattern(term).exec(low)).filter(Boolean).sort((a, b) => a.index - b.index);
    const [first] = [...places([terms.join(" ")]), ...places(terms)];
    if (!first) return null;
    const begin = low.slice(0, first.index).search(/[\p{L}\p{N}_]*$/u);
    const end = first.index + first[0].length + low.slice(first.index + first[0].length).search(/[^\p{L}\p{N}_]|$/u);
    const from = text.indexOf(" ", Math.max(0, begin - 80));
    const cut = begin < 80 ? [0, ""] : [from + 1, "\u2026 "];
    const rest = text.length > end + 120 ? text.slice(end, end + 120).replace(/\S*$/, "\u2026") : text.slice(end);
    return { word: text.slice(begin, end),
      line: [`${cut[1]}${text.slice(cut[0], begin)}`, make("mark", {}, text.slice(begin, end)), rest] };
  }

  function performSearch(query) {
    const typed = termsOf(query.slice(0, MOST)), terms = typed.map(forgiven);
    const ranked = (terms.length ? sections : []).map((section) => [score(section, terms), section])
      .filter(([sum]) => sum > 0).sort(([a], [b]) => b - a).map(([, section]) => section);
    const other = terms.filter((term, i) => term !== typed[i]);
    const count = ranked.length ? `Pages and sections found: ${ranked.length}.`
      : "No page holds all of these words. Try fewer, or another spelling.";
    const spelled = `Spelled as the course does: ${other.join(", ")}.`;
    const said = `${count}${other.length && ranked.length ? ` ${spelled}` : ""}`;
    const root = document.documentElement.dataset.content_root;
    results.replaceChildren(make("h2", {}, "Found"), make("p", { class: "search-summary" }, said),
      make("ul", { class: "search" }, ...ranked.slice(0, MOST).map((section) => {
        const { page, heading, id, title } = section, match = found(section, terms);
        const word = match ? `?found=${encodeURIComponent(match.word)}` : ""; // course.js looks for it
        const number = page.match(/^labs\/0?(\d+)/)?.[1], where = number ? [`Lab ${number}: `] : [];
        return make("li", {}, make("a", { href: `${root}${page}.html${word}#${id}` }, title),
          ...(title === heading ? [] : [make("span", { class: "quiet" }, " ", ...where, heading)]),
          ...(match ? [make("p", { class: "context" }, ...match.line)] : []));
      })));
    document.getElementById("said").textContent = said;
  }

  globalThis.Search = { performSearch };
  const query = new URLSearchParams(location.search).get("q") ?? "";
  for (const field of document.querySelectorAll("input[name=q]")) field.value = query.slice(0, MOST);
  if (query.trim()) performSearch(query);
})();

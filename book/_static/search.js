// The search: all words of the query, section by section. A query in quotes stays together, a number is whole ("3.2" is
// not in "13.2"), a word is found in its other forms as well, and one that the course lacks may differ by a letter. Prose
// counts more than code, and most of all the section that introduces a term. Only the search page loads this.
(() => {
  "use strict";

  const MOST = 200;                                          // letters of a query, and sections shown
  const results = document.getElementById("search-results");
  const pages = globalThis.courseIndex;
  const sections = pages.flatMap(([page, heading, list]) => list.map(([id, title, prose, code, terms]) =>
    ({ page, heading, id, title, prose, code, terms, low: `${title}\n${prose}\n${terms.join("\n")}`.toLowerCase(),
      lowCode: code.toLowerCase() })));

  const plain = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+");

  // What the forms of a word have in common: "mask" of "masking", "masks" and "masked"; "quer" of "query" and "queries".
  function stemOf(word) {
    const stem = /^([a-z]{4,}?)(?=(?:ies|y|ings?|ed|es|e)$)|^[a-z]{3,}(?=s$)/.exec(word)?.[0];
    return stem && !word.endsWith("ss") ? stem.replace(/([b-df-hj-np-tv-z])\1$/, "$1") : word;
  }

  // In prose a word is found where its stem begins a word; in code anywhere.
  function pattern(term) {
    if (/^\d/.test(term)) return new RegExp(`(?<![\\d.])${plain(term)}(?!\\d)`, "g");
    if (/^[a-z]{1,2}$/.test(term)) return new RegExp(`(?<![a-z])${plain(term)}(?![a-z])`, "g");
    const begin = /^[\p{L}\p{N}_]{3}/u.test(term) ? "(?<![\\p{L}\\p{N}_])" : "";
    return new RegExp(begin + plain(stemOf(term)), "gu");
  }
  const inCode = (term) => (/^(\d|[a-z]{1,2}$)/.test(term) ? pattern(term) : new RegExp(plain(term), "g"));
  const introduces = ({ terms }, words) => terms.map((term) => term.split(" ")).some((term) => term.length === words.length
    && term.every((word, i) => stemOf(word) === stemOf(words[i])));
  const wordsOf = (terms) => terms.flatMap((term) => term.split(" "));

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

  function forgiven(term) {
    if (term.length < 4 || sections.some(({ low, lowCode }) => low.match(pattern(term)) || lowCode.match(inCode(term)))) return term;
    const counts = new Map();                                // word -> how often the course has it
    for (const { low } of sections) {
      for (const [word] of low.matchAll(/[\p{L}\p{N}_]{3,}/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    const close = [...counts.keys()].filter((word) => word[0] === term[0] && near(term, word));
    return close.sort((a, b) => counts.get(b) - counts.get(a))[0] ?? term;
  }

  // Prose before code, labs before other pages, and first of all the section that introduces what is searched for.
  function score(section, terms) {
    let sum = 0;
    for (const term of terms) {
      const hits = (section.low.match(pattern(term)) ?? []).length, more = (section.lowCode.match(inCode(term)) ?? []).length;
      if (!hits && !more) return 0;
      sum += Math.min(hits, 5) + 0.1 * Math.min(more, 5) + 20 * pattern(term).test(section.title.toLowerCase())
        + 8 * (hits > 0 && pattern(term).test(section.heading.toLowerCase()));
    }
    sum += 30 * (terms.length > 1 && pattern(terms.join(" ")).test(section.low)) + 100 * introduces(section, wordsOf(terms));
    return section.page.startsWith("labs/") ? sum : sum / 2;
  }

  // The words around the first match in the prose, better of all terms together, or else in the code; and a text fragment,
  // to which the browser scrolls, with two words before it, for a word may be in the page's contents as well.
  function found({ prose, code }, terms) {
    const places = (text, list, how) => list.map((term) => how(term).exec(text.toLowerCase())).filter(Boolean)
      .sort((a, b) => a.index - b.index);
    const [inProse] = [...places(prose, [terms.join(" ")], pattern), ...places(prose, terms, pattern)];
    const [first, text] = inProse ? [inProse, prose] : [places(code, terms, inCode)[0], code];
    if (!first) return null;  // only another name of a glossary's entry
    const begin = text.slice(0, first.index).search(/[\p{L}\p{N}_]*$/u);
    const end = first.index + first[0].length + text.slice(first.index + first[0].length).search(/[^\p{L}\p{N}_]|$/u);
    const from = text.indexOf(" ", Math.max(0, begin - 80));
    const cut = begin < 80 ? [0, ""] : [from + 1, "\u2026 "];
    const rest = text.length > end + 120 ? text.slice(end, end + 120).replace(/\S*$/, "\u2026") : text.slice(end);
    const [before] = /\p{L}{2,} \p{L}{2,}(?= $)/u.exec(text.slice(0, begin)) ?? [""]; // no formula: a page writes it otherwise
    const part = (words, end) => words && encodeURIComponent(words).replaceAll("-", "%2D") + end;
    return { fragment: `:~:text=${part(before, "-,")}${part(text.slice(begin, end), "")}`,
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
    const summary = `${count}${other.length && ranked.length ? ` ${spelled}` : ""}`;
    const root = document.documentElement.dataset.content_root;
    results.replaceChildren(make("h2", {}, "Found"), make("p", { class: "search-summary" }, summary),
      make("ul", { class: "search" }, ...ranked.slice(0, MOST).map((section) => {
        const { page, heading, id, title } = section, match = found(section, terms);
        const number = page.match(/^labs\/0?(\d+)/)?.[1], where = number ? [`Lab ${number}: `] : [];
        return make("li", {}, make("a", { href: `${root}${page}.html#${id}${match?.fragment ?? ""}` }, title),
          ...(title === heading ? [] : [make("span", { class: "quiet" }, " ", ...where, heading)]),
          ...(page.startsWith("labs/") && introduces(section, wordsOf(terms)) ? [make("span", { class: "quiet" }, " \u2013 introduced here")] : []),
          ...(match ? [make("p", { class: "context" }, ...match.line)] : []));
      })));
    document.getElementById("said").textContent = summary;
  }

  globalThis.Search = { performSearch };
  const query = new URLSearchParams(location.search).get("q") ?? "";
  for (const field of document.querySelectorAll("input[name=q]")) field.value = query.slice(0, MOST);
  if (query.trim()) performSearch(query);
})();

// The search, section by section, in a reader's words: question words need not occur, and if not all others do, most will
// do. A word is found in its other forms and in British spelling, with or without hyphens, and a number is whole ("3.2" is
// not in "13.2"). What defines a word comes before what mentions it, text before exercises, and the list of all works last.
// In quotes, words stay together. Only the search page loads this.
(() => {
  "use strict";

  const MOST = 200;                                          // letters of a query, and sections shown
  const ENOUGH = 0.4;                                        // of a query's words, weighed by how rare they are
  const STOP = new Set(`a about across actually after again all along also always am an and any anybody anyone
    anything applied apply are as at be been being between bit but by called can cant come comes confused confusing
    confusion could couldn did didn didnt differ difference different do does doesn doesnt doing don done dont during
    each either eli5 else even ever every everything exactly explain explained find for from get gets give given go
    goes going handle happen happens has hasn have haven he help how i if im in instead into intuition is isn isnt it
    its ive just keep keeps kind know let lot make makes me mechanism mechanisms might more most much must my need
    needed needs no of ok on one only or our over per please possible question really reason reasons right role say
    shall should shouldn show simply since so some someone something specifically still stuff sure tell than that the
    their them then there these they thing things this those to too trouble try trying understand use used uses using
    versus via vs want wants was way we were what whats when where whether which while who whole whose why will with
    within wonder wondering wont work works would wouldn yet you your`.split(/\s+/));
  // A learner's word, and the course's.
  const SAME = new Map(`cos cosine, dimension axis, dims axis, dim axis, generate write, generation write, important matter,
    inference write, llm language, llms language, neural network, seq text, sequence text, sin sine, sinusoidal sine, sum
    added, tokenization token, tokenizer token`.split(",").map((pair) => pair.trim().split(/\s+/).map(stemOf)));
  const WORD = /\p{N}+(?:[.,]\p{N}+)+|[\p{L}\p{N}]+(?:[-_’'][\p{L}\p{N}]+)*|[^\s\p{L}\p{N}\p{P}\x00-\x7f]/gu;

  const results = document.getElementById("search-results");

  // What the forms of a word have in common: "mask" of "masking", "masks" and "masked"; "normaliz" of "normalisation".
  function stemOf(word) {
    const american = word.replace(/(?<=...)is(?=(?:ations?|ed?|es|ers?|ing)$)/, "iz").replace(/(?<=[a-z]{3})our/, "or")
      .replace(/tre(?=s?$)/, "ter").replace(/cence$/, "cense").replace(/^grey/, "gray");
    const stem = /^[a-z]{4,}?(?=(?:ations?|ies|ings?|ed|ers?|ally|als?|es|y|e|s)$)|^[a-z]{3,}(?=s$)/.exec(american)?.[0];
    return stem && !american.endsWith("ss") ? stem.replace(/([b-df-hj-np-tv-z])\1$/, "$1") : american;
  }

  // A word as its parts and the whole: "self-attention", "d_k" and "LayerNorm" are found by either, "10,000" as "10000".
  const seen = new Map(), compounds = new Map();             // word -> its forms; "layernorm" -> layer, norm
  function formsOf(word) {
    if (!seen.has(word)) {
      const plain = /^\p{N}+[.,]/u.test(word) ? [word.replace(/,(?=\d{3}\b)/g, "")]
        : word.replace(/['’]\p{L}{0,2}$/u, "").split(/[-_’']|(?<=\p{Ll})(?=\p{Lu})/u).map((part) => part.toLowerCase());
      const parts = plain.map(stemOf), whole = stemOf(plain.join(""));
      if (parts.length > 1) compounds.set(whole, parts);
      seen.set(word, { plain: plain.join(""), parts, whole, found: parts.length > 1 ? `${parts.join(" ")} ${whole}` : whole });
    }
    return seen.get(word);
  }
  const wordsOf = (text) => (text.match(WORD) ?? []).map(formsOf);
  const contentOf = (text) => {                              // without function words, where there are others
    const words = wordsOf(text), content = words.filter(({ plain }) => !STOP.has(plain));
    return content.length ? content : words;
  };
  const line = (words) => ` ${words.map(({ parts }) => parts.join(" ")).join(" ")} `;
  const all = (text) => ` ${wordsOf(text).map(({ found }) => found).join(" ")} `;

  const sections = globalThis.courseIndex.flatMap(([page, heading, list]) =>
    list.map(([id, title, prose, code, terms, hidden]) => ({ page, heading, id, title, prose, code,
      inTitle: all(title), inProse: all(prose), inCode: all(code), named: all([...terms, ...hidden].join("\n")),
      terms: terms.length, names: [...terms, ...hidden].map(contentOf) })));
  for (const section of sections)                            // each name as the stems that it is made of, in any order
    section.names = section.names.map((name) => name.flatMap(({ parts, whole }) => compounds.get(whole) ?? parts));
  const usual = sections.reduce((sum, { inProse }) => sum + inProse.length, 0) / sections.length;

  // A word counts by how rare it is, less if no title has it and it names nothing ("applied", "correctly"). A word that is
  // only in the titles of papers is not the course's.
  const counted = sections.filter(({ id }) => id !== "all-works");
  const rarityOf = (stem) => {
    const having = (...parts) => counted.filter((section) => parts.some((part) => section[part].includes(` ${stem} `))).length;
    const count = having("inTitle", "inProse", "inCode", "named");
    return count && Math.log(1 + sections.length / (4 + count)) * (having("inTitle", "named") ? 1 : 0.7);
  };
  function weigh({ parts, whole }) {
    const same = SAME.get(whole), inside = compounds.get(whole) ?? parts;
    return { parts: inside, whole, same, rarity: rarityOf(same) || rarityOf(whole) || Math.max(...inside.map(rarityOf)) };
  }

  function often(stem, stems, most = 6) {
    let count = 0;
    for (let i = stems.indexOf(` ${stem} `); i >= 0 && count < most; i = stems.indexOf(` ${stem} `, i + 1)) count += 1;
    return count;
  }

  // How well a section is about a word, from 0 to about 3: in its title or what it defines, often in its text, only in code.
  function about({ inTitle, inProse, inCode, named }, { parts, whole, same }) {
    const long = 0.6 + 0.6 * inProse.length / usual;
    const one = (stem) => 1.2 * often(stem, inTitle, 1) + often(stem, named, 1)
      + [[1, inProse], [0.3, inCode]].reduce((sum, [worth, stems]) => sum + worth * often(stem, stems) / (often(stem, stems) + long), 0);
    return Math.max(one(whole), Math.min(...parts.map(one)), 0.7 * one(same));
  }

  const stemsOf = (words) => new Set(words.flatMap(({ parts, whole, same }) => [...parts, whole, same]));
  const sumOf = (words) => words.reduce((sum, { rarity }) => sum + rarity, 0);
  const namedBy = (name, words) => words.filter(({ parts, whole, same }) => name.includes(whole) || name.includes(same)
    || parts.every((stem) => name.includes(stem)));

  // A section with most of the words: what it says of them; more where two of them are neighbors, and where the query, or
  // a part of it, is what the section defines. A definition answers "what is" better than "why".
  function score(section, words, stems, query, least) {
    const abouts = words.map((word) => about(section, word)), total = sumOf(words);
    const matched = sumOf(words.filter((_, i) => abouts[i] > 0)) / total;
    if (!(matched >= least)) return 0;
    const glossary = section.page === "book/notation";
    const wanted = /^\W*(why|how|should|do|does|is|are|can)\b/i.test(query) ? 0.8
      : /^\W*what (is|are)\b|\bmean\W*$|\b(meaning|definition) of\b/i.test(query) ? 1.5 : 1;
    let near = 0, defined = 0;
    section.names.forEach((name, place) => {
      if (!name.every((stem) => stems.has(stem))) return;
      const covered = sumOf(namedBy(name, words)), kind = !glossary ? 1 : place ? 0.8 : wanted;
      defined = Math.max(defined, (covered === total ? 2 : 1.3) * kind * covered);
    });
    for (const [i, word] of words.entries()) {
      const pair = i && line([words[i - 1], word]);
      if (pair && (section.inOrder ??= line(contentOf(`${section.title} ${section.prose}`))).includes(pair))
        near += 0.4 * Math.min(words[i - 1].rarity, word.rarity);
    }
    const kind = section.id === "all-works" ? 0.01 : /^(Exercise |Exercises$|Questions$|Where to go next$)/.test(section.title) ? 0.6
      : section.page.startsWith("labs/") ? 1 : glossary ? Math.min(wanted, 1) : 0.8;
    return (words.reduce((sum, { rarity }, i) => sum + rarity * abouts[i], 0) + near + defined) * Math.sqrt(matched) * kind;
  }

  // One letter too many, too few, another one, or two that changed places.
  function near(a, b) {
    if (Math.abs(a.length - b.length) > 1 || a === b) return false;
    let i = 0;
    while (a[i] === b[i]) i++;
    return a.slice(i + 1) === b.slice(i + 1) || a.slice(i) === b.slice(i + 1) || a.slice(i + 1) === b.slice(i)
      || (a[i] === b[i + 1] && a[i + 1] === b[i] && a.slice(i + 2) === b.slice(i + 2));
  }
  // A slip in a long word is forgiven; of a short one, such as "quiz" for "quit", nobody knows whether it is one.
  const meant = (word) => word.length >= 6 && [...seen.values()].map(({ plain }) => plain)
    .find((known) => known[0] === word[0] && near(word, known) && rarityOf(stemOf(known)));

  // Where a text first has the phrase in quotes, or else most of the words in a row.
  function placeOf(text, words, phrases) {
    for (const phrase of phrases) {
      const at = text.toLowerCase().indexOf(phrase);
      if (at >= 0) return [at, at + phrase.length];
    }
    const stems = stemsOf(words);
    let best = null, run = null;
    for (const { 0: word, index } of text.matchAll(WORD)) {
      const { parts, whole } = formsOf(word);
      const hit = [...parts, whole].some((stem) => stems.has(stem));
      run = hit ? [run?.[0] ?? index, index + word.length, (run?.[2] ?? 0) + 1] : null;
      if (hit && run[2] <= 5 && run[2] > (best?.[2] ?? 0)) best = run;
    }
    return best;
  }

  // The words around that place in the prose, or else in the code; and a text fragment, to which the browser scrolls, with
  // two words before it, for a word may be in the page's contents as well.
  function found({ prose, code }, words, phrases) {
    const inProse = placeOf(prose, words, phrases), text = inProse ? prose : code;
    const [begin, end] = inProse ?? placeOf(code, words, phrases) ?? [];
    if (begin === undefined) return null;                    // only another name of it
    const from = text.indexOf(" ", Math.max(0, begin - 80));
    const cut = begin < 80 ? [0, ""] : [from + 1, "\u2026 "];
    const rest = text.length > end + 120 ? text.slice(end, end + 120).replace(/\S*$/, "\u2026") : text.slice(end);
    const [before] = /\p{L}{2,} \p{L}{2,}(?= $)/u.exec(text.slice(0, begin)) ?? [""]; // no formula: a page writes it otherwise
    const part = (words, end) => words && encodeURIComponent(words).replaceAll("-", "%2D") + end;
    return { fragment: `:~:text=${part(before, "-,")}${part(text.slice(begin, end), "")}`,
      line: [`${cut[1]}${text.slice(cut[0], begin)}`, make("mark", {}, text.slice(begin, end)), rest] };
  }

  const leftOut = globalThis.courseIndex.some(([page]) => page === "book/what_we_leave_out");

  function performSearch(query) {
    const asked = query.slice(0, MOST).replace(/[\u201c-\u201f\u00ab\u00bb]/g, '"');
    const phrases = Array.from(asked.matchAll(/"([^"]+)"/g), ([, phrase]) => phrase.toLowerCase().trim().replace(/\s+/g, " "));
    const lacking = [], words = new Map();
    for (const form of contentOf(asked)) {
      const word = weigh(form), other = word.rarity ? null : meant(form.plain);
      if (!word.rarity) lacking.push(`\u201c${form.plain}\u201d${other ? ` (but \u201c${other}\u201d)` : ""}`);
      if (word.rarity || other) words.set(form.whole, other ? weigh(formsOf(other)) : word);
    }
    const listed = [...words.values()], stems = stemsOf(listed);
    const isIt = (name) => name.every((stem) => stems.has(stem)) && namedBy(name, listed).length === listed.length;
    const holds = ({ title, prose, code }) => phrases.every((phrase) =>
      `${title}\n${prose}\n${code}`.toLowerCase().replace(/\s+/g, " ").includes(phrase));
    const those = (words.size ? sections : []).filter(holds);
    const withMost = (least) => those.map((section) => [score(section, listed, stems, asked, least), section])
      .filter(([sum]) => sum > 0).sort(([a], [b]) => b - a).map(([, section]) => section);
    const sure = withMost(ENOUGH), ranked = sure.length ? sure : withMost(0); // of a long question, whatever comes nearest
    const root = document.documentElement.dataset.content_root;
    const summary = make("p", { class: "search-summary" },
      ranked.length ? `Pages and sections found: ${ranked.length}. ` : "No page has these words. ",
      ...(lacking.length ? [`The course does not have ${lacking.join(" or ")}. `] : []),
      ...((lacking.length || !ranked.length) && leftOut ? ["Is it among ", make("a", { href: `${root}book/what_we_leave_out.html` }, "what we leave out"), "?"] : []));
    results.replaceChildren(make("h2", {}, "Found"), summary,
      make("ul", { class: "search" }, ...ranked.slice(0, MOST).map((section) => {
        const { page, heading, id, title, names, terms } = section, match = found(section, listed, phrases);
        return make("li", {}, make("a", { href: `${root}${page}.html#${id}${match?.fragment ?? ""}` }, title),
          ...(title === heading ? [] : [make("span", { class: "quiet" }, " ", heading)]),
          ...(page.startsWith("labs/") && names.slice(0, terms).some(isIt) ? [make("span", { class: "quiet" }, " \u2013 introduced here")] : []),
          ...(match ? [make("p", { class: "context" }, ...match.line)] : []));
      })));
    document.getElementById("said").textContent = summary.textContent;
  }

  globalThis.Search = { performSearch };
  const query = new URLSearchParams(location.search).get("q") ?? "";
  for (const field of document.querySelectorAll("input[name=q]")) field.value = query.slice(0, MOST);
  if (query.trim()) performSearch(query);
})();

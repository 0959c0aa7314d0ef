// The search, section by section, in a reader's words: question words need not occur, and if not all others do, some will
// do. A word is found in its other forms and in British spelling, with or without hyphens, and a number is whole ("3.2" is
// not in "13.2"). What defines a word comes before what mentions it, text before exercises, and the list of all works last.
// In quotes, words stay together. Only the search page loads this.
(() => {
  "use strict";

  const MOST = 200;                                          // letters of a query, and sections shown
  const ENOUGH = 0.15;                                       // of a query's words, weighed by how rare they are
  const FUNCTION = new Set(`a an and any are as at be been being but by can could did do does doing for from get gets
    go had has have he i if im in is it its just let may me might my of on our over please really shall should since
    so some than that the their them then there these they thing things this those to us use used uses using was we
    were will with would you your`.split(/\s+/));
  const STOP = new Set([...FUNCTION, ...`about across actually after again all along also always am anybody anyone
    anything applied apply between bit called cant come comes confused confusing confusion couldn didn didnt differ
    difference different doesn doesnt don done dont during each either eli5 else even ever every everything exactly
    explain explained find give given goes going handle happen happens hasn haven help how instead into intuition isn
    isnt ive keep keeps kind know lot make makes mechanism mechanisms more most much must need needed needs no ok one
    only or per possible question reason reasons right role say shouldn show simply someone something specifically
    still stuff sure tell too trouble try trying understand versus via vs want wants way what whats when where whether
    which while who whole whose why within wonder wondering wont work works wouldn yet`.split(/\s+/)]);
  // What kind of question it is: of two names with the same words, one fits "why" better, another "which".
  const KIND = new Map(`why reason purpose role need needed needs necessary required point benefit advantage,
    difference different differ differs vs versus compare compared comparison better best or than, how explain
    explained explanation work works intuition understand, what meaning means mean definition define, which choose,
    can could possible, same identical equal`
    .split(",").flatMap((group, kind) => group.trim().split(/\s+/).map((word) => [word, kind])));
  const SAME = new Map();                                    // a stem -> those of words that mean the same
  for (const group of `cos cosine, sin sine sinusoidal, dimension dimensionality dim dims axis, seq sequence text,
    tokenization token, tokenizer token, generate write generation, inference write, llm language, llms language, sum
    added, neural network, important matter, q query, k key, v value, memory vram, fast faster speed, slow slower
    latency, remove drop delete without omit, initialize init initialization, parallel parallelize parallelization
    parallelizable, matrices matrix, vocab vocabulary, param parameter, average mean, visualize plot, compute
    calculate, merge join, incorrect wrong`.split(",")) {
    const stems = group.trim().split(/\s+/).map(stemOf);
    for (const stem of stems) SAME.set(stem, [...(SAME.get(stem) ?? []), ...stems.filter((other) => other !== stem)]);
  }
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
      seen.set(word, { plain: plain.join(""), parts, whole });
    }
    return seen.get(word);
  }
  const wordsOf = (text) => (text.match(WORD) ?? []).map(formsOf);
  const contentOf = (text) => {                              // without function words, where there are others
    const words = wordsOf(text), content = words.filter(({ plain }) => !STOP.has(plain));
    return content.length ? content : words;
  };
  const kindsOf = (text) => new Set(wordsOf(text).map(({ plain }) =>
    KIND.get(plain) ?? (STOP.has(plain) && !FUNCTION.has(plain) ? plain : null)).filter((kind) => kind !== null));
  const line = (words) => ` ${words.map(({ parts }) => parts.join(" ")).join(" ")} `;
  const often = (words) => {                                 // stem -> how often
    const count = new Map();
    for (const { parts, whole } of words)
      for (const stem of parts.length > 1 ? new Set([...parts, whole]) : parts) count.set(stem, (count.get(stem) ?? 0) + 1);
    return count;
  };

  const sections = globalThis.courseIndex.flatMap(([page, heading, list]) => list.map(([id, title, prose, code, terms, hidden]) => {
    const words = wordsOf(prose), names = [...terms, ...hidden];
    return { page, heading, id, title, prose, code, length: words.length, terms: terms.length,
      inTitle: often(wordsOf(title)), inProse: often(words), inCode: often(wordsOf(code)), named: often(wordsOf(names.join("\n"))),
      names: names.map((name) => ({ content: contentOf(name), kinds: kindsOf(name) })) };
  }));
  const usual = sections.reduce((sum, { length }) => sum + length, 0) / sections.length;

  // A word counts by how rare it is, less if no title has it and it names nothing ("applied", "correctly"). A word that is
  // only in the titles of papers is not the course's.
  const having = new Map(), named = new Set();               // stem -> the number of sections that have it; those that name
  for (const section of sections.filter(({ id }) => id !== "all-works")) {
    const { inTitle, inProse, inCode } = section, names = [...inTitle.keys(), ...section.named.keys()];
    for (const stem of names) named.add(stem);
    for (const stem of new Set([...names, ...inProse.keys(), ...inCode.keys()])) having.set(stem, (having.get(stem) ?? 0) + 1);
  }
  const rarityOf = (stem) =>
    having.has(stem) ? Math.log(1 + sections.length / (4 + having.get(stem))) * (named.has(stem) ? 1 : 0.7) : 0;
  const raritiesOf = (stems) => stems.reduce((sum, stem) => sum + rarityOf(stem), 0);
  for (const name of sections.flatMap(({ names }) => names)) { // as the stems that it is made of, in any order
    name.stems = name.content.flatMap(({ parts, whole }) => compounds.get(whole) ?? parts);
    name.rarity = raritiesOf(name.stems);
  }

  function weigh({ parts, whole }) {
    const others = SAME.get(whole) ?? [], inside = compounds.get(whole) ?? parts;
    const rarity = rarityOf(whole) || Math.max(...inside.map(rarityOf)) || Math.max(0, ...others.map(rarityOf));
    return { parts: inside, whole, others, rarity };
  }

  // How well a section is about a word, from 0 to about 3: in its title or what it defines, often in its text, only in code.
  function about({ inTitle, inProse, inCode, named, length }, { parts, whole, others }) {
    const long = 0.6 + 0.6 * length / usual;
    const part = (count = 0, enough = long) => count / (count + enough);
    const one = (stem) => 0.9 * inTitle.has(stem) + 2 * part(named.get(stem), 1)
      + part(inProse.get(stem)) + 0.3 * part(inCode.get(stem));
    return Math.max(one(whole), Math.min(...parts.map(one)), 0.6 * Math.max(0, ...others.map(one)));
  }

  const stemsOf = (words) => new Set(words.flatMap(({ parts, whole, others }) => [...parts, whole, ...others]));
  const sumOf = (words) => words.reduce((sum, { rarity }) => sum + rarity, 0);
  const namedBy = ({ stems }, words) => words.filter(({ parts, whole, others }) => stems.includes(whole)
    || others.some((other) => stems.includes(other)) || parts.every((stem) => stems.includes(stem)));

  // A section with enough of the words: what it says of them; more where two of them are neighbors, and where the query, or
  // a part of it, is what the section defines or is asked for by. A definition answers "what is" better than "why".
  function score(section, words, stems, query, kinds, least) {
    const abouts = words.map((word) => about(section, word)), total = sumOf(words);
    const matched = sumOf(words.filter((_, i) => abouts[i] > 0)) / total;
    if (!(matched >= least)) return 0;
    const glossary = section.page === "book/notation";
    const wanted = /^\W*(why|how|should|do|does|is|are|can)\b/i.test(query) ? 0.8
      : /^\W*what (is|are)\b|\bmean\W*$|\b(meaning|definition) of\b/i.test(query) ? 1.5 : 1;
    let near = 0, defined = 0;
    section.names.forEach((name, place) => {
      const covered = sumOf(namedBy(name, words));
      if (!covered) return;
      const alike = [...name.kinds].filter((kind) => kinds.has(kind)).length;
      const whole = (raritiesOf(name.stems.filter((stem) => stems.has(stem))) + alike) / (name.rarity + name.kinds.size);
      const worth = (covered > 0.999 * total ? 2.6 : 1.3) * (!glossary ? 1 : place ? 0.8 : wanted);
      defined = Math.max(defined, worth * covered * whole ** 4);
    });
    for (const [i, word] of words.entries()) {
      const pair = i && line([words[i - 1], word]);
      if (pair && (section.inOrder ??= line(contentOf(`${section.title} ${section.prose}`))).includes(pair))
        near += 0.4 * Math.min(words[i - 1].rarity, word.rarity);
    }
    const place = section.id === "all-works" ? 0.01
      : /^(Exercise |Exercises$|Questions$|Where to go next$)/.test(section.title) ? 0.6 : section.page.startsWith("labs/") ? 1
      : glossary ? Math.min(wanted, 1) : 0.8;
    return (words.reduce((sum, { rarity }, i) => sum + rarity * abouts[i], 0) + near + defined) * Math.sqrt(matched) * place;
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
    const listed = [...words.values()], stems = stemsOf(listed), kinds = kindsOf(asked);
    const isIt = (name) => name.stems.every((stem) => stems.has(stem)) && namedBy(name, listed).length === listed.length;
    const holds = ({ title, prose, code }) => phrases.every((phrase) =>
      `${title}\n${prose}\n${code}`.toLowerCase().replace(/\s+/g, " ").includes(phrase));
    const holding = sections.filter(holds), more = asked.replace(/"[^"]*"/g, "").trim(); // in a question, quotes may only stress
    const those = !words.size ? [] : holding.length || !more ? holding : sections;
    const withMost = (least) => those.map((section) => [score(section, listed, stems, asked, kinds, least), section])
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

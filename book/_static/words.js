// The site's words in the reader's language: `make words` collects what stands in _() and ngettext(), and a site in
// another language than English gets the catalogue's words in front of this file. What it lacks stays English.
"use strict";
{
  const { words = {}, form = (count) => Number(count !== 1) } = globalThis.courseWords ?? {};
  const filled = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  globalThis._ = (text, values = {}) => filled(words[text] ?? text, values);
  // One of two texts by a number; other languages have more than two.
  globalThis.ngettext = (one, many, count) => filled((words[one] ?? [one, many])[form(count)], { count });
}

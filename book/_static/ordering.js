// Exercises as lines to put in order: a press moves a line into your function, another press takes it out again. Lines are buttons, so
// keyboard and touch need nothing else. Uses `make` and `announce` of course.js; the rule is in tools/ordering.py.
"use strict";
for (const fold of document.querySelectorAll(".ordering")) {
  for (const { name, parts, shown } of JSON.parse(fold.dataset.problems)) {
    const given = make("ol", { class: "given", "aria-label": `Lines for ${name}` });
    const mine = make("ol", { "aria-label": `Your ${name}` });
    const note = make("p", { role: "status" });
    const wrong = parts.filter((part) => !("after" in part)).length, own = parts.length - wrong;
    const check = make("button", { type: "button" }, "Check"), clear = make("button", { type: "button", class: "quiet" }, "Begin again");

    const lines = shown.map((number) => {
      const { code, label } = parts[number], button = make("button", { type: "button" }, make("code", {}, code));
      if (label) button.prepend(make("span", { class: "goal" }, label));
      const line = make("li", { "data-number": number }, button);
      button.addEventListener("click", () => move(line));
      return line;
    });
    function takeOut(...out) {
      mine.querySelector(".goes-here")?.classList.remove("goes-here");
      given.append(...lines.filter((line) => out.includes(line) || line.parentElement !== mine));
    }

    function move(line) {
      const from = line.parentElement, next = line.nextElementSibling;
      note.textContent = "";
      if (from === given) {
        mine.insertBefore(line, mine.querySelector(".goes-here"));
        announce(`Line ${[...mine.children].indexOf(line) + 1} of your function.`);
      } else {
        announce(`Taken out. The next line goes to place ${[...mine.children].indexOf(line) + 1}.`);
        takeOut(line);
        next?.classList.add("goes-here");
      }
      (from.querySelector("button") ?? check).focus();
    }
    // The first thing that is wrong, in one sentence.
    function verdict() {
      const order = Array.from(mine.children, (line) => Number(line.dataset.number));
      for (const [at, number] of order.entries()) {
        const { after, instead, label } = parts[number];
        if (instead !== undefined) return `Line ${at + 1} is not part of the function${label ? ` (${label})` : ""}. Compare it with the lines that are left.`;
        const missing = after.find((other) => !order.slice(0, at).includes(other));
        if (missing !== undefined) return `Line ${at + 1} comes too early: it needs something from a line that does not come before it.`;
      }
      return order.length < own ? `Right so far. ${many(own - order.length, "line")} missing.` : "";
    }
    check.addEventListener("click", () => { note.textContent = verdict() || "Right. Now write it yourself, without looking."; });
    clear.addEventListener("click", () => { takeOut(...lines); note.textContent = ""; });
    takeOut();
    const extra = wrong ? ` ${many(wrong, "line")} ${wrong === 1 ? "is" : "are"} not part of it.` : "";
    fold.append(make("h4", {}, "The lines of ", make("code", {}, name)), make("p", {}, `Press them in their order.${extra} Press a line of your function to take it out.`), given,
      make("h4", {}, "Your function"), mine, make("p", {}, check, " ", clear), note);
  }
  fold.hidden = false;
}

// Exercises as lines to put in order: a press moves a line into your function, another press takes it out again. Lines are buttons, so
// keyboard and touch need nothing else. Uses `make` and `announce` of course.js; the rule is in tools/ordering.py.
"use strict";
for (const fold of document.querySelectorAll(".ordering")) {
  for (const { name, parts, shown } of JSON.parse(fold.dataset.problems)) {
    let order = [], place = 0; // the numbers of the lines in the reader's function, and where the next one goes
    const given = make("ol", { class: "given", "aria-label": `Lines for ${name}` });
    const mine = make("ol", { "aria-label": `Your ${name}` });
    const note = make("p", { role: "status" });
    const wrong = parts.filter((part) => !("after" in part)).length, own = parts.length - wrong;
    const check = make("button", { type: "button" }, "Check"), clear = make("button", { type: "button", class: "quiet" }, "Begin again");

    function line(number, press) {
      const { code, label } = parts[number], button = make("button", { type: "button" }, make("code", {}, code));
      if (label) button.prepend(make("span", { class: "goal" }, label));
      button.addEventListener("click", press);
      return make("li", {}, button);
    }
    function show(focus) {
      given.replaceChildren(...shown.filter((number) => !order.includes(number)).map((number) => line(number, () => {
        order.splice(place, 0, number);
        place += 1;
        note.textContent = "";
        announce(`Line ${place} of your function.`);
        show(given);
      })));
      mine.replaceChildren(...order.map((number, at) => {
        const item = line(number, () => {
          order.splice(at, 1);
          place = at;
          note.textContent = "";
          announce(`Taken out. The next line goes to place ${at + 1}.`);
          show(mine);
        });
        if (at === place) item.classList.add("goes-here");
        return item;
      }));
      if (focus) (focus.querySelector("button") ?? check).focus();
    }
    // The first thing that is wrong, in one sentence; the same rule as `is_right`.
    function verdict() {
      for (const [at, number] of order.entries()) {
        const { after, instead, label } = parts[number];
        if (instead !== undefined) return `Line ${at + 1} is not part of the function${label ? ` (${label})` : ""}. Compare it with the lines that are left.`;
        const missing = after.find((other) => !order.slice(0, at).includes(other));
        if (missing !== undefined) return `Line ${at + 1} comes too early: it needs something from a line that does not come before it.`;
      }
      return order.length < own ? `Right so far. ${many(own - order.length, "line")} missing.` : "";
    }
    check.addEventListener("click", () => { note.textContent = verdict() || "Right. Now write it yourself, without looking."; });
    clear.addEventListener("click", () => { order = []; place = 0; note.textContent = ""; show(); });
    const extra = wrong ? ` ${many(wrong, "line")} ${wrong === 1 ? "is" : "are"} not part of it.` : "";
    fold.append(make("h4", {}, "The lines of ", make("code", {}, name)), make("p", {}, `Press them in their order.${extra} Press a line of your function to take it out.`), given,
      make("h4", {}, "Your function"), mine, make("p", {}, check, " ", clear), note);
    show();
  }
  fold.hidden = false;
}

// The page "Remember": five questions at a time from the labs that were read, in Leitner's boxes. Uses `make` and `many` of course.js,
// and asks by `askQuestion` of answers.js. What is stored stays in this browser.
"use strict";
{
  const KEY = "remember", DAYS = [1, 2, 5, 8, 14], DONE = DAYS.length + 1, AT_ONCE = 5;
  const at = (name) => document.getElementById(`remember-${name}`);
  const day = (later = 0) => {
    const date = new Date();
    date.setDate(date.getDate() + later);
    return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((n) => String(n).padStart(2, "0")).join("-");
  };
  const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && new Date(text).toJSON()?.startsWith(text); // no 31st of February

  // {id of a question: {box: 1 to 6, due: the day from which it is asked again}}; undefined where it makes no sense
  const sound = ([id, kept]) => /^quiz-[0-9a-f]{8}$/.test(id) && Number.isInteger(kept?.box) && kept.box >= 1 && kept.box <= DONE && isDay(kept.due);
  const checked = (boxes) => (boxes?.constructor === Object && Object.entries(boxes).every(sound) ? boxes : undefined);
  let boxes = checked(recall(KEY)) ?? {};                    // without storage they last as long as the page is open
  const store = (id, kept) => {
    boxes = { ...(checked(recall(KEY)) ?? boxes), [id]: kept }; // another tab may have stored more
    retain(KEY, JSON.stringify(boxes));
  };

  const all = globalThis.rememberQuestions ?? [], read = labsRead();
  const known = () => all.filter(({ lab }) => read.has(lab));
  const pool = () => (known().length ? known() : all); // nothing is read yet, or nothing is stored: ask all the same
  const due = () => pool().filter(({ id }) => !boxes[id] || (boxes[id].box < DONE && boxes[id].due <= day()));
  // What was asked before comes first, the longest overdue at the front; then new questions, each lab in its turn.
  const next = () => {
    const [old, fresh] = [true, false].map((asked) => due().filter(({ id }) => id in boxes === asked));
    old.sort((a, b) => (boxes[a.id].due < boxes[b.id].due ? -1 : 1));
    const turn = (one) => fresh.filter(({ lab }) => lab === one.lab).indexOf(one);
    return [...old, ...fresh.toSorted((a, b) => turn(a) - turn(b))].slice(0, AT_ONCE);
  };

  function show() {
    const now = due().length, from = known().length ? "from the labs that you have read" : "from all labs, because you have read none in this browser yet";
    const dates = pool().flatMap(({ id }) => (boxes[id]?.box < DONE ? [boxes[id].due] : [])).sort();
    at("now").textContent = now ? `${many(now, "question")} ${now === 1 ? "is" : "are"} due, ${from}.`
      : dates.length ? `Nothing is due. Come again on ${dates[0]}.` : "All questions are done.";
    at("more").hidden = !now;
    at("ask").textContent = `Ask me ${Math.min(AT_ONCE, now)}`;
    const inBox = (box) => pool().filter(({ id }) => boxes[id]?.box === box).length;
    const drawn = [["new", inBox(undefined)], ...DAYS.map((days, i) => [`box ${i + 1}, ${many(days, "day")}`, inBox(i + 1)]), ["done", inBox(DONE)]];
    at("counts").replaceChildren(...drawn.map(([name, count]) => make("li", {}, make("b", {}, count), " ", name)));
  }

  function ask() {
    const questions = at("questions"), round = next(), rights = [];
    questions.replaceChildren();
    at("round").textContent = "";
    for (const { id, lab, title, place, heading, html } of round) {
      const holder = make("div");
      holder.innerHTML = html; // a part of the course's own page, written when the site was built
      const box = holder.firstElementChild;
      box.querySelector("p strong")?.remove(); // its number in the lab
      questions.append(make("p", { class: "from" }, make("a", { href: `../${lab}#${id}` }, title)), box);
      let first = true;
      askQuestion(box, (right) => {
        if (!first) return;
        first = false;
        const inBox = right ? (boxes[id]?.box ?? 1) + (id in boxes ? 1 : 0) : 1;
        store(id, { box: Math.min(inBox, DONE), due: day(DAYS[Math.min(inBox, DAYS.length) - 1]) });
        show();
        rights.push(right);
        if (rights.length === round.length) {
          const [again] = round.map((one) => boxes[one.id]).filter(({ box }) => box < DONE).map((kept) => kept.due).sort();
          at("round").textContent = `${rights.filter(Boolean).length} of ${rights.length} right at the first try` +
            (again ? `; the first of them comes again on ${again}.` : ". All of them are done.");
        }
        if (!right && place) box.append(make("p", {}, "Perhaps read again: ", make("a", { href: `../${lab}#${place}` }, heading)));
      });
    }
    at("paper").hidden = false;
    questions.querySelector("input")?.focus();
  }

  addEventListener("storage", () => { boxes = checked(recall(KEY)) ?? {}; show(); });
  at("print").addEventListener("click", () => print());
  at("ask").addEventListener("click", ask);
  at("page").hidden = false;
  show();
}

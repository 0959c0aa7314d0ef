// Predictions and questions: a form below each, and what answers a prediction is covered until the reader has guessed.
// Without this script all of it can be read. What was guessed and answered, and how often that was right, is stored in this
// browser and nowhere else.
"use strict";
{
  // {id of a prediction: place of the choice or the typed text, the same id and "-right": whether the reader calls it right,
  //  id of a question: places of the choices in the order of trying, or the first and the last typed text}
  const KEPT = "answers";
  const stored = Object(recall(KEPT)); // another site of the same host may store anything under this name
  const keep = (id, answer) => {
    stored[id] = answer; // where nothing is stored, for as long as the page is open
    retain(KEPT, JSON.stringify({ ...recall(KEPT), [id]: answer }));
  };
  const counted = []; // of each prediction and question of the page: a function to true, false, or undefined for none yet
  const copies = (node) => Array.from(node.cloneNode(true).childNodes);
  const inLine = (item) => Array.from(item.childNodes).flatMap((n) => (n.nodeName === "P" ? copies(n) : [n.cloneNode(true)]));

  const press = (attributes, words, pressed) => {
    const button = make("button", { type: "button", ...attributes }, words);
    button.addEventListener("click", pressed);
    return button;
  };

  // A form for one question: its choices, or a line to type in. `answered` gets the place of the choice or the text.
  function ask(box, list, label, say, answered) {
    const question = box.querySelector("p");
    question.id = `${box.id}-asks`;
    const name = `${box.id}-answer`;
    const choice = (item, value) => {
      const words = make("span", {}, ...inLine(item)), radio = make("input", { type: "radio", name, value, required: "" });
      if (words.querySelector("math")) radio.setAttribute("aria-label", words.textContent); // a formula is no name to all
      return make("li", {}, make("label", {}, radio, words));
    };
    const field = list
      ? make("ul", { class: "choices" }, ...Array.from(list.children, choice))
      : make("label", {}, `${label} `,
        make("input", { type: "text", name, required: "", pattern: ".*\\S.*", maxlength: 200, autocomplete: "off" }));
    const fields = make("fieldset", { "aria-labelledby": question.id }, field);
    const form = make("form", { class: "answering" }, fields, make("button", { type: "submit" }, say));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const value = new FormData(form).get(name);
      answered(list ? Number(value) : value.trim());
    });
    if (list) list.replaceWith(form);
    else box.insertBefore(form, box.querySelector(":scope > details"));
    return form;
  }

  // Predictions. No script knows what answers one, so the reader says whether the guess was right.
  function judged(id) {
    const choices = [["Yes", true], ["No", false]].map(([words, right]) => ({ right, button: press({}, words, () => {
      keep(`${id}-right`, right);
      show();
      count();
    }) }));
    const show = () => {
      for (const { button, right } of choices) button.ariaPressed = stored[`${id}-right`] === right;
    };
    show();
    return make("span", { class: "judge" }, "Was it right? ", ...choices.flatMap(({ button }) => [button, " "]));
  }
  for (const box of document.querySelectorAll(".predict")) {
    const list = box.querySelector(":scope > ul"), answers = document.getElementsByClassName(`to-${box.id}`);
    if (!answers.length) continue;
    const reveal = (guess) => {
      form.replaceWith(...(list ? [list] : []));
      const chosen = list?.children[guess];
      const line = make("p", { class: "guess", tabindex: -1 });
      if (chosen) line.append("Your guess: ", ...inLine(chosen));
      else line.append(guess && !list ? `Your guess: ${guess}` : "Shown without a guess.");
      chosen?.classList.add("chosen");
      if (chosen || (guess && !list)) line.append(" ", judged(box.id));
      for (const answer of answers) answer.classList.add("shown");
      answers[0].before(line);
      dispatchEvent(new Event("resize")); // the page is longer now: the reading progress is computed again
      return line;
    };
    const now = (guess) => {
      keep(box.id, guess);
      const line = reveal(guess);
      line.focus({ preventScroll: true });
      line.scrollIntoView({ block: "nearest" });
    };
    const form = ask(box, list, "Your guess", "This is my guess", now);
    form.append(press({ class: "quiet" }, "Show me", () => now("")));
    if (box.id in stored) reveal(stored[box.id]);
    counted.push({ kind: "guess", id: box.id, right: () => stored[`${box.id}-right`] });
  }

  // Questions
  const number = (text) => (/^[-+]?(\d+([.,]\d*)?|[.,]\d+)$/.test(text) ? Number(text.replace(",", ".")) : NaN);
  const BEGINS = /^\s*Right\./; // what the author writes before the reason of a right choice
  // A shape may be typed with or without brackets.
  const plain = (text) => text.trim().toLowerCase().replace(/^[([]|[)\]]$/g, "").replace(/\s+/g, " ").replace("\u2212", "-").replace(/ ?([%/,]) ?/g, "$1");
  // Two numbers are the same when the one that was typed rounds to the accepted one.
  const same = (typed, accepted) => {
    const places = (accepted.split(".")[1] ?? "").length;
    return typed === accepted || Math.abs(number(typed) - number(accepted)) <= 0.5 * 10 ** -places * (1 + 1e-9);
  };
  // Makes a form of a question. The page "Remember" gives `answered`: it hears whether an answer is right, and nothing is stored here.
  function question(box, answered) {
    const fold = box.querySelector("details"), reasons = Array.from(fold?.querySelector("ol")?.children ?? []);
    const list = fold?.previousElementSibling?.nodeName === "UL" ? fold.previousElementSibling : null;
    const accepted = [];
    for (const node of fold?.querySelector("p")?.childNodes ?? []) {
      if (node.nodeName === "STRONG") accepted.push(plain(node.textContent));
      else if (node.textContent.trim() !== "or") break;
    }
    if (!(list && reasons.length) && !accepted.length) return; // an open question
    let tried = []; // places of choices, or the texts that were typed first and last
    const isRight = (answer) => (list ? BEGINS.test(reasons[answer].textContent) : accepted.some((a) => same(plain(answer), a)));
    const show = (answer) => {
      const right = isRight(answer);
      const whole = Array.from(fold.children).filter((part) => part.nodeName !== "SUMMARY" && part.nodeName !== "OL");
      const why = list ? copies(reasons[answer]) : right ? ["Right.", " "] : ["That is not it. Try again, or open the answer."];
      if (right) why.push(...whole.map((part) => part.cloneNode(true)));
      else if (list) why.unshift(make("span", { class: "hidden" }, "Wrong.", " ")); // the cross says so to the eye
      const note = make("div", { class: right ? "reason right" : "reason" }, ...why);
      const place = list ? form.querySelectorAll("li")[answer] : form.querySelector("fieldset");
      place.querySelector(".reason")?.remove();
      place.append(note);
      return note;
    };
    const form = ask(box, list, "Your answer", "Check", (answer) => {
      tried = list ? [...new Set([...tried, answer])] : [tried[0] ?? answer, answer];
      if (!answered) {
        keep(box.id, tried);
        count();
      }
      announce(show(answer).textContent);
      answered?.(isRight(answer));
    });
    if (answered) return;
    if (box.id in stored) {
      tried = [stored[box.id]].flat().filter((answer) => (list ? reasons[answer] : typeof answer === "string"));
      tried.forEach(show);
    }
    counted.push({ kind: "question", id: box.id, right: () => (tried.length ? isRight(tried[0]) : undefined) });
  }

  document.querySelectorAll(".quiz").forEach((box) => question(box));
  globalThis.askQuestion = question;

  // At the page's end: how often the reader was right, and a button that deletes what is stored of this page.
  const sum = make("p", { class: "score", hidden: "" }), turn = document.querySelector(".turn");
  turn?.before(sum);
  function count() {
    const tally = (kind) => counted.filter((each) => each.kind === kind).map((each) => each.right()).filter((right) => typeof right === "boolean");
    const say = (rights, words) => (rights.length ? [`${rights.filter(Boolean).length} of ${rights.length} ${words}`] : []);
    const tallies = [...say(tally("guess"), "guesses right"), ...say(tally("question"), "questions right at the first try")];
    const remove = press({}, "Delete it", () => {
      const left = Object(recall(KEPT));
      for (const { id } of counted) { delete left[id]; delete left[`${id}-right`]; }
      retain(KEPT, JSON.stringify(left));
      location.reload();
    });
    sum.hidden = !tallies.length;
    sum.replaceChildren(`On this page: ${tallies.join(", ")}. This is stored in your browser only. `, remove);
  }
  count();
}

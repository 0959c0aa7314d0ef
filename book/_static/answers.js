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
  const copies = (node) => Array.from(node.cloneNode(true).childNodes);
  const inLine = (item) => Array.from(item.childNodes).flatMap((n) => (n.nodeName === "P" ? copies(n) : [n.cloneNode(true)]));

  const press = (attributes, words, pressed) => {
    const button = make("button", { type: "button", ...attributes }, words);
    button.addEventListener("click", pressed);
    return button;
  };

  // At the page's end: how often the reader was right, and a button that deletes what is stored of this page.
  const guesses = new Map(), questions = new Map(); // id -> whether the reader was right
  const sum = make("p", { class: "score", hidden: "" });
  document.querySelector(".turn")?.before(sum);
  function count() {
    const say = (rights, words) => (rights.size ? [`${[...rights.values()].filter(Boolean).length} of ${rights.size} ${words}`] : []);
    const tallies = [...say(guesses, "guesses right"), ...say(questions, "questions right at the first try")];
    const remove = press({}, "Delete it", () => {
      const left = Object(recall(KEPT));
      for (const { id } of document.querySelectorAll(".predict, .quiz")) { delete left[id]; delete left[`${id}-right`]; }
      retain(KEPT, JSON.stringify(left));
      location.reload();
    });
    sum.hidden = !tallies.length;
    sum.replaceChildren(`On this page: ${tallies.join(", ")}. This is stored in your browser only. `, remove);
  }

  // A form for one question: its choices, or a line to type in. `answered` gets the place of the choice or the text.
  function ask(box, list, label, say, answered, inputmode = false) {
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
        make("input", { type: "text", name, required: "", pattern: ".*\\S.*", maxlength: 200, autocomplete: "off", inputmode }));
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

  // Predictions. Which choice is right, a lab may say (`right-2`); else the reader says whether the guess was right.
  function judged(id) {
    const show = () => {
      const right = stored[`${id}-right`];
      buttons.forEach((button, i) => { button.ariaPressed = right === [true, false][i]; });
      if (typeof right === "boolean") guesses.set(id, right);
      count();
    };
    const buttons = [["Yes", true], ["No", false]].map(([words, right]) => press({}, words, () => {
      keep(`${id}-right`, right);
      show();
    }));
    show();
    return make("span", { class: "judge" }, "Was it right? ", ...buttons.flatMap((button) => [button, " "]));
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
      const right = list?.children[Number(/\bright-(\d)\b/.exec(box.className)?.[1]) - 1];
      if (right) {
        right.classList.add("right");
        line.append(" ", make("span", { class: "outcome" }, chosen === right ? "Right." : "It is: ", ...(chosen === right ? [] : inLine(right))));
        if (chosen) guesses.set(box.id, chosen === right);
        count();
      } else if (chosen || (guess && !list)) line.append(" ", judged(box.id));
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
        questions.set(box.id, isRight(tried[0]));
        count();
      }
      announce(show(answer).textContent);
      answered?.(isRight(answer));
    }, accepted.every((each) => /^[\d.,]+$/.test(each)) && "decimal"); // a phone's keyboard of numbers, which has no minus
    if (answered || !(box.id in stored)) return;
    tried = [stored[box.id]].flat().filter((answer) => (list ? reasons[answer] : typeof answer === "string"));
    tried.forEach(show);
    if (tried.length) questions.set(box.id, isRight(tried[0]));
  }

  document.querySelectorAll(".quiz").forEach((box) => question(box));
  count();
  globalThis.askQuestion = question;
}

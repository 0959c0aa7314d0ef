// Predictions and questions: a form below each, and what answers a prediction is covered until the reader has guessed.
// Without this script all of it can be read. What was guessed and answered is kept in this browser and nowhere else.
"use strict";
{
  const KEPT = "answers"; // {id of the question: place of the choice, or the typed text}
  const recall = () => {
    // What another site of the same host keeps under this name must not leave answers covered.
    try { return Object(JSON.parse(localStorage.getItem(KEPT))); } catch { return {}; }
  };
  const keep = (id, answer) => {
    try { localStorage.setItem(KEPT, JSON.stringify({ ...recall(), [id]: answer })); } catch { /* private windows */ }
  };
  const kept = recall();
  const make = (tag, given, ...inside) => {
    const made = Object.assign(document.createElement(tag), given);
    made.append(...inside);
    return made;
  };
  const copies = (node) => Array.from(node.cloneNode(true).childNodes);
  const inLine = (item) => Array.from(item.childNodes).flatMap((n) => (n.nodeName === "P" ? copies(n) : [n.cloneNode(true)]));

  // A form for one question: its choices, or a line to type in. `answered` gets the place of the choice or the text.
  function ask(box, list, label, say, answered) {
    const question = box.querySelector("p");
    question.id = `${box.id}-asks`;
    const name = `${box.id}-answer`, press = make("button", { type: "submit" }, say);
    const choice = (item, value) => {
      const words = make("span", {}, ...inLine(item)), radio = make("input", { type: "radio", name, value, required: true });
      if (words.querySelector("math")) radio.setAttribute("aria-label", words.textContent); // a formula is no name to all
      return make("li", {}, make("label", {}, radio, words));
    };
    const field = list
      ? make("ul", { className: "choices" }, ...Array.from(list.children, choice))
      : make("label", {}, `${label} `,
        make("input", { type: "text", name, required: true, pattern: ".*\\S.*", maxLength: 200, autocomplete: "off" }));
    const fields = make("fieldset", {}, field), form = make("form", { className: "answering" }, fields, press);
    fields.setAttribute("aria-labelledby", question.id);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const value = new FormData(form).get(name);
      answered(list ? Number(value) : value.trim());
    });
    if (list) list.replaceWith(form);
    else box.insertBefore(form, box.querySelector(":scope > details"));
    return form;
  }

  // Predictions
  for (const box of document.querySelectorAll(".predict")) {
    const list = box.querySelector(":scope > ul"), answers = document.getElementsByClassName(`to-${box.id}`);
    if (!answers.length) continue;
    const reveal = (guess) => {
      form.replaceWith(...(list ? [list] : []));
      const chosen = list?.children[guess];
      const line = make("p", { className: "guess", tabIndex: -1 });
      if (chosen) line.append("Your guess: ", ...inLine(chosen));
      else line.append(guess && !list ? `Your guess: ${guess}` : "Shown without a guess.");
      chosen?.classList.add("chosen");
      for (const answer of answers) answer.classList.add("shown");
      answers[0].before(line);
      dispatchEvent(new Event("resize")); // the page is longer now: how far it has been read is told anew
      return line;
    };
    const now = (guess) => {
      keep(box.id, guess);
      const line = reveal(guess);
      line.focus({ preventScroll: true });
      line.scrollIntoView({ block: "nearest" });
    };
    const form = ask(box, list, "Your guess", "This is my guess", now);
    form.append(make("button", { type: "button", className: "quiet", onclick: () => now("") }, "Show me"));
    if (box.id in kept) reveal(kept[box.id]);
  }

  // Questions
  const number = (text) => (/^[-+]?(\d+([.,]\d*)?|[.,]\d+)$/.test(text) ? Number(text.replace(",", ".")) : NaN);
  const BEGINS = /^\s*Right\./; // what the author writes before the reason of a right choice
  const plain = (text) => text.trim().toLowerCase().replace(/\s+/g, " ").replace("\u2212", "-").replace(/ ?([%/]) ?/g, "$1");
  // Two numbers are the same when the one that was typed rounds to the accepted one.
  const same = (typed, accepted) => {
    const places = (accepted.split(".")[1] ?? "").length;
    return typed === accepted || Math.abs(number(typed) - number(accepted)) <= 0.5 * 10 ** -places * (1 + 1e-9);
  };
  for (const box of document.querySelectorAll(".quiz")) {
    const fold = box.querySelector("details"), reasons = Array.from(fold?.querySelector("ol")?.children ?? []);
    const list = fold?.previousElementSibling?.nodeName === "UL" ? fold.previousElementSibling : null;
    const accepted = [];
    for (const node of fold?.querySelector("p")?.childNodes ?? []) {
      if (node.nodeName === "STRONG") accepted.push(plain(node.textContent));
      else if (node.textContent.trim() !== "or") break;
    }
    if (!(list && reasons.length) && !accepted.length) continue; // an open question
    let tried = []; // places of choices, or the text that was typed last
    const show = (answer) => {
      const right = list ? BEGINS.test(reasons[answer].textContent) : accepted.some((a) => same(plain(answer), a));
      const whole = Array.from(fold.children).filter((part) => part.nodeName !== "SUMMARY" && part.nodeName !== "OL");
      const why = list ? copies(reasons[answer]) : right ? ["Right.", " "] : ["That is not it. Try again, or open the answer."];
      if (right) why.push(...whole.map((part) => part.cloneNode(true)));
      else if (list) why.unshift(make("span", { className: "hidden" }, "Wrong.", " ")); // the cross says so to the eye
      const note = make("div", { className: right ? "reason right" : "reason" }, ...why);
      const place = list ? form.querySelectorAll("li")[answer] : form.querySelector("fieldset");
      place.querySelector(".reason")?.remove();
      place.append(note);
      return note;
    };
    const form = ask(box, list, "Your answer", "Check", (answer) => {
      tried = list ? [...new Set([...tried, answer])] : [answer];
      keep(box.id, tried);
      said(show(answer).textContent);
    });
    if (box.id in kept) {
      tried = [kept[box.id]].flat().filter((answer) => (list ? reasons[answer] : typeof answer === "string"));
      tried.forEach(show);
    }
  }
}

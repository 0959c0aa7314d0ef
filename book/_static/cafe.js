// The welcome page's café: a click on a guest shows that guest's weights, and a second one changes the friend. cafe.svg has
// all arrows, from each guest to each, in the two widths that a weight can have.
(() => {
  const picture = document.getElementById("cafe");
  const buttons = [...picture.querySelectorAll(".guest")];
  const guests = ["Ada", "Ben", "Cleo", "Dan"];
  const drinks = ["tea", "coffee", "juice", "tea"];
  const friends = [2, 0, 3, 0];
  let chosen = 0;

  // softmax(query · key / sqrt(4)): the friend's name matches with 3 · 3, no other name does.
  const weight = (match) => Math.exp(match / 2) / (Math.exp(9 / 2) + 3);
  const short = (number) => number.toFixed(2).slice(1);

  const draw = () => {
    for (const from of picture.querySelectorAll(".from")) {
      const guest = Number(from.dataset.guest);
      from.classList.toggle("own", guest === chosen);
      [...from.children].forEach((arrow, to) => arrow.classList.toggle("wide", to === friends[guest]));
      if (guest === chosen) from.parentNode.append(from);    // over the arrows of the others
    }
    const weights = guests.map((_, guest) => weight(guest === friends[chosen] ? 9 : 0));
    const output = ["tea", "coffee", "juice"].map((drink) => [drink, weights.reduce((sum, w, i) => sum + (drinks[i] === drink && w), 0)]);
    picture.querySelectorAll(".output rect").forEach((bar, i) => bar.setAttribute("width", (200 * output[i][1]).toFixed()));
    buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", i === chosen);
      button.setAttribute("aria-label", `${guests[i]}, drinks ${drinks[i]}, friend: ${guests[friends[i]]}`);
    });
    const parts = output.sort((a, b) => b[1] - a[1]).map(([drink, part]) => `${drink} ${short(part)}`);
    document.getElementById("cafe-said").textContent =
      `${guests[chosen]} attends to ${guests[friends[chosen]]}: ${short(weight(9))}; output: ${parts.join(", ")}.`;
  };

  const choose = (guest) => {
    if (guest === chosen) do friends[guest] = (friends[guest] + 1) % 4; while (friends[guest] === guest);
    chosen = guest;
    draw();
  };
  buttons.forEach((button, guest) => {
    button.setAttribute("role", "button");
    button.setAttribute("tabindex", 0);
    button.addEventListener("click", () => choose(guest));
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(guest);
    });
  });
  picture.setAttribute("role", "group");
  document.getElementById("cafe-how").hidden = false;
  draw();
})();

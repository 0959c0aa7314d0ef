// The welcome page's café: a click on a guest shows that guest's weights, and a second one changes the friend.
(() => {
  const picture = document.getElementById("cafe");
  const buttons = [...picture.querySelectorAll(".guest")];
  const guests = ["Ada", "Ben", "Cleo", "Dan"];
  const drinks = ["tea", "coffee", "juice", "tea"];
  const friends = [2, 0, 3, 0];
  const places = [[75, 105], [325, 105], [325, 275], [75, 275]];
  let chosen = 0;

  // softmax(query · key / sqrt(4)): the friend's name matches with 3 · 3, no other name does.
  const weightsOf = (guest) => {
    const terms = guests.map((_, other) => Math.exp((other === friends[guest] ? 9 : 0) / 2));
    const sum = terms.reduce((a, b) => a + b);
    return terms.map((term) => term / sum);
  };
  const outputOf = (weights) =>
    ["tea", "coffee", "juice"].map((drink) => [drink, weights.reduce((sum, w, i) => sum + (drinks[i] === drink && w), 0)]);
  const short = (number) => number.toFixed(2).slice(1);

  // A little to the right of the line between two guests, so that opposite arrows stand apart.
  const arrow = (from, to, weight, label = true) => {
    const [x, y] = places[from];
    const half = Math.round(6 + 40 * weight) / 10;
    if (from === to) {
      const side = y < 190 ? -1 : 1;
      const loop = `<path class="loop" d="M${x - 14} ${y + 42 * side}c-26 ${38 * side} 54 ${38 * side} 28 0"/>`;
      return `${loop}<text x="${x}" y="${y + side * 87 + 6}">${short(weight)}</text>`;
    }
    const [dx, dy] = [places[to][0] - x, places[to][1] - y];
    const length = Math.round(Math.hypot(dx, dy));
    const end = length - 48, neck = end - 9 - 2 * half, barb = 4 + half;
    const shape = `M48 ${8 - half}H${neck}v${-barb}L${end} 8L${neck} ${8 + half + barb}v${-barb}H48z`;
    const far = 0.64 * length, aside = 25 + half;
    const tx = x + (dx * far - dy * aside) / length, ty = y + (dy * far + dx * aside) / length + 6;
    const text = label ? `<text x="${tx.toFixed()}" y="${ty.toFixed()}">${short(weight)}</text>` : "";
    return `<path d="${shape}" transform="translate(${x} ${y})rotate(${((Math.atan2(dy, dx) * 180) / Math.PI).toFixed(1)})"/>${text}`;
  };

  const draw = () => {
    const weights = weightsOf(chosen), output = outputOf(weights);
    const others = guests.map((_, i) => (i === chosen ? "" : arrow(i, friends[i], weightsOf(i)[friends[i]], false)));
    const own = weights.map((weight, i) => arrow(chosen, i, weight));
    picture.querySelector(".arrows").innerHTML = `<g class="others">${others.join("")}</g><g class="own">${own.join("")}</g>`;
    picture.querySelector(".output").innerHTML = output.map(([drink, part], i) => `<text x="120" y="${413 + 25 * i}">${drink}</text>` +
      `<rect x="130" y="${399 + 25 * i}" width="${(200 * part).toFixed()}" height="16"/>`).join("");
    buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", i === chosen);
      button.setAttribute("aria-label", `${guests[i]}, drinks ${drinks[i]}, friend: ${guests[friends[i]]}`);
    });
    const parts = output.sort((a, b) => b[1] - a[1]).map(([drink, part]) => `${drink} ${short(part)}`);
    document.getElementById("cafe-said").textContent =
      `${guests[chosen]} attends to ${guests[friends[chosen]]}: ${short(weights[friends[chosen]])}; output: ${parts.join(", ")}.`;
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

// A café that answers: a click on a guest shows that guest's weights, a second one changes the friend. The picture comes
// from shared/figures/cafe.py with its data; here the layer computes the weights, and arrows are drawn by the same rule. A
// slider multiplies queries and keys, which sharpens the softmax.
(() => {
  const { attend } = globalThis.attentionLayer();
  const LANES = { friend: 3, attention: 7 }, LONGEST_BAR = 150;
  const short = (weight) => weight.toFixed(2).replace(/^0/, "");

  // The outline of an arrow from card to card, or the curve of a loop: `outline` of shared/figures/cafe.py.
  function outline(a, b, radius, wide, kind, middle) {
    if (a === b) {
      const out = a.y < middle ? -1 : 1, y = a.y + out * (radius - 2);
      return `M${a.x - 9} ${y}C${a.x - 16} ${y + 16 * out} ${a.x + 16} ${y + 16 * out} ${a.x + 9} ${y}`;
    }
    const distance = Math.hypot(b.x - a.x, b.y - a.y), dx = (b.x - a.x) / distance, dy = (b.y - a.y) / distance;
    const lane = LANES[kind] + (kind === "attention" ? wide / 2 : 0), begin = Math.sqrt(radius ** 2 - lane ** 2) + 1;
    const end = distance - begin, head = 6 + .6 * wide, neck = end - head, side = wide / 2, wing = side + head / 2.5;
    const corners = [[begin, -side], [neck, -side], [neck, -wing], [end, 0], [neck, wing], [neck, side], [begin, side], [begin, -side]];
    return `M${corners.map(([x, y]) => [a.x + x * dx - (y + lane) * dy, a.y + x * dy + (y + lane) * dx].join(" ")).join("L")}`;
  }

  function live(picture) {
    const { guests: rows, radius, factor, least, chosen: first } = JSON.parse(picture.dataset.cafe);
    const guests = rows.map(([name, drink, friend, x, y]) => ({ name, drink, friend, x, y })), n = guests.length;
    const friends = guests.map(({ friend }) => guests.findIndex(({ name }) => name === friend));
    const menu = [...new Set(guests.map(({ drink }) => drink))], middle = guests.reduce((sum, { y }) => sum + y / n, 0);
    const part = (name) => picture.querySelector(`.${name}`);
    let chosen = first;

    // The weights and the output of all guests: one-hot names and drinks, in rows of n.
    function layer() {
      const queries = new Float32Array(n * n), keys = new Float32Array(n * n), values = new Float32Array(n * n);
      guests.forEach(({ drink }, i) => {
        queries[i * n + friends[i]] = sharp.value;
        keys[i * n + i] = sharp.value;
        values[i * n + menu.indexOf(drink)] = 1;
      });
      return attend(queries, keys, values, n, 1);
    }

    const arrows = make("svg:g", { class: "arrows" });
    const old = picture.querySelectorAll(".arrow");
    old[0].before(arrows);
    for (const arrow of old) arrow.remove();

    const sentence = make("p", { class: "cafe-said", "aria-live": "polite" });
    const how = make("p", { class: "cafe-how" }, "Choose a guest to see that guest’s weights; choose the same guest again to change the friend.");
    // From a plain mean, at 0, to a dictionary; it begins where the picture is.
    const sharp = make("input", { type: "range", min: 0, max: 5, step: 0.1, value: factor });
    sharp.addEventListener("input", () => draw());
    const scale = make("label", { class: "cafe-sharp" }, "How sharply a query matches: ", make("span", {}, "a mean ", sharp, " a dictionary"));
    picture.after(scale, sentence, how);

    const buttons = guests.map((_, i) => {
      const parts = ["card", "name", "drink", "weight"].map((name) => part(`${name}-${i}`));
      const button = make("svg:g", { class: "guest", role: "button", tabindex: 0 });
      parts[0].before(button);
      button.append(...parts.flatMap((each) => [each, " "])); // words of its own for those who speak to the page
      button.addEventListener("click", () => choose(i));
      button.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(i);
      });
      return button;
    });

    function draw() {
      const { weights, output } = layer(), row = weights.subarray(chosen * n, chosen * n + n);
      const path = (i, j, kind, wide) => {
        const look = i === j ? { fill: "none", stroke: "var(--role-query)", "stroke-width": wide }
          : { fill: kind === "friend" ? "var(--role-muted)" : "var(--role-query)" };
        return make("svg:path", { class: kind, d: outline(guests[i], guests[j], radius, wide, kind, middle), ...look });
      };
      arrows.replaceChildren(...friends.map((friend, i) => path(i, friend, "friend", 1.2)));
      row.forEach((weight, j) => { if (weight >= least) arrows.append(path(chosen, j, "attention", 1 + 7 * weight)); });
      buttons.forEach((button, i) => {
        const { name, drink } = guests[i], card = part(`card-${i} path`).style;
        button.ariaPressed = i === chosen;
        button.ariaLabel = `${name} ${drink} ${short(row[i])}, friend: ${guests[friends[i]].name}`;
        card.stroke = `var(--role-${i === chosen ? "query" : "muted"})`;
        card.strokeWidth = i === chosen ? 3 : 1.2;
        part(`weight-${i} text`).textContent = short(row[i]);
      });
      const amounts = menu.map((drink, k) => [drink, output[chosen * n + k]]);
      if (part("heading")) {
        part("heading text").textContent = `output of ${guests[chosen].name}`;
        amounts.forEach(([, amount], k) => {
          part(`bar-${k} path`).setAttribute("d", `M84 ${bars[k]}h${LONGEST_BAR * amount}v15h${-LONGEST_BAR * amount}z`);
          part(`amount-${k} text`).setAttribute("x", 90 + LONGEST_BAR * amount);
          part(`amount-${k} text`).textContent = short(amount);
        });
      }
      const mix = amounts.sort((a, b) => b[1] - a[1]).map(([drink, amount]) => `${drink} ${short(amount)}`).join(", ");
      const friend = friends[chosen];
      sentence.textContent = `${guests[chosen].name} attends to ${guests[friend].name}: ${short(row[friend])}; output: ${mix}.`;
    }

    function choose(i) {
      if (i === chosen) do friends[i] = (friends[i] + 1) % n; while (friends[i] === i);
      chosen = i;
      draw();
    }

    const bars = menu.map((_, k) => part(`bar-${k} path`)?.getBBox().y); // where they are, as Python has drawn them
    picture.setAttribute("role", "group");
    draw();
  }
  document.querySelectorAll("svg[data-cafe]").forEach(live);
})();

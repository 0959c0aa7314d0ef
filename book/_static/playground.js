// The attention playground's page: the café as a room, switches, challenges and the curve. The engine runs in a worker,
// or here where there is none. Only one page loads this.
(() => {
  "use strict";
  const at = (name) => document.getElementById(`play-${name}`);
  const page = document.getElementById("play");
  if (!page) return;
  page.hidden = false;

  const { SWITCHES, CHALLENGES, GOAL, LEVELS, LARGEST, read, write, asPython } = globalThis.playgroundState;
  const engine = globalThis.attentionEngine(), { GUESTS, answersTo, stepsOf, drawCafes, random } = engine;
  const NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"];
  const DRINKS = ["tea", "coffee", "juice", "water", "milk", "cocoa"];
  const CUP = "M2 6h10v4a4 4 0 0 1-4 4H6a4 4 0 0 1-4-4zM12 7h1.5a1.5 1.5 0 0 1 0 4H12";
  const ICONS = [
    `${CUP}M7 6V2h4v2.5`, `${CUP}M5 4c-1-1 1-2 0-3M9 4c-1-1 1-2 0-3`, "M3 5h9l-1.5 10h-6zM8 5l3-4.5",
    "M3 2h9l-1 13H4zM3.4 7c2-1.2 3 1 4.5 0s3-1 4 0", "M5 1h5v3l2 3v8H3V7l2-3z",
    "M2 5h9v10H2zM11 7h3v5h-3M4 5V3h2v2M7 5V2h2v3",
  ];
  const WORDS = {
    question: ["The question", {
      ada: "What does Ada drink?", friend: "What does my friend drink?", both: "What do I drink, and what does my friend?",
      right: "What does my right-hand neighbour drink?", same: "Do my friend and I drink the same?",
      friends_friend: "What does my friend's friend drink?",
    }],
    scores: ["Attention weights from", {
      mean: "no scores (the mean of all guests)", query: "one learned query", none: "X Xᵀ, no projections", tied: "one projection, W_Q = W_K",
      qk: "W_Q and W_K",
    }],
    width: ["Key width d_k", { 1: "1", 2: "2", 8: "8" }],
    values: ["Value projection W_V", { 0: "without", 1: "with" }],
    residual: ["Residual connection", { 0: "without", 1: "with" }],
    positions: ["Positions", { 0: "without", 1: "with" }],
    feed_forward: ["Feed-forward layer", { 0: "without", 1: "with" }],
    layers: ["Layers", { 1: "one", 2: "two, with layer norm" }],
  };
  const short = (number) => number.toFixed(2).replace(/^0/, "");
  // W_Q and its like with their index below the line.
  const withIndices = (text) => text.split(/(_\w+)/).map((part) => (part[0] === "_" ? make("sub", {}, part.slice(1)) : part));
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const projected = (config) => config.scores === "qk" || config.scores === "tied";

  // ---- what has been found, in this browser only ----------------------------------------------------------------------

  let found = new Set();
  try {
    found = new Set([JSON.parse(localStorage.getItem("playground")) ?? []].flat());
    localStorage.setItem("playground", JSON.stringify([...found]));
  } catch {
    at("stored").textContent = "This browser stores nothing for the page, so what you find is forgotten when you leave.";
  }
  function keep(name) {
    found.add(name);
    try { localStorage.setItem("playground", JSON.stringify([...found])); } catch { /* said above */ }
  }

  // ---- the engine, elsewhere or here ----------------------------------------------------------------------------------

  let id = 0, post = null, waiting = 0;                      // for so many reports
  function send(data) { waiting++; post(data); }
  try {
    const code = new Blob([`(${globalThis.attentionEngine})().serve(self)`], { type: "text/javascript" });
    const worker = new Worker(URL.createObjectURL(code));
    worker.onmessage = ({ data }) => receive(data);
    worker.onerror = () => { withoutWorker(); begin(); };
    post = (data) => worker.postMessage(data);
  } catch {
    withoutWorker();
  }
  function withoutWorker() {
    const scope = { postMessage: receive };
    engine.serve(scope);
    post = (data) => setTimeout(() => scope.onmessage({ data }));
    waiting = 0;
    at("worker").textContent = "This browser has no worker for the page, so the layer trains in the page itself; the picture may stutter.";
  }

  // ---- state -----------------------------------------------------------------------------------------------------------

  let state = null;                                          // what the address holds
  let report = null, curve = [], running = false, guess = null, attempts = [];
  const challenge = () => CHALLENGES.find(({ name }) => name === state.challenge);

  function open(hash) {
    const [next, problem] = read(hash);
    at("problem").textContent = problem;
    if (state?.challenge !== next.challenge || state?.config.question !== next.config.question) attempts = [];
    state = next;
    guess = null;
    page.querySelectorAll("[name='play-guess']").forEach((each) => { each.checked = false; });
    showChallenge();
    begin();
  }

  // A new model, untrained.
  function begin() {
    running = false;
    curve = [];
    report = null;
    if (state.layer > state.config.layers) state.layer = 1;
    showChoices();
    send({ id: ++id, start: { config: state.config, seed: state.seed, cafe: state.cafe } });
    remember();
  }

  function remember() {
    try { history.replaceState(history.state, "", write(state)); } catch { /* some file:// pages */ }
  }

  // Steps for the next picture.
  const chunk = () => (still.matches ? 50 : Number(page.querySelector("[name='play-speed']:checked").value));
  function go(steps) {
    if (report?.finished) begin();
    running = steps === undefined;
    at("train").textContent = running ? "Pause" : "Train";
    at("verdict").textContent = "";
    if (running && !report?.step) announce(`Training: ${sentence()}.`);
    send({ id, steps: steps ?? chunk() });
  }

  function receive(next) {
    waiting--;
    if (next.id !== id) return;
    report = next;
    if (curve.at(-1)?.[0] !== next.step) curve.push([next.step, next.accuracy]);
    if (still.matches && running && !next.finished) proceed();
    else requestAnimationFrame(show);
  }
  function proceed() {
    if (running && !waiting && !report.finished) send({ id, steps: chunk() });
  }
  function show() {
    if (!report) return;
    proceed();                                               // training goes on while the picture is drawn
    draw();
    if (report.finished && attempts.at(-1)?.curve !== curve) finish();
  }

  function finish() {
    running = false;
    at("train").textContent = "Train again";
    const { accuracy, step } = report, { start, guesses } = challenge(), right = guesses.find((each) => each.right);
    attempts.push({ words: sentence(), accuracy, curve });
    attempts = attempts.slice(-8);
    const verdict = [`Finished after ${step} steps: ${short(accuracy)} of the answers are right.`];
    const because = ({ reason }) => reason.cloneNode(true).childNodes;
    if (state.config.question === start.question) {
      const asked = Object.entries(right.part).every(([name, value]) => state.config[name] === value); // it is in the layer
      if (accuracy >= GOAL && asked) {
        keep(state.challenge);
        verdict.push(" Solved. ", ...because(right));
      } else if (accuracy >= GOAL) verdict.push(" Solved in another way than the one asked about.");
      else if (guess?.right) verdict.push(" This is the missing part, but with this seed too little was learned. Try a new seed.");
      else if (guess) verdict.push(" ", ...because(guess), " Guess again.");
      else verdict.push(" Which part is missing? Guess, then add it.");
    }
    showChallenge();
    showAttempts();
    at("verdict").replaceChildren(...verdict);
    announce(at("verdict").textContent);
  }

  // ---- challenges and switches -----------------------------------------------------------------------------------------

  at("challenge").prepend(...CHALLENGES.map(({ section }) => section));
  const buttons = CHALLENGES.map(({ name, title, section, guesses }, n) => {
    section.querySelectorAll("details").forEach((each) => each.remove());
    section.append(make("fieldset", {}, make("legend", {}, "Which part is missing?"), ...guesses.map(({ words }, value) =>
      make("label", {}, make("input", { type: "radio", name: "play-guess", value }), make("span", {}, ...words.childNodes)))));
    const button = make("button", { type: "button" }, `${n + 1}. ${title}`);
    button.addEventListener("click", () => open(`#${name}`));
    at("challenges").append(make("li", {}, button));
    return button;
  });

  function showChallenge() {
    CHALLENGES.forEach(({ name, section }, n) => {
      section.hidden = name !== state.challenge;
      buttons[n].setAttribute("aria-current", String(name === state.challenge));
      if (found.has(name) && !buttons[n].querySelector(".found")) {
        buttons[n].append(make("span", { class: "found" }, " ✓", make("span", { class: "hidden" }, " solved")));
      }
    });
  }

  at("add").addEventListener("click", () => {
    const chosen = page.querySelector("[name='play-guess']:checked");
    if (!chosen) { announce(at("verdict").textContent = "Choose one of the parts first."); return; }
    guess = challenge().guesses[chosen.value];
    state = { ...state, config: { ...challenge().start, ...guess.part } };
    begin();
    go();
    at("state").scrollIntoView();
  });

  for (const [name, values] of Object.entries(SWITCHES)) {
    const [title, words] = WORDS[name];
    const set = make("fieldset", { class: "chips", id: `play-${name}` }, make("legend", { class: "name" }, ...withIndices(title)));
    for (const value of values) {
      const input = make("input", { type: "radio", name: `play-${name}`, value });
      input.addEventListener("change", () => {
        if (name === "question") attempts = [];
        state = { ...state, config: { ...state.config, [name]: value } };
        guess = null;
        showAttempts();
        begin();
      });
      set.append(make("label", {}, input, make("span", {}, make("span", {}, ...withIndices(words[value])))));
    }
    at("switches").append(set);
  }

  // The layer in one sentence: what print, screen readers and the attempts show.
  function sentence({ question, scores, width, ...parts } = state.config) {
    const named = [`${scores === "mean" ? "" : "attention from "}${WORDS.scores[1][scores]}${projected({ scores }) ? ` (d_k = ${width})` : ""}`];
    if (parts.values) named.push("W_V");
    if (parts.residual) named.push("residual");
    if (parts.positions) named.push("positions");
    if (parts.feed_forward) named.push("feed-forward");
    if (parts.layers === 2) named.push("two layers with layer norm");
    return named.join(", ");
  }

  function showChoices() {
    for (const [name, value] of Object.entries(state.config)) {
      page.querySelector(`[name="play-${name}"][value="${value}"]`).checked = true;
    }
    at("width").disabled = !projected(state.config);
    at("layer").hidden = state.config.layers === 1;
    page.querySelector(`[name="play-layer"][value="${state.layer}"]`).checked = true;
    at("state").replaceChildren(...withIndices(`${WORDS.question[1][state.config.question]} This layer: ${sentence()}.`));
    at("numbers").textContent = `Seed ${state.seed}, café ${state.cafe}.`;
    at("code").textContent = asPython(state.config, engine, state.seed);
    at("train").textContent = "Train";
    at("verdict").textContent = "";
  }

  function showAttempts() {
    at("attempts").hidden = !attempts.length;
    at("attempts-rows").replaceChildren(...attempts.map(({ words, accuracy }, n) =>
      make("tr", {}, make("td", {}, n + 1), make("td", {}, ...withIndices(words)), make("td", {}, short(accuracy)))));
    if (report) drawChart();
  }

  // ---- the room --------------------------------------------------------------------------------------------------------

  const CARD = { width: 76, height: 60 };
  // The next chair is that of the right-hand neighbour: everybody faces the table.
  const PLACES = Array.from({ length: GUESTS }, (_, chair) => {
    const angle = -Math.PI / 2 - (chair * Math.PI) / 4;
    return [Math.round(119 * Math.cos(angle)), Math.round(132 * Math.sin(angle))];
  });
  // Where arrows begin and end, in front of each card: from there the way to any other guest is free.
  const PORTS = PLACES.map(([x, y]) => {
    const way = 0.82 * Math.max(1 - CARD.width / 2 / Math.abs(x), 1 - CARD.height / 2 / Math.abs(y));
    return [way * x, way * y];
  });
  const room = at("room");
  const others = make("svg:path", { class: "others" }), own = make("svg:path", { class: "own" });
  room.append(make("svg:ellipse", { class: "table", rx: 58, ry: 66 }), others, own);
  const cards = PLACES.map(([x, y], chair) => {
    const text = (attributes) => make("svg:text", attributes);
    const parts = {
      name: text({ y: -14, class: "name" }), drink: text({ x: 9, y: 4 }), friend: text({ y: 22, class: "friend" }),
      icon: make("svg:path", { class: "icon", transform: "translate(-34 -8)" }),
      mark: make("svg:path", { class: "mark", transform: "translate(24 -24)" }),
      frame: make("svg:rect", { x: -CARD.width / 2, y: -CARD.height / 2, width: CARD.width, height: CARD.height, rx: 8 }),
    };
    const card = make("svg:g", { class: "card-of", role: "button", tabindex: 0, transform: `translate(${x} ${y})` },
      parts.frame, parts.name, parts.icon, parts.drink, parts.friend, parts.mark);
    const choose = () => { state = { ...state, guest: chair }; remember(); draw(); announce(at("guest").textContent); };
    card.addEventListener("click", choose);
    card.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    });
    room.append(card);
    return { card, ...parts };
  });

  // An arrow from guest to guest, as wide as its weight, a little to the right so that opposite ones stay apart.
  function arrow(from, to, weight) {
    const [x, y] = PORTS[from], [tx, ty] = PORTS[to], end = Math.hypot(tx - x, ty - y);
    const [ux, uy] = [(tx - x) / end, (ty - y) / end], half = 1 + 3 * weight, neck = end - 6 - half;
    const point = (along, aside) =>
      `${(x + ux * along - uy * (aside + 4.5)).toFixed(1)} ${(y + uy * along + ux * (aside + 4.5)).toFixed(1)}`;
    return `M${point(0, -half)}L${point(neck, -half)}L${point(neck, -half - 3)}L${point(end, 0)}L${point(neck, half + 3)}` +
      `L${point(neck, half)}L${point(0, half)}z`;
  }

  const guests = () => drawCafes(1, random(state.cafe));
  const answerOf = (chair) => {
    const count = answersTo(state.config), answers = report.found.slice(chair * count, (chair + 1) * count);
    return state.config.question === "same" ? ["no", "yes"][answers[0]] ?? "neither" : answers.map((each) => DRINKS[each]).join(" and ");
  };
  const weightsOf = (chair) => report.weights[state.layer - 1].slice(chair * GUESTS, (chair + 1) * GUESTS);
  // To whom a guest attends most, and how much; all of them where the weights are equal.
  function attended(chair) {
    const weights = weightsOf(chair), largest = Math.max(...weights), most = weights.indexOf(largest);
    const equal = largest - Math.min(...weights) < 0.005;
    return [equal ? "all eight" : most === chair ? "its own token" : NAMES[guests().names[most]], short(largest), equal];
  }

  function drawRoom() {
    const { names, friends, drinks } = guests(), chosen = state.guest;
    let grey = "", colour = "";
    cards.forEach(({ card, name, drink, friend, icon, mark, frame }, chair) => {
      const weights = weightsOf(chair), mine = chair === chosen;
      weights.forEach((weight, other) => {
        if (other === chair || weight < (mine ? 0.03 : 0.25)) return;
        if (mine) colour += arrow(chair, other, weight);
        else grey += arrow(chair, other, weight);
      });
      mark.setAttribute("d", report.right[chair] ? "M0 4l4 4 6-8" : "M1 0l8 8M9 0l-8 8");
      frame.style.strokeWidth = (1.5 + 6 * weights[chair]).toFixed(1); // attention to oneself
      name.textContent = NAMES[names[chair]];
      drink.textContent = DRINKS[drinks[chair]];
      friend.textContent = `friend ${NAMES[friends[chair]]}`;
      icon.setAttribute("d", ICONS[drinks[chair]]);
      card.setAttribute("aria-pressed", String(mine));
      card.setAttribute("aria-label", `${NAMES[names[chair]]}, drinks ${DRINKS[drinks[chair]]}, friend ${NAMES[friends[chair]]}`);
    });
    others.setAttribute("d", grey);
    own.setAttribute("d", colour);
    const [whom, weight, equal] = attended(chosen);
    const layer = state.config.layers === 2 ? ` in layer ${state.layer}` : "";
    at("guest").textContent = `${NAMES[names[chosen]]} attends ` +
      `${equal ? "to all eight guests equally" : `most to ${whom}`}${layer} (weight ${weight}${equal ? " each" : ""}) and answers ` +
      `“${answerOf(chosen)}”: ${report.right[chosen] ? "right" : "wrong"}.`;
  }

  function showTable() {
    const { names, friends, drinks } = guests();
    at("rows").replaceChildren(...cards.map((_, chair) => {
      const [whom, weight] = attended(chair);
      const cells = [NAMES[friends[chair]], DRINKS[drinks[chair]], whom, weight, answerOf(chair), report.right[chair] ? "right" : "wrong"];
      return make("tr", {}, make("th", { scope: "row" }, NAMES[names[chair]]), ...cells.map((each) => make("td", {}, each)));
    }));
  }

  // ---- the curve, and the plane of keys and queries --------------------------------------------------------------------

  const chart = at("chart"), X = (step) => 30 + (280 * step) / stepsOf(state.config), Y = (accuracy) => 140 - 126 * accuracy;
  const line = (points) => points.map(([step, accuracy]) => `${X(step).toFixed(1)},${Y(accuracy).toFixed(1)}`).join(" ");
  function drawChart() {
    const { question, residual } = state.config, [chance, level, rule] = LEVELS[question];
    const levels = [[chance, "chance"], [level, rule]];
    if (question === "friend" && residual) levels.push([7 / 12, "one of the two drinks"]); // mine and my friend's, in a sum
    const ghosts = attempts.map((each) => make("svg:polyline", { class: "ghost", points: line(each.curve) }));
    const lines = levels.map(([accuracy]) => make("svg:path", { class: "level", d: `M30 ${Y(accuracy).toFixed(1)}H310` }));
    const labels = levels.map(([accuracy, words]) =>
      make("svg:text", { class: "on-page", x: 310, y: (Y(accuracy) - 6).toFixed(1), "text-anchor": "end" }, `${words} ${short(accuracy)}`));
    const axis = [0, 0.5, 1].map((each) => make("svg:text", { x: 24, y: (Y(each) + 4).toFixed(1), "text-anchor": "end" }, each === 0.5 ? ".5" : each));
    chart.replaceChildren(make("svg:path", { class: "axis", d: "M30 14V140H310" }), ...axis,
      make("svg:text", { x: 30, y: 158 }, "0"), make("svg:text", { x: 310, y: 158, "text-anchor": "end" }, `${stepsOf(state.config)} steps`),
      ...lines, ...ghosts, make("svg:polyline", { class: "now", points: line(curve) }), ...labels);
    at("accuracy").textContent = report.step ? `Accuracy ${short(report.accuracy)} after ${many(report.step, "step")}` : "Not trained yet";
    at("accuracy-note").textContent = `${report.parameters.toLocaleString("en")} parameters. ` +
      (report.finished ? "Measured on 1,000 cafés that were not in training." : "Measured on 100 cafés while it learns.");
  }

  function drawPlane() {
    const points = report.plane, plane = at("plane");
    at("plane-box").hidden = !points;
    if (!points) return;
    const pair = (list, n) => [list[2 * n], -list[2 * n + 1]];
    const most = (list) => Math.max(1e-9, ...NAMES.map((_, n) => Math.hypot(...pair(list, n))));
    const keyScale = 108 / most(points.keys), queryScale = 84 / most(points.queries);
    const head = (x, y) => [0.5, -0.5].map((turn) => {         // the two barbs of an arrow that ends there
      const angle = Math.atan2(y, x) + Math.PI + turn;
      return `M${x.toFixed(1)} ${y.toFixed(1)}l${(9 * Math.cos(angle)).toFixed(1)} ${(9 * Math.sin(angle)).toFixed(1)}`;
    }).join("");
    const wanted = guests().friends[state.guest];
    const arrows = NAMES.map((_, n) => {
      const [x, y] = pair(points.queries, n).map((each) => each * queryScale);
      return make("svg:path", { class: n === wanted ? "query wanted" : "query", d: `M0 0L${x.toFixed(1)} ${y.toFixed(1)}${head(x, y)}` });
    });
    const keys = NAMES.flatMap((name, n) => {
      const [x, y] = pair(points.keys, n).map((each) => each * keyScale), far = Math.hypot(x, y) || 1;
      const label = make("svg:text", { x: (x + (22 * x) / far).toFixed(1), y: (y + (16 * y) / far + 4).toFixed(1) }, name);
      return [make("svg:circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 5 }), label];
    });
    plane.replaceChildren(make("svg:path", { class: "axis", d: "M-130 0H130M0 -120V120" }), ...arrows, ...keys);
    at("plane-told").textContent = `A dot is the key of a name, an arrow the query of a guest whose friend has that name. The thick arrow searches for ${NAMES[wanted]}.`;
  }

  function draw() {
    if (!report?.weights) return;
    drawRoom();
    drawChart();
    drawPlane();
    if (!running || report.finished) showTable();
  }

  // ---- controls --------------------------------------------------------------------------------------------------------

  at("train").addEventListener("click", () => {
    if (!running) { go(); return; }
    running = false;
    at("train").textContent = "Go on";
    announce("Paused.");
  });
  at("step").addEventListener("click", () => go(1));
  at("cafe").addEventListener("click", () => {
    state = { ...state, cafe: (state.cafe % LARGEST) + 1 };
    remember();
    showChoices();
    at("train").textContent = running ? "Pause" : "Train";
    send({ id, cafe: state.cafe });
  });
  at("seed").addEventListener("click", () => { state = { ...state, seed: (state.seed % LARGEST) + 1 }; begin(); });
  for (const input of page.querySelectorAll("[name='play-layer']")) {
    input.addEventListener("change", () => { state = { ...state, layer: Number(input.value) }; remember(); draw(); });
  }
  at("parts").open = matchMedia("(min-width: 48rem)").matches; // folded on a phone
  addEventListener("hashchange", () => { if (location.hash !== write(state)) open(location.hash); });
  open(location.hash);
})();

// The attention playground's page: the café as a room, switches, challenges and the curve. The engine runs in a worker,
// or here where there is none. Only one page loads this.
(() => {
  "use strict";
  const at = (name) => document.getElementById(`play-${name}`);
  const page = document.getElementById("play");
  page.hidden = false;

  const { SWITCHES, CHALLENGES, GOAL, LARGEST, read, write, asPython } = globalThis.playgroundState;
  const engine = globalThis.attentionEngine(), { GUESTS, answersTo, stepsOf, drawCafes, random } = engine;
  const NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"];
  const DRINKS = ["tea", "coffee", "juice", "water", "milk", "cocoa"];
  const short = (number) => number.toFixed(2).replace(/^0/, "");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const projected = (config) => config.scores === "qk" || config.scores === "tied";

  // ---- what has been found, in this browser only ----------------------------------------------------------------------

  const found = new Set();
  const recallFound = () => [recall("playground") ?? []].flat().forEach((name) => found.add(name));
  const keepFound = () => { recallFound(); retain("playground", JSON.stringify([...found])); }; // another tab may have found more
  keepFound();
  at("stored").hidden = recall("playground") !== null;

  // ---- the engine, elsewhere or here ----------------------------------------------------------------------------------

  let id = 0, post = null, waiting = 0;                      // for so many reports
  function send(data) { waiting++; post(data); }
  try {
    const code = new Blob([`${softmaxRow}\n(${globalThis.attentionEngine})().serve(self)`], { type: "text/javascript" });
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
    at("worker").hidden = false;
  }

  // ---- state -----------------------------------------------------------------------------------------------------------

  let state = null;                                          // what the address holds
  let report = null, curve = [], running = false, guess = null, attempts = [], outcome = "";
  const challenge = () => CHALLENGES.find(({ name }) => name === state.challenge);

  function open(hash) {
    const [next, problem] = read(hash);
    at("problem").textContent = problem;
    if (state?.challenge !== next.challenge || state?.config.question !== next.config.question) attempts = [];
    state = next;
    guess = null;
    at("guess").reset();
    showChallenge();
    begin();
  }

  // A new model, untrained.
  function begin() {
    running = false;
    curve = [];
    report = null;
    outcome = "";
    at("train").textContent = "Train";
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
    if (running && !report?.step) announce(`Training: ${at("state").textContent}`);
    send({ id, steps: steps ?? chunk() });
  }

  function receive(next) {
    waiting--;
    if (next.id !== id) return;
    report = next;
    if (curve.at(-1)?.[0] !== next.measured) curve.push([next.measured, next.accuracy]);
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
    outcome = ": see below";
    const verdict = [`Finished after ${step} steps with an accuracy of ${short(accuracy)}.`];
    const because = ({ reason }) => reason.cloneNode(true).childNodes;
    if (state.config.question === start.question) {
      const asked = Object.entries(right.part).every(([name, value]) => state.config[name] === value); // it is in the layer
      if (accuracy >= GOAL && asked) {
        found.add(state.challenge);
        keepFound();
        outcome = ": solved";
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

  at("challenge").append(...CHALLENGES.map(({ section }) => section));
  const views = CHALLENGES.map(({ name, title, section, guesses }, n) => {
    section.querySelectorAll("details").forEach((each) => each.remove());
    const parts = make("fieldset", {}, make("legend", { class: "name" }, "Which part is missing?"), ...guesses.map(({ words }, value) =>
      make("label", {}, make("input", { type: "radio", name: `play-guess-${name}`, value, required: "" }),
        make("span", {}, ...words.childNodes))));
    at("guess").querySelector(".buttons").before(parts);
    const button = make("button", { type: "button" }, `${n + 1}`, make("span", { class: "title" }, `. ${title}`));
    button.addEventListener("click", () => { location.hash = name; }); // Back leads to the challenge before
    at("challenges").append(make("li", {}, button));
    return { section, parts, button };
  });

  function showChallenge() {
    views.forEach(({ section, parts, button }, n) => {
      const { name } = CHALLENGES[n], here = name === state.challenge;
      section.hidden = parts.hidden = parts.disabled = !here;
      button.setAttribute("aria-current", String(here));
      if (found.has(name) && !button.querySelector(".found")) {
        button.append(make("span", { class: "found" }, " ✓", make("span", { class: "hidden" }, " solved")));
      }
    });
    at("next").hidden = !found.has(state.challenge) || challenge() === CHALLENGES.at(-1);
  }

  at("next").addEventListener("click", () => {
    location.hash = CHALLENGES[CHALLENGES.indexOf(challenge()) + 1].name;
    at("challenges").scrollIntoView();
  });

  at("guess").addEventListener("submit", (event) => {
    event.preventDefault();
    guess = challenge().guesses[at("guess").querySelector("fieldset:enabled :checked").value];
    state = { ...state, config: { ...challenge().start, ...guess.part } };
    begin();
    go();
    at("train").scrollIntoView();
  });

  at("switches").addEventListener("change", ({ target }) => {
    const name = target.name.replace("play-", ""), value = SWITCHES[name].find((each) => String(each) === target.value);
    if (name === "question") attempts = [];
    state = { ...state, config: { ...state.config, [name]: value } };
    guess = null;
    showAttempts();
    begin();
  });
  const inputOf = (name) => page.querySelector(`[name="play-${name}"][value="${state.config[name]}"]`);
  const wordsOf = (name) => inputOf(name).nextElementSibling.cloneNode(true).childNodes;

  // The layer in one sentence: what print, screen readers and the attempts show.
  function sentence() {
    const { scores, width, values, residual, positions, feed_forward, layers } = state.config;
    const words = [scores === "mean" ? "" : "attention from ", ...wordsOf("scores")];
    if (projected(state.config)) words.push(" (d", make("sub", {}, "k"), ` = ${width})`);
    if (values) words.push(", W", make("sub", {}, "V"));
    if (residual) words.push(", residual");
    if (positions) words.push(", positions");
    if (feed_forward) words.push(", feed-forward");
    if (layers === 2) words.push(", two layers with layer norm");
    return words;
  }

  function showChoices() {
    for (const name of Object.keys(SWITCHES)) inputOf(name).checked = true;
    at("width").disabled = !projected(state.config);
    at("layer").hidden = state.config.layers === 1;
    page.querySelector(`[name="play-layer"][value="${state.layer}"]`).checked = true;
    at("state").replaceChildren(...wordsOf("question"), " This layer: ", ...sentence(), ".");
    at("numbers").textContent = `Seed ${state.seed}, café ${state.cafe}.`;
    at("code").textContent = asPython(state.config, engine, state.seed);
    at("verdict").textContent = "";
  }

  function showAttempts() {
    at("attempts").hidden = !attempts.length;
    at("attempts-rows").replaceChildren(...attempts.map(({ words, accuracy }, n) =>
      make("tr", {}, make("td", {}, n + 1), make("td", {}, ...words), make("td", {}, short(accuracy)))));
    if (report) drawChart();
  }

  // ---- the room --------------------------------------------------------------------------------------------------------

  // The next chair, clockwise, is that of the left-hand neighbor: everybody faces the table.
  const PLACES = Array.from({ length: GUESTS }, (_, chair) => {
    const angle = -Math.PI / 2 + (chair * Math.PI) / 4;
    return [Math.round(119 * Math.cos(angle)), Math.round(132 * Math.sin(angle))];
  });
  // Where the arrow to or from a guest begins or ends: in front of the card (76 by 60), from where the way to any other guest
  // is free, and on the side on which the other one sits, so that no two arrows of a guest share a place.
  function port(chair, other) {
    const [x, y] = PLACES[chair], far = Math.hypot(x, y), way = 0.92 * Math.max(1 - 38 / Math.abs(x), 1 - 30 / Math.abs(y));
    const aside = 5 * (4 - (other - chair + GUESTS) % GUESTS);
    return [way * x - (aside * y) / far, way * y + (aside * x) / far];
  }
  const cards = PLACES.map(([x, y], chair) => {
    const card = at("card").content.querySelector("g").cloneNode(true);
    card.setAttribute("transform", `translate(${x} ${y})`);
    card.setAttribute("aria-label", "a guest"); // until the first café is drawn
    const choose = () => { state = { ...state, guest: chair }; remember(); draw(); announce(at("guest").textContent); };
    card.addEventListener("click", choose);
    card.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    });
    at("room").append(card);
    return card;
  });

  // How far it is from a point in the direction (ux, uy) to a card with its frame; 0 if it is not on the way.
  function wayToCard(chair, x, y, ux, uy) {
    const [cx, cy] = PLACES[chair], enter = [], leave = [];
    for (const [to, u, half] of [[cx - x, ux, 42], [cy - y, uy, 34]]) {
      enter.push((to - Math.sign(u) * half) / u);
      leave.push((to + Math.sign(u) * half) / u);
    }
    return Math.max(...enter) < Math.min(...leave) ? Math.max(0, ...enter) : 0;
  }
  // An arrow from card to card, as wide as its weight, a little to the right so that opposite ones stay apart.
  function arrow(from, to, weight) {
    const [x, y] = port(from, to), [tx, ty] = port(to, from), far = Math.hypot(tx - x, ty - y);
    const [ux, uy] = [(tx - x) / far, (ty - y) / far], half = 1 + 3 * weight;
    const point = (along, aside) => [x + ux * along - uy * (aside + 4.5), y + uy * along + ux * (aside + 4.5)];
    const start = -wayToCard(from, ...point(0, 0), -ux, -uy), end = far + wayToCard(to, ...point(far, 0), ux, uy), neck = end - 6 - half;
    const corners = [[start, -half], [neck, -half], [neck, -half - 3], [end, 0], [neck, half + 3], [neck, half], [start, half]];
    return `M${corners.map((corner) => point(...corner).join(" ")).join("L")}z`;
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
    const paths = { others: "", own: "" };
    cards.forEach((card, chair) => {
      const weights = weightsOf(chair), mine = chair === chosen, part = (name) => card.querySelector(name);
      weights.forEach((weight, other) => {
        if (other === chair || weight < (mine ? 0.03 : 0.25)) return;
        paths[mine ? "own" : "others"] += arrow(chair, other, weight);
      });
      const name = NAMES[names[chair]], drink = DRINKS[drinks[chair]], friend = `friend ${NAMES[friends[chair]]}`;
      part("rect").style.strokeWidth = 1.5 + 6 * weights[chair]; // attention to oneself
      part(".mark").style.visibility = report.right[chair] ? "visible" : "hidden";
      part(".icon").setAttribute("href", `#play-${drink}`);
      part(".name").textContent = name;
      part(".drink").textContent = drink;
      part(".friend").textContent = friend;
      card.setAttribute("aria-pressed", String(mine));
      card.setAttribute("aria-label", `${name} ${drink} ${friend}`);
    });
    for (const [name, d] of Object.entries(paths)) at("room").querySelector(`.${name}`).setAttribute("d", d);
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

  const steps = () => Math.max(stepsOf(state.config), ...attempts.map((each) => each.curve.at(-1)[0])); // the longest run in the chart
  const X = (step) => 30 + (280 * step) / steps(), Y = (accuracy) => 118 - 104 * accuracy;
  const line = (points) => points.map(([step, accuracy]) => `${X(step)},${Y(accuracy)}`).join(" ");
  // The label of a level is at the end of its line or at its beginning, above it or below: where fewest points of curves are.
  function words(name, level) {
    const text = `${name} ${short(level)}`, wide = 6 * text.length, points = [curve, ...attempts.map((each) => each.curve)].flat();
    const covered = ({ from, down }) => points.filter(([step, accuracy]) =>
      X(step) >= from && X(step) <= from + wide && Math.abs(Y(accuracy) - Y(level) - down + 4) < 9).length;
    const places = [-6, 14].flatMap((down) => [{ from: 310 - wide, x: 310, anchor: "end", down }, { from: 36, x: 36, anchor: "start", down }]);
    const { x, anchor, down } = places.reduce((best, each) => (covered(each) < covered(best) ? each : best));
    return make("svg:text", { class: "on-page", x, y: Y(level) + down, "text-anchor": anchor }, text);
  }
  function drawChart() {
    const { question, residual } = state.config, levels = Object.entries(JSON.parse(inputOf("question").dataset.levels));
    if (question === "friend" && residual) levels.push(["one of the two drinks", 7 / 12]); // mine and my friend's, in a sum
    at("steps").textContent = `${steps()} steps`;
    at("lines").replaceChildren(
      ...levels.map(([, accuracy]) => make("svg:path", { class: "level", d: `M30 ${Y(accuracy)}H310` })),
      ...attempts.map((each) => make("svg:polyline", { class: "ghost", points: line(each.curve) })),
      ...levels.map((level) => words(...level)),
      make("svg:polyline", { class: "now", points: line(curve) }),
    );
    at("accuracy").textContent = report.step ? `Accuracy ${short(report.accuracy)} after ${many(report.measured, "step")}${outcome}` : "Not trained yet";
    at("parameters").textContent = `${report.parameters.toLocaleString("en")} parameters, tested on 1,000 cafés that are not in training.`;
  }

  function drawPlane() {
    const points = report.plane, wanted = guests().friends[state.guest];
    at("plane-box").hidden = !points;
    if (!points) return;
    const scaled = (list, radius) => {
      const pairs = NAMES.map((_, n) => [list[2 * n], -list[2 * n + 1]]);
      const scale = radius / Math.max(1e-9, ...pairs.map(([x, y]) => Math.hypot(x, y)));
      return pairs.map(([x, y]) => [scale * x, scale * y]);
    };
    const barb = (x, y, turn) => {                             // of an arrow that ends there
      const angle = Math.atan2(y, x) + Math.PI + turn;
      return `M${x} ${y}l${9 * Math.cos(angle)} ${9 * Math.sin(angle)}`;
    };
    const arrows = scaled(points.queries, 84).map(([x, y], n) => make("svg:path", {
      class: n === wanted ? "query wanted" : "query", d: `M0 0L${x} ${y}${barb(x, y, 0.5)}${barb(x, y, -0.5)}`,
    }));
    const keys = scaled(points.keys, 108).flatMap(([x, y], n) => {
      const far = Math.hypot(x, y) || 1, label = { x: x + (22 * x) / far, y: y + (16 * y) / far + 4 };
      return [make("svg:circle", { cx: x, cy: y, r: 5 }), make("svg:text", label, NAMES[n])];
    });
    at("points").replaceChildren(...arrows, ...keys);
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
    send({ id, cafe: state.cafe });
  });
  at("seed").addEventListener("click", () => { state = { ...state, seed: (state.seed % LARGEST) + 1 }; begin(); });
  at("layer").addEventListener("change", ({ target }) => {
    state = { ...state, layer: Number(target.value) };
    remember();
    draw();
  });
  at("parts").open = matchMedia("(min-width: 48rem)").matches;
  addEventListener("storage", () => { recallFound(); showChallenge(); });
  addEventListener("hashchange", () => { if (location.hash !== write(state)) open(location.hash); });
  open(location.hash);
})();

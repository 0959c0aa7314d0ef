// What the attention playground knows besides its engine: the switches and challenges (which the page holds),
// addresses, and the same layer in Python. Nothing here changes the page.
globalThis.playgroundState = (() => {
  "use strict";

  // Each switch with its values, and the layer that is checked when the page opens.
  const SWITCHES = {}, PLAIN = {};
  for (const { name, value, defaultChecked } of document.querySelectorAll("#play-switches input")) {
    const given = name.replace("play-", ""), choice = isNaN(value) ? value : Number(value);
    (SWITCHES[given] ??= []).push(choice);
    if (defaultChecked) PLAIN[given] = choice;
  }

  // Each challenge begins with a part missing; a guess adds a part, and training judges it.
  const CHALLENGES = Array.from(document.querySelectorAll(".challenge"), (section) => ({
    section, name: section.dataset.name, title: section.querySelector("h2").textContent,
    start: { ...PLAIN, ...JSON.parse(section.dataset.start) },
    guesses: Array.from(section.querySelectorAll("details"), (guess) => ({
      words: guess.firstElementChild, reason: guess.lastElementChild, part: JSON.parse(guess.dataset.part),
      right: "right" in guess.dataset,
    })),
  }));
  const GOAL = 0.95;

  // ---- addresses: all that was chosen, or the name of a challenge -----------------------------------------------------

  const FIRST = { challenge: CHALLENGES[0].name, config: CHALLENGES[0].start, seed: 1, cafe: 1, guest: 0, layer: 1 };
  const LARGEST = 999999;

  function write({ challenge, config, seed, cafe, guest, layer }) {
    return `#${new URLSearchParams({ v: 1, challenge, ...config, seed, cafe, guest, layer })}`;
  }

  // The state of an address, and what was wrong with it: "" if nothing was.
  function read(hash) {
    const text = hash.replace(/^#/, "");
    const named = CHALLENGES.find(({ name }) => name === (text || FIRST.challenge));
    if (named) return [{ ...FIRST, challenge: named.name, config: named.start }, ""];
    const found = new URLSearchParams(text), config = {};
    const whole = (name, least, most) => {
      const number = /^\d{1,6}$/.test(found.get(name)) ? Number(found.get(name)) : NaN;
      return number >= least && number <= most ? number : undefined;
    };
    for (const [name, allowed] of Object.entries(SWITCHES)) config[name] = allowed.find((each) => String(each) === found.get(name));
    const challenge = CHALLENGES.find(({ name }) => name === found.get("challenge"))?.name;
    const numbers = {
      seed: whole("seed", 1, LARGEST), cafe: whole("cafe", 1, LARGEST), guest: whole("guest", 0, 7),
      layer: whole("layer", 1, config.layers ?? 1),
    };
    const state = { challenge, config, ...numbers };
    const complete = found.get("v") === "1" && [challenge, ...Object.values(config), ...Object.values(numbers)].every((each) => each !== undefined);
    return complete ? [state, ""] : [FIRST, "This address is damaged, or it comes from another version of the page, so the first challenge is open."];
  }

  // ---- the same layer with the course's café in Python ----------------------------------------------------------------

  const QUESTIONS = {
    ada: ["adas_drink"], friend: ["cafe.friends_drink"], both: ["cafe.my_drink", "cafe.friends_drink"],
    left: ["cafe.left_neighbours_drink"], same: ["cafe.same_drink"], friends_friend: ["cafe.friends_friends_drink"],
  };

  function asPython(config, { D_MODEL: d, HIDDEN, BATCH, RATE, stepsOf }, seed) {
    const { scores, width, values, residual, positions, feed_forward, layers } = config, two = layers === 2;
    const linear = (rows, columns) => `nn.Linear(${rows}, ${columns}, bias=False)`;
    const source = two ? "normal" : "x", plus = residual ? "x + " : "";
    const passed = values ? `self.W_value(${source})` : source;
    const parts = [
      scores === "query" && `self.query = nn.Parameter(torch.randn(${d}) / ${d}**0.5)`,
      two && `self.norm = nn.LayerNorm(${d})`,
      scores === "qk" && `self.W_query = ${linear(d, width)}`,
      (scores === "qk" || scores === "tied") && `self.W_key = ${linear(d, width)}`,
      values && `self.W_value = ${linear(d, d)}`,
      two && feed_forward && `self.feed_forward_norm = nn.LayerNorm(${d})`,
      feed_forward && `self.feed_forward = nn.Sequential(nn.Linear(${d}, ${HIDDEN}), nn.ReLU(), nn.Linear(${HIDDEN}, ${d}))`,
    ].filter(Boolean);
    const attend = (queries, keys, dim) => [
      `weights = (${queries} @ ${keys}.mT / ${dim}**0.5).softmax(dim=2)  # (cafes, guests, guests)`,
      `output = weights @ ${passed}`,
    ];
    const output = {
      mean: [`output = ${passed}.mean(dim=1, keepdim=True).expand(-1, 8, -1)`],
      query: [
        `weights = (${source} @ self.query / ${d}**0.5).softmax(dim=1)  # (cafes, guests)`,
        `output = (weights.unsqueeze(1) @ ${passed}).expand(-1, 8, -1)`,
      ],
      none: attend(source, source, d),
      tied: [`keys = self.W_key(${source})`, ...attend("keys", "keys", width)],
      qk: [`queries, keys = self.W_query(${source}), self.W_key(${source})`, ...attend("queries", "keys", width)],
    }[scores];
    const forward = [two && "normal = self.norm(x)", ...output].filter(Boolean);
    if (feed_forward) {
      forward.push(`x = ${plus}output`, `return ${plus}self.feed_forward(${two ? "self.feed_forward_norm(x)" : "x"})`);
    } else forward.push(`return ${plus}output`);
    const stack = [positions && "WithPositions()", ...Array(layers).fill("Layer()")].filter(Boolean);
    const layer = stack.length > 1 ? `nn.Sequential(${stack.join(", ")})` : stack[0];
    const asked = QUESTIONS[config.question].join(", ");
    const lines = [
      "import torch", "from torch import nn", "", "from shared import cafe",
      positions && "from shared.model import sinusoidal_positions", "", "",
      "class Layer(nn.Module):",
      ...(parts.length ? ["    def __init__(self):", "        super().__init__()", ...parts.map((each) => `        ${each}`), ""] : []),
      "    def forward(self, x):  # (cafes, guests, d_model)", ...forward.map((each) => `        ${each}`), "", "",
      ...(positions ? ["class WithPositions(nn.Module):", "    def forward(self, x):",
        `        return x + sinusoidal_positions(8, ${d}, base=10_000)`, "", ""] : []),
      ...(config.question === "ada" ? ["def adas_drink(cafes):",
        "    return cafe.adas_drink(cafes).expand(-1, 8)  # every guest is asked", "", ""] : []),
      `torch.manual_seed(${seed})`,
      `layer = ${layer}`,
      `recipe = dict(seed=${seed}, d_model=${d}, steps=${stepsOf(config)}, learning_rate=${RATE}, batch_size=${BATCH})`,
      `model = cafe.train(layer, ${asked}, **recipe)`,
      `print(cafe.accuracy(model, ${asked}))`, "",
    ];
    return lines.filter((each) => each !== false && each !== 0).join("\n");
  }

  return { SWITCHES, PLAIN, CHALLENGES, GOAL, LARGEST, read, write, asPython };
})();

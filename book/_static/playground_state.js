// What the attention playground knows besides its engine: the switches, the challenges, addresses, and the same layer
// in Python. Nothing here touches the page.
globalThis.playgroundState = (() => {
  "use strict";

  // Each switch with its values, the plain one first; an address may hold no others.
  const SWITCHES = {
    question: ["ada", "friend", "both", "right", "same", "friends_friend"],
    scores: ["mean", "query", "none", "tied", "qk"],
    width: [1, 2, 8],
    values: [0, 1],
    residual: [0, 1],
    positions: [0, 1],
    feed_forward: [0, 1],
    layers: [1, 2],
  };
  const PLAIN = { question: "friend", scores: "qk", width: 8, values: 0, residual: 0, positions: 0, feed_forward: 0, layers: 1 };

  // The challenges in the order of the labs. Each begins with a part missing; a guess adds a part, and training judges it.
  // The last element of a guess says why it is right or wrong; `right` is the place of the right one.
  const CHALLENGES = [
    {
      name: "ada", title: "What does Ada drink?", lab: ["01_recap_attention", "Recap: attention"],
      start: { question: "ada", scores: "mean" }, goal: 0.95,
      text: "Everybody is asked what Ada drinks. The mean of all guests says which drinks are in the room, but not which one is Ada's.",
      guesses: [
        ["A value projection", { values: 1 }, "It changes what is passed on, but the mean still treats all guests alike."],
        ["One learned query in place of the mean", { scores: "query" },
          "One learned query is enough, because the question is the same for everybody: the query gives Ada's token the highest score in any café."],
        ["A feed-forward layer after the mean", { feed_forward: 1 }, "It sees only the mean, and the mean does not say which drink is Ada's."],
      ],
      right: 1,
    },
    {
      name: "keys", title: "Room for eight keys", lab: ["02_keys", "Keys"],
      start: { width: 1 }, goal: 0.95,
      text: "What does my friend drink? Queries and keys are given, but each is a single number, so eight names have to be told apart by eight numbers on a line.",
      guesses: [
        ["A second number in each key and query", { width: 2 },
          "On a line only the two keys at the ends can have the largest product with some query. On a ring in the plane each of the eight can: watch the keys below while they learn."],
        ["A value projection", { values: 1 }, "It changes what is passed on, not who attends to whom."],
        ["A feed-forward layer after the attention", { feed_forward: 1 },
          "It helps, but on a line the attention still cannot single out each of the eight guests."],
      ],
      right: 0,
    },
    {
      name: "queries", title: "What does my friend drink?", lab: ["03_queries", "Queries"],
      start: { scores: "query" }, goal: 0.95,
      text: "Now each guest asks about a different guest, but there is one query for all of them.",
      guesses: [
        ["A value projection", { values: 1 }, "It changes what is passed on, not who attends to whom."],
        ["X Xᵀ, which compares every guest with every guest", { scores: "none" },
          "Ben then scores Ada as Ada scores Ben, and nearly every guest matches itself best."],
        ["One projection for queries and keys, W_Q = W_K", { scores: "tied" },
          "Ben then scores Ada as Ada scores Ben, and most guests match themselves best."],
        ["Two projections, W_Q and W_K", { scores: "qk" },
          "Two projections let the friend's name in one token match the guest's own name in another. With X Xᵀ or a single projection, the best match of most guests is the guest itself, and Ben scores Ada as Ada scores Ben."],
      ],
      right: 3,
    },
    {
      name: "values", title: "My friend's drink, added to mine", lab: ["04_values", "Values"],
      start: { residual: 1 }, goal: 0.95,
      text: "The output is now added to x (the residual connection). Each guest finds its friend, but the sum holds two drinks, and the read-out (the linear map from the output to an answer) cannot see which one is the friend's.",
      guesses: [
        ["A feed-forward layer after the sum", { feed_forward: 1 }, "It sees only the sum, and a sum does not say which drink is whose."],
        ["Positions", { positions: 1 }, "They say who sits where, not which of the two drinks is the friend's."],
        // Without the residual connection there is no sum.
        ["A value projection W_V", { values: 1, residual: 1 },
          "W_V writes the friend's drink in different directions from my own, so the sum keeps the two apart."],
      ],
      right: 2,
    },
    {
      name: "both", title: "My drink and my friend's", lab: ["04_values", "Values"],
      start: { question: "both", values: 1 }, goal: 0.95,
      text: "There are two answers, and both have to be right. One output has room for one drink: a guest that attends to its friend receives the friend's drink, and not its own.",
      guesses: [
        ["A residual connection", { residual: 1 },
          "The residual connection keeps x, so a guest does not forget its own drink while it learns its friend's."],
        ["A second layer", { layers: 2 }, "It sees only the outputs of the first, and its own output has room for one drink too."],
        ["A feed-forward layer", { feed_forward: 1 }, "It works on the same output, and cannot add a drink that is not in it."],
      ],
      right: 0,
    },
    {
      name: "neighbour", title: "My right-hand neighbour's drink", lab: ["04_values", "Values"],
      start: { question: "right", values: 1, residual: 1 }, goal: 0.95,
      text: "Everybody faces the table, so my right-hand neighbour is the next guest counter-clockwise. The layer has every part of the formula, and yet it cannot find the guest on the next chair.",
      guesses: [
        ["A second layer", { layers: 2 }, "Without positions the second layer does not know either who sits next to whom."],
        ["A feed-forward layer", { feed_forward: 1 }, "It works on each guest alone, and nothing in a token says on which chair the guest sits."],
        ["Positions, added to x", { positions: 1 },
          "Without positions the same guests on other chairs get the same answers (the layer is permutation equivariant)."],
      ],
      right: 2,
    },
    {
      name: "same", title: "Do we drink the same?", lab: ["09_the_block", "The block"],
      start: { question: "same", values: 1, residual: 1 }, goal: 0.95,
      text: "“No” is right for five guests in six. Both drinks can arrive, but a linear read-out adds them and cannot compare them.",
      guesses: [
        ["A feed-forward layer", { feed_forward: 1 },
          "The feed-forward layer is non-linear, so one of its units can react to tea and tea, but not to tea and milk."],
        ["Positions", { positions: 1 }, "It does not matter on which chairs the two guests sit, and the read-out still only adds."],
        ["One projection, W_Q = W_K, because the question is symmetric", { scores: "tied" },
          "Comparing drinks is symmetric, but searching for a friend is not, and the read-out still only adds."],
      ],
      right: 0,
    },
    {
      name: "two_layers", title: "My friend's friend's drink", lab: ["09_the_block", "The block"],
      start: { question: "friends_friend", values: 1, residual: 1 }, goal: 0.95,
      text: "My token holds my friend's name. Whom my friend calls a friend is written in another token.",
      guesses: [
        ["Positions", { positions: 1 }, "They say who sits where, not whom my friend calls a friend."],
        ["A feed-forward layer", { feed_forward: 1 }, "It works on each guest alone, so it cannot fetch a drink from another token."],
        ["A second layer, and layer norm in both", { layers: 2 },
          "The first layer brings my friend's friend's name to me, and the second attends to that name: two steps need two layers."],
      ],
      right: 2,
    },
  ].map((each) => ({ ...each, start: { ...PLAIN, ...each.start } }));

  // What rules reach that find nobody: by chance, and with the most frequent answer (shared/cafe.py computes them).
  const LEVELS = {
    ada: [1 / 6, 0.365, "the most frequent drink"], friend: [1 / 6, 0.365, "the most frequent drink"],
    both: [1 / 36, 1 / 6, "only my own drink"], right: [1 / 6, 0.38, "the most frequent of the other seven"],
    same: [1 / 2, 5 / 6, "always “no”"], friends_friend: [1 / 6, 0.38, "the most frequent of the other seven"],
  };

  // ---- addresses: all that was chosen, or the name of a challenge -----------------------------------------------------

  const FIRST = { challenge: CHALLENGES[0].name, config: CHALLENGES[0].start, seed: 1, cafe: 1, guest: 0, layer: 1 };
  const LARGEST = 999999;

  function write({ challenge, config, seed, cafe, guest, layer }) {
    return `#${new URLSearchParams({ v: 1, challenge, ...config, seed, cafe, guest, layer })}`;
  }

  // The state of an address, and what was wrong with it: "" if nothing was.
  function read(hash) {
    const text = hash.replace(/^#/, "");
    if (!text) return [FIRST, ""];
    const named = CHALLENGES.find(({ name }) => name === text);
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
    right: ["cafe.right_neighbours_drink"], same: ["cafe.same_drink"], friends_friend: ["cafe.friends_friends_drink"],
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

  return { SWITCHES, PLAIN, CHALLENGES, LEVELS, LARGEST, read, write, asPython };
})();

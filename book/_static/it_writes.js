// The page "It writes": loads the course's language model when asked to, lets it continue a text, and shows what it
// computes (it_writes_model.js). All text goes in as text nodes and stays in this browser.
(() => {
  "use strict";

  const root = document.getElementById("writes"), about = globalThis.reviewWriterFiles;
  const at = (name) => document.getElementById(`writes-${name}`);
  const model = reviewWriter(attentionLayer());
  const { BLOCKS, HEADS, START, VOCABULARY } = model;
  const { megabytes, address, kept, whole, bytesKept, deleteOld, deleteAll } =
    modelFiles("review_writer", "review writer", about);

  const FILE = "model.safetensors";
  const LONGEST = 2000;                                      // characters of a beginning
  const MOST = 1000, AT_ONCE = 100;                          // tokens that the model writes: in all, and at one press
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const PACE = 80;                                           // milliseconds for a token, so that a reader can follow
  const BARS = 10, LAST = 20;
  const MARK = "[Underlined on the page \u201cIt writes\u201d of the course Towards Self-Attention: invented by a small language " +
    "model. Nothing in it is a fact or anybody\u2019s opinion.]";

  // ---- state --------------------------------------------------------------------------------------------------------

  let worker = null, tokens = null;                          // the model, once it is loaded
  let ids = [], own = 0;                                     // the text, of which the first tokens are the reader's
  let run = 0, running = false;
  let pinned = null, hovered = null;                         // how many tokens the model has read there
  let head = null;                                           // [block, head], or none: the mean of all
  let view = null;                                           // { read: how many tokens, answer: the worker's }
  const times = { 0: [], 1: [] };                            // milliseconds a token, with the KV cache and without

  const temperature = () => Number(at("temperature").value);
  const chosen = (name) => root.querySelector(`[name="writes-${name}"]:checked`).value;
  const topK = () => Number(chosen("topk")) || undefined;
  const say = announcer(at("said"));

  // ---- the address: behind "#", which no browser sends to a server -------------------------------------------------

  let wanted = null;                                         // the tokens of an address
  function readAddress() {
    const parts = new URLSearchParams(location.hash.slice(1));
    if (!parts.has("text") && !parts.has("ids")) return false;
    at("text").value = parts.get("text") ?? "";
    if (/^[\d.]+$/.test(parts.get("t") ?? "")) at("temperature").value = parts.get("t");
    for (const name of ["topk", "cache"]) {
      const input = root.querySelector(`[name="writes-${name}"][value="${CSS.escape(parts.get(name) ?? "")}"]`);
      if (input) input.checked = true;
    }
    const asked = (parts.get("ids") ?? "").split(".").map(Number);
    const valid = parts.get("ids") && asked.length <= 4 * LONGEST + MOST && asked.every((id) => Number.isInteger(id) && id >= 0 && id < VOCABULARY);
    wanted = valid ? asked : null;
    showDegrees();
    return true;
  }

  function showAddress() {
    const parts = new URLSearchParams({ text: at("text").value, t: temperature(), topk: chosen("topk"), cache: chosen("cache") });
    if (ids.length !== own || String(ids) !== String(tokens.encode(at("text").value))) parts.set("ids", ids.join("."));
    try { history.replaceState(history.state, "", `#${parts}`); } catch { /* too often, or an address that is too long */ }
  }

  // ---- the text -----------------------------------------------------------------------------------------------------

  const invented = make("ins");
  const spans = [];                                          // one for each token on the page

  function showText() {
    while (spans.length > ids.length) spans.pop().remove();
    tokens.pieces(ids).forEach((piece, n) => {
      spans[n] ??= make("span", { class: "t" });
      const parent = n < own ? at("out") : invented;
      if (spans[n].parentNode !== parent) parent.insertBefore(spans[n], n < own ? invented : null);
      if (spans[n].textContent !== piece) spans[n].textContent = piece;
      spans[n].toggleAttribute("data-empty", piece === "");
    });
  }

  const nameOf = (id) => (id === START ? "start token" : tokens.decode([id]).replace(/\n/g, "\u21B5"));
  const quoted = (id) => (id === START ? ["the start token"] : ["\u201c", make("bdi", {}, nameOf(id)), "\u201d"]);
  const percent = (prob) => `${(100 * prob).toFixed(prob < 0.0995 ? 1 : 0)}%`;

  // ---- one token of the text: what comes next, and what is attended to ---------------------------------------------

  const bars = Array.from({ length: BARS }, () => {
    const button = make("button", { type: "button" }, make("bdi"), make("span"));
    button.addEventListener("click", () => choose(Number(button.dataset.id)));
    return button;
  });
  at("bars").append(...bars);

  const heads = Array.from({ length: BLOCKS * HEADS }, (_, n) => {
    const button = make("button", { type: "button", "aria-pressed": "false" }, make("small"), make("bdi"), make("span"));
    button.addEventListener("click", () => {
      head = head === n ? null : n;
      showAttention();
      say(at("head-told").textContent);
    });
    return button;
  });
  at("heads").append(...heads);

  // Of an answer once for each setting.
  function probsOf(answer, degrees) {
    const setting = `${degrees} ${topK()}`;
    if (answer.setting !== setting) {
      answer.probs = model.probabilities(answer.logits, degrees, topK());
      answer.setting = setting;
    }
    return answer.probs;
  }

  function showView(read, answer) {
    view = { read, answer };
    const next = ids[read], last = read ? ids[read - 1] : START;
    // At temperature 0 all other tokens have probability 0; their bars are those of temperature 1.
    const probs = probsOf(answer, temperature() || 1);
    const top = probs.slice(0, BARS);
    if (next !== undefined && !top.some(([id]) => id === next)) {
      top[Math.min(BARS - 1, top.length)] = [next, probs.find(([id]) => id === next)?.[1] ?? 0];
    }
    bars.forEach((button, n) => {
      button.hidden = n >= top.length;
      if (button.hidden) return;
      const [id, prob] = top[n];
      button.dataset.id = id;
      button.firstChild.textContent = id === START ? "end of the review" : nameOf(id);
      button.lastChild.textContent = percent(prob);
      button.style.setProperty("--prob", prob);
      if (id === next) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
    });
    at("told").replaceChildren("After ", ...quoted(last), ...(next === undefined
      ? [". Choose a token, and the text continues from there."]
      : [", where the text has ", ...quoted(next), ". Choose a different one, and the text continues from there."]));
    spans.forEach((span, n) => span.classList.toggle("chosen", n === read - 1));
    showAttention();
  }

  function showAttention() {
    if (!view) return;
    const { read, answer: { weights, dropped } } = view, n = read - dropped + 1; // tokens that the model saw
    const last = read ? ids[read - 1] : START, seen = (index) => (index ? ids[dropped + index - 1] : START);
    const shares = new Float32Array(n);
    heads.forEach((button, number) => {
      const row = weights.subarray(number * n, (number + 1) * n), most = row.indexOf(Math.max(...row));
      if (head === null || head === number) row.forEach((weight, j) => { shares[j] += weight / (head === null ? heads.length : 1); });
      const name = `${Math.floor(number / HEADS)}.${number % HEADS}`;
      button.children[0].textContent = name;
      button.children[1].textContent = nameOf(seen(most));
      button.children[2].textContent = row[most].toFixed(2).replace(/^0/, "");
      button.style.setProperty("--share", row[most]);
      button.setAttribute("aria-pressed", String(head === number));
      button.setAttribute("aria-label", `Block ${Math.floor(number / HEADS)}, head ${number % HEADS}: most to ` +
        `${nameOf(seen(most))}, ${row[most].toFixed(2)}`);
    });
    spans.forEach((span, index) => {
      const share = index >= dropped && index < read ? shares[index - dropped + 1] : 0;
      if (span.share === share) return;                      // most are 0, and a phone takes long to set them
      span.share = share;
      span.style.setProperty("--share", share.toFixed(3));
      span.dataset.headShare = share >= 0.05 ? share.toFixed(2) : "";
    });
    const which = head === null ? "The mean of all heads" : `Head ${head % HEADS} of block ${Math.floor(head / HEADS)}`;
    at("head-told").replaceChildren(`${which} shades the text: `, ...quoted(last),
      ` attends with a weight of ${shares[0].toFixed(2)} to the start token, and with the rest to what is shaded.`);
  }

  const place = () => hovered ?? pinned ?? ids.length;
  let looking = false;
  async function look() {                                    // one at a time; the last wish counts
    if (looking || !worker) return;
    looking = true;
    delete root.dataset.viewed;                              // until the wish is granted
    try {
      for (let read = null; read !== place();) {
        read = place();
        const text = String(ids), answer = await ask(ids.slice(0, read), true);
        if (read !== place() || text !== String(ids)) { read = null; continue; }
        showView(read, answer);
        root.dataset.viewed = read;                          // for those who wait for it
      }
    } finally { looking = false; }
  }

  function pin(read) {
    pinned = read === null ? null : Math.max(0, Math.min(ids.length, read));
    hovered = null;
    pause();
    look().then(() => {
      const most = bars.filter((bar) => !bar.hidden).slice(0, 3)
        .map((bar) => `${bar.firstChild.textContent} ${bar.lastChild.textContent}`);
      say(`After ${view.read ? nameOf(ids[view.read - 1]) : "the start token"}: ${most.join(", ")}`);
    });
  }

  // ---- the worker ---------------------------------------------------------------------------------------------------

  const asked = new Map();
  let ticket = 0;
  const ask = (text, cached) => new Promise((resolve) => {
    asked.set(++ticket, resolve);
    worker.postMessage({ ticket, ids: text, cached });
  });
  function answered({ data }) {
    asked.get(data.ticket)(data);
    asked.delete(data.ticket);
  }

  function showCosts({ cost, milliseconds }, cached) {
    const mine = times[cached];
    mine.push(milliseconds);
    if (mine.length > LAST) mine.shift();
    root.querySelector(`[data-cost="${cached}"]`).textContent = `${(cost / 1e6).toFixed(1)} million`;
    root.querySelector(`[data-time="${cached}"]`).textContent = (mine.reduce((a, b) => a + b) / mine.length).toFixed(1);
  }

  // ---- writing ------------------------------------------------------------------------------------------------------

  function state(sentence, speak = false) {
    at("state").textContent = sentence;
    if (speak) say(`${sentence} ${ids.length > own ? `Invented: ${tokens.decode(ids.slice(own))}` : ""}`);
  }

  function pause() {
    if (!running) return;
    run++;
    running = false;
    at("write").textContent = "Write";
    state(`Paused after ${many(ids.length - own, "token")}.`, true);
    showAddress();
  }

  async function write(most) {
    if (ids.length - own >= MOST) {
      state(`The model has written ${MOST.toLocaleString("en")} tokens, the most on this page. Start again.`, true);
      return;
    }
    const mine = ++run;
    running = true;
    pinned = null;
    at("write").textContent = "Pause";
    let sentence = null, before = 0, shownAt = 0;
    for (let n = 0; n < most && ids.length - own < MOST && !sentence; n++) {
      const begin = performance.now(), cached = chosen("cache"), text = ids;
      const answer = await ask(ids, cached === "1");
      if (mine !== run || text !== ids) return;
      showCosts(answer, cached);
      const id = model.draw(probsOf(answer, temperature()));
      if (id === START) sentence = "The model ended its review.";
      else {
        ids.push(id);
        showText();
      }
      state(`Writing: ${many(ids.length - own, "token")}.`);
      // Where a token takes long, the text comes first, and the rest is drawn twice a second.
      if (hovered === null && (begin - before < 1.5 * PACE || begin - shownAt > 500)) {
        showView(id === START ? ids.length : ids.length - 1, answer);
        shownAt = begin;
      }
      before = begin;
      const rest = still.matches ? 0 : PACE - (performance.now() - begin);
      if (n < most - 1) await new Promise((resolve) => { setTimeout(resolve, Math.max(0, rest)); });
      if (mine !== run) return;
    }
    running = false;
    at("write").textContent = "Write";
    state(sentence ?? (most === 1 ? `${many(ids.length - own, "token")} written so far.`
      : `${many(ids.length - own, "token")} written. Press \u201cWrite\u201d to go on.`), most > 1);
    if (most === 1 && !sentence) say(`Token: ${nameOf(ids.at(-1))}`);
    showAddress();
    root.dataset.done = run;
    look();
  }

  function choose(id) {
    const read = view.read;
    pause();
    if (id === START) {
      setText(ids.slice(0, read), Math.min(own, read));
      state("The review ends here.", true);
      showAddress();
      look();
      return;
    }
    setText([...ids.slice(0, read), id], Math.min(own, read));
    showAddress();
    write(AT_ONCE);
  }

  function setText(text, first) {
    run++;
    running = false;
    at("write").textContent = "Write";
    ids = text;
    own = first;
    pinned = hovered = null;
    showText();
  }

  // ---- the beginning ------------------------------------------------------------------------------------------------

  function note(sentence, problem = false) {
    at("note").textContent = sentence;
    at("note").classList.toggle("problem", problem);
    if (problem) say(sentence);
  }

  function begin() {
    const text = at("text").value;
    if (!tokens) return;
    if (text.length > LONGEST) {
      const [has, most] = [text.length, LONGEST].map((count) => count.toLocaleString("en"));
      note(`The text has ${has} characters; this page takes at most ${most}. Type a shorter one.`, true);
      return;
    }
    const encoded = tokens.encode(text), { seen } = model.windowOf(encoded);
    const remarks = [text === "" ? "An empty beginning: the model sees only its start token." : `${many(encoded.length, "token")}.`];
    if (seen.length <= encoded.length) remarks.push(`The model sees the last ${seen.length - 1} of them.`);
    if (/[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]/u.test(text)) {
      remarks.push("It was trained on English reviews and knows other scripts only byte by byte.");
    }
    note(remarks.join(" "));
    const all = wanted ?? encoded;
    wanted = null;
    let same = 0;
    while (same < Math.min(all.length, encoded.length) && all[same] === encoded[same]) same++;
    setText([...all], same);
    state("");
    showAddress();
    look();
  }

  const showDegrees = () => { at("degrees").textContent = temperature().toFixed(1); };

  let later = 0;
  at("text").addEventListener("input", () => { pause(); clearTimeout(later); later = setTimeout(begin, 250); });
  at("examples").addEventListener("click", ({ target }) => {
    if (target.dataset.text === undefined) return;
    at("text").value = target.dataset.text;
    begin();
  });
  at("write").addEventListener("click", () => { if (running) pause(); else write(AT_ONCE); });
  at("one").addEventListener("click", () => { pause(); write(1); });
  at("again").addEventListener("click", () => { begin(); say("The text is back at its beginning."); });
  at("temperature").addEventListener("input", () => { showDegrees(); if (view) showView(view.read, view.answer); });
  at("temperature").addEventListener("change", () => showAddress());
  at("topk").addEventListener("change", () => { showAddress(); if (view) showView(view.read, view.answer); });
  at("cache").addEventListener("change", () => showAddress());
  addEventListener("hashchange", () => { if (readAddress()) begin(); });

  const out = at("out");
  out.append(invented);
  const readAt = (target) => { const n = spans.indexOf(target); return n < 0 ? null : n + 1; };
  out.addEventListener("pointerover", ({ pointerType, target }) => {
    if (pointerType !== "mouse" || readAt(target) === null) return;
    hovered = readAt(target);
    look();
  });
  out.addEventListener("pointerleave", () => { if (hovered !== null) { hovered = null; if (!running) look(); } });
  out.addEventListener("click", ({ target }) => { if (readAt(target) !== null) pin(readAt(target) === pinned ? null : readAt(target)); });
  out.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const now = pinned ?? ids.length;
    const next = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: ids.length, Escape: null }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    pin(next);
  });

  // ---- copies carry the mark ----------------------------------------------------------------------------------------

  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (ids.length === own || document.activeElement === at("text") || !selection.containsNode(invented, true)) return;
    event.clipboardData.setData("text/plain", `${selection}\n${MARK}`);
    event.preventDefault();
  });
  at("copy").addEventListener("click", async () => {
    const text = tokens.decode(ids);
    try {
      await navigator.clipboard.writeText(ids.length > own ? `${text}\n${MARK}` : text);
      state(ids.length > own ? "Copied, with a line that says what is invented." : "Copied.");
    } catch {
      state("This browser does not let the page copy. Select the text and copy it.");
    }
    say(at("state").textContent);
  });

  // ---- loading, when asked to ---------------------------------------------------------------------------------------

  const progress = (sentence) => { at("progress").textContent = sentence; say(sentence); };

  async function load() {
    const button = at("load");
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    at("bar").hidden = false;
    try {
      const data = await whole(FILE, (have) => { at("bar").value = have / about[FILE].bytes; });
      at("bar").value = 1;
      tokens = model.read(data).tokens;
      const code = `(${writerWorker})((${reviewWriter})((${attentionLayer})()));`;
      worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
      worker.onmessage = answered;
      worker.onerror = () => progress("The browser stopped computing; perhaps its memory is full. Load the page again.");
      worker.postMessage({ file: data }, [data]);
    } catch (error) {
      button.removeAttribute("aria-disabled");
      at("bar").hidden = true;
      progress(`The model did not arrive. ${error.message} Press the button to try again.`);
      await deleteAll();                                     // perhaps what was stored is damaged
      await showKept();
      return;
    }
    progress("");
    const focused = document.activeElement === button;
    root.classList.add("loaded");
    at("waiting").hidden = true;
    at("results").hidden = false;
    begin();
    if (focused) at("write").focus({ preventScroll: true });
    say("The model is loaded.");
    await showKept();
  }
  at("load").addEventListener("click", load);

  async function showKept() {
    const bytes = await bytesKept();
    at("clear").hidden = !bytes;
    at("kept").textContent = bytes ? `This browser stores ${megabytes(bytes)} MB of the model, for the next time.`
      : "This browser stores nothing of the model.";
  }
  at("clear").addEventListener("click", async () => { await deleteAll(); await showKept(); at("kept").focus(); });

  async function start() {
    readAddress();
    showDegrees();
    at("load").textContent = `Load the model (${megabytes(about[FILE].bytes)} MB)`;
    if (typeof Worker === "undefined") {
      at("waiting").hidden = true;
      progress("This browser has no worker for the page, and the model needs one, so it cannot write here. The lab A language model " +
        "has it in Python.");
      return;
    }
    await deleteOld();
    await showKept();
    if (await kept(address(FILE))) load();                   // it is here already: nothing to ask for
  }
  start();
})();

// The page "It writes": lets the course's language model (it_writes_model.js) continue a text, and shows what it
// computes. All text goes in as text nodes and stays in this browser.
(() => {
  "use strict";

  const { root, at, say, note, ask, showAddress, reveal, start } =
    modelPage("writes", "review_writer", "review writer", globalThis.reviewWriterFiles);
  const model = reviewWriter(attentionLayer());
  const { BLOCKS, HEADS, START, VOCABULARY } = model;

  const LONGEST = 2000;                                      // characters of a beginning
  const MOST = 1000, AT_ONCE = 100;                          // tokens that the model writes: in all, and at one press
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const PACE = 80;                                           // milliseconds for a token, so that a reader can follow
  const BARS = 10, LAST = 20;
  const MARK = "[Underlined on the page \u201cIt writes\u201d of the course Towards Self-Attention: invented by a small language " +
    "model. Nothing in it is a fact or anybody\u2019s opinion.]";

  // ---- state --------------------------------------------------------------------------------------------------------

  let tokens = null;                                         // the tokenizer, once the model is loaded
  let ids = [], own = 0;                                     // the text, of which the first tokens are the reader's
  let writing = null;                                        // an object for the run that writes now
  let pinned = null, hovered = null;                         // how many tokens the model has read there
  let head = null;                                           // its number, or none: the mean of all
  let view = null;                                           // { read: how many tokens, answer: the worker's }
  const times = { 0: [], 1: [] };                            // milliseconds a token, with the KV cache and without

  const temperature = () => Number(at("temperature").value);
  const chosen = (name) => root.querySelector(`[name="writes-${name}"]:checked`).value;
  const probsOf = (answer, degrees) => model.probabilities(answer, degrees, Number(chosen("topk")) || undefined);
  const written = () => many(ids.length - own, "token");

  // ---- the address --------------------------------------------------------------------------------------------------

  let wanted = null;                                         // the tokens of an address
  function readAddress() {
    const parts = new URLSearchParams(location.hash.slice(1));
    if (!parts.has("text")) return false;
    at("text").value = parts.get("text");
    if (parts.has("t")) at("temperature").value = parts.get("t");
    for (const name of ["topk", "cache"]) {
      const input = root.querySelector(`[name="writes-${name}"][value="${CSS.escape(parts.get(name) ?? "")}"]`);
      if (input) input.checked = true;
    }
    const asked = parts.get("ids")?.split(".", 4 * LONGEST + MOST).map(Number);
    wanted = asked?.every((id) => Number.isInteger(id) && id > START && id < VOCABULARY) ? asked : null;
    showDegrees();
    return true;
  }

  function writeAddress() {
    const parts = { text: at("text").value, t: temperature(), topk: chosen("topk"), cache: chosen("cache") };
    if (String(ids) !== String(tokens.encode(parts.text))) parts.ids = ids.join(".");
    showAddress(parts);
  }

  // ---- the text -----------------------------------------------------------------------------------------------------

  const out = at("out"), invented = make("ins");
  const spans = [];                                          // one for each token on the page
  out.append(invented);

  function showText() {
    while (spans.length > ids.length) spans.pop().remove();
    tokens.pieces(ids).forEach((piece, n) => {
      spans[n] ??= make("span", { class: "t" });
      const parent = n < own ? out : invented;
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
    const name = `${Math.floor(n / HEADS)}.${n % HEADS}`;
    const button = make("button", { type: "button" }, make("small", {}, name), " ", make("bdi"), " ", make("span"));
    button.addEventListener("click", () => {
      head = head === n ? null : n;
      showAttention();
      say(at("head-told").textContent);
    });
    return button;
  });
  at("heads").append(...heads);

  function showView(read, answer) {
    view = { read, answer };
    const next = ids[read], last = read ? ids[read - 1] : START;
    // At temperature 0 all other tokens have probability 0; their bars are those of temperature 1.
    const probs = probsOf(answer, temperature() || 1), top = probs.slice(0, BARS);
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
      button.ariaCurrent = id === next ? "true" : null;
    });
    at("told").replaceChildren("After ", ...quoted(last), ...(next === undefined
      ? [". Choose a token, and the text continues from there."]
      : [", where the text has ", ...quoted(next), ". Choose a different one, and the text continues from there."]));
    spans.forEach((span, n) => span.classList.toggle("chosen", n === read - 1));
    showAttention();
  }

  function showAttention() {
    const { read, answer: { weights, dropped } } = view, n = read - dropped + 1; // tokens that the model saw
    const seen = [START, ...ids.slice(dropped, read)], shares = new Float32Array(n);
    heads.forEach((button, number) => {
      const row = weights.subarray(number * n, (number + 1) * n), most = row.indexOf(Math.max(...row));
      if (head === null || head === number) row.forEach((weight, j) => { shares[j] += weight / (head === null ? heads.length : 1); });
      button.children[1].textContent = nameOf(seen[most]);
      button.children[2].textContent = row[most].toFixed(2).replace(/^0/, "");
      button.style.setProperty("--share", row[most]);
      button.ariaPressed = head === number;
      const inSight = Array.from(button.children, (part) => part.textContent).join(" ");
      button.ariaLabel = `${inSight}: head ${number % HEADS} of block ${Math.floor(number / HEADS)}, its largest weight`;
    });
    spans.forEach((span, index) => {
      const share = index >= dropped && index < read ? shares[index - dropped + 1] : 0;
      if (span.share === share) return;                      // most are 0, and a phone takes long to set them
      span.share = share;
      span.style.setProperty("--share", share.toFixed(3));
    });
    const which = head === null ? "The mean of all heads" : `Head ${head % HEADS} of block ${Math.floor(head / HEADS)}`;
    at("head-told").replaceChildren(`${which} shades the text: `, ...quoted(seen.at(-1)),
      ` attends with a weight of ${shares[0].toFixed(2)} to the start token, and with the rest to what is shaded.`);
  }

  const look = oneAtATime(async () => {
    delete root.dataset.viewed;
    const read = hovered ?? pinned ?? ids.length, text = ids;
    const answer = await ask({ ids: text.slice(0, read), cached: true });
    if (text !== ids) return;                                // another text, which is looked at next
    showView(read, answer);
    reveal(at("write"));
    if (read === pinned) {
      const most = bars.slice(0, 3).map((bar) => `${bar.firstChild.textContent} ${bar.lastChild.textContent}`);
      say(`After ${read ? nameOf(ids[read - 1]) : "the start token"}: ${most.join(", ")}`);
    }
    root.dataset.viewed = read;                              // for those who wait for it
  });

  function pin(read) {
    pinned = read === null ? null : Math.max(0, Math.min(ids.length, read));
    hovered = null;
    pause();
    look();
  }

  function showCosts({ cost, milliseconds }, cached) {
    times[cached] = [...times[cached], milliseconds].slice(-LAST);
    const mean = times[cached].reduce((a, b) => a + b) / times[cached].length;
    root.querySelector(`[data-cost="${cached}"]`).textContent = `${(cost / 1e6).toFixed(1)} million`;
    root.querySelector(`[data-time="${cached}"]`).textContent = mean.toFixed(1);
  }

  // ---- writing ------------------------------------------------------------------------------------------------------

  function state(sentence, speak = false) {
    at("state").textContent = sentence;
    if (speak) say(`${sentence} ${ids.length > own ? `Invented: ${tokens.decode(ids.slice(own))}` : ""}`);
  }

  function setWriting(run) {
    writing = run;
    at("write").textContent = run ? "Pause" : "Write";
  }

  function pause() {
    if (!writing) return;
    setWriting(null);
    state(`Paused after ${written()}.`, true);
    writeAddress();
  }

  async function write(most) {
    const mine = {};
    setWriting(mine);
    pinned = null;
    let sentence = "";
    for (let n = 0; n < most && !sentence; n++) {
      if (ids.length - own >= MOST) {
        sentence = `The model has written ${written()}, the most on this page. Start again.`;
        break;
      }
      const begin = performance.now(), cached = chosen("cache"), read = ids.length;
      const answer = await ask({ ids, cached: cached === "1" });
      if (mine !== writing) return;
      showCosts(answer, cached);
      const id = model.draw(probsOf(answer, temperature()));
      if (id === START) sentence = "The model ended its review.";
      else {
        ids.push(id);
        showText();
        state(`Writing: ${written()}.`);
      }
      if (hovered === null) showView(read, answer);
      const rest = still.matches ? 0 : PACE - (performance.now() - begin);
      await new Promise((resolve) => { setTimeout(resolve, rest); });
      if (mine !== writing) return;
    }
    setWriting(null);
    if (most === 1 && !sentence) {
      state(`${written()} written so far.`);
      say(`Token: ${nameOf(ids.at(-1))}`);
    } else state(sentence || `${written()} written. Press \u201cWrite\u201d to go on.`, true);
    writeAddress();
    root.dataset.done = ids.length;                          // for those who wait for it
    look();
  }

  function choose(id) {
    const { read } = view;
    setText([...ids.slice(0, read), ...(id === START ? [] : [id])], Math.min(own, read));
    writeAddress();
    if (id !== START) {
      write(AT_ONCE);
      return;
    }
    state("The review ends here.", true);
    look();
  }

  function setText(text, first) {
    setWriting(null);
    ids = text;
    own = first;
    pinned = hovered = null;
    showText();
  }

  // ---- the beginning ------------------------------------------------------------------------------------------------

  function begin() {
    if (!tokens) return;
    const text = at("text").value;
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
    const all = wanted ?? encoded, different = all.findIndex((id, n) => id !== encoded[n]);
    wanted = null;
    setText([...all], different < 0 ? all.length : different);
    state("");
    writeAddress();
    look();
  }

  const showDegrees = () => { at("degrees").textContent = temperature().toFixed(1); };

  at("text").addEventListener("input", pause);
  at("write").addEventListener("click", () => { if (writing) pause(); else write(AT_ONCE); });
  at("one").addEventListener("click", () => { pause(); write(1); });
  at("again").addEventListener("click", () => { begin(); say("The text is back at its beginning."); });
  at("settings").addEventListener("input", () => {
    showDegrees();
    showView(view.read, view.answer);
    writeAddress();
  });

  const readAt = (target) => spans.indexOf(target) + 1 || null;
  out.addEventListener("pointerover", ({ pointerType, target }) => {
    if (pointerType !== "mouse" || !readAt(target)) return;
    hovered = readAt(target);
    look();
  });
  out.addEventListener("pointerleave", () => { hovered = null; if (!writing) look(); });
  out.addEventListener("click", ({ target }) => { if (readAt(target)) pin(readAt(target) === pinned ? null : readAt(target)); });
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

  start({ model: reviewWriter, loaded: (data) => { tokens = model.tokensOf(data); }, changed: begin, readAddress });
})();

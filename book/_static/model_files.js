// What pages with models do alike: get the file of a model, and, where the model computes beside the page, load it when
// the reader asks for it, store it in this browser, and pass it questions.

// folder: where the file is, in _static. about: the file's name, with its bytes and digest.
const modelFile = (folder, about) => {
  "use strict";

  const [[name, { bytes, digest }]] = Object.entries(about);
  const address = new URL(`../_static/${folder}/${name}?${digest.slice(0, 16)}`, location.href).href;

  // A page from a disk may run scripts and fetch nothing.
  const fromScript = () => new Promise((resolve, reject) => {
    globalThis.arrived = (base64) => resolve(Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0)).buffer);
    const script = make("script", { src: `../_static/${folder}/${name}.js` });
    for (const end of ["load", "error"]) {
      script.addEventListener(end, () => reject(new Error("The file beside this page is missing or damaged.")));
    }
    document.head.append(script);
  });

  async function fromSite(report, signal) {
    const answer = await fetch(address, { signal });
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    let have = 0;
    const counter = new TransformStream({ transform(part, stream) {
      have += part.length;
      report?.(have);
      stream.enqueue(part);
    } });
    return new Response(answer.body.pipeThrough(counter)).arrayBuffer();
  }

  // What this browser stored, or the file. `report` gets the number of bytes that have come; a signal stops it.
  async function download(report, stored, signal) {
    const data = await (stored?.arrayBuffer() ?? (location.protocol === "file:" ? fromScript() : fromSite(report, signal)));
    if (crypto.subtle) {                                     // browsers compute digests on safe addresses
      const found = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
      const hex = Array.from(found, (byte) => byte.toString(16).padStart(2, "0")).join("");
      if (hex !== digest) throw new Error("It is not the file that this page was built with.");
    }
    return data;
  }
  return { address, bytes, download };
};

// A button that loads a file, and while it does so stops that. `what` is "model" or "models"; `say` shows a sentence;
// `begin` gets a function that fetches the file, or takes what was stored; `failed` is called where nothing came.
const loadsWith = (button, what, file, say, begin, failed = () => {}) => {
  const words = button.textContent, megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  let loading = null;
  const load = async () => {
    if (loading) {
      loading.abort();
      return;
    }
    loading = new AbortController();
    button.textContent = "Stop loading";
    say("Loading \u2026");
    const report = (have) => say(`${megabytes(have)} of ${megabytes(file.bytes)} \u2026`);
    try {
      await begin((stored) => file.download(report, stored, loading.signal));
    } catch (error) {
      const why = error.message.replace(/[.!?]?$/, ".");
      say(loading.signal.aborted ? `Stopped. Nothing of the ${what} is stored.`
        : `The ${what} did not arrive. ${why} Press the button to try again.`);
      await failed();
    } finally {
      loading = null;
      button.textContent = words;
    }
  };
  button.addEventListener("click", load);
  return load;
};

// Runs a task, and once more if it was asked for meanwhile: what the reader wished last counts.
const oneAtATime = (task) => {
  let running = false, again = false;
  return async () => {
    again = true;
    if (running) return;
    running = true;
    try {
      while (again) {
        again = false;
        await task();
      }
    } finally { running = false; }
  };
};

// The worker: first comes the file, then question after question.
const modelWorker = (model) => {
  onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) model.prepare(data); else postMessage(model.answer(data));
  };
};

// A page on whose elements ids begin with `id`; room: the browser's cache that holds the file.
const modelPage = (id, folder, room, about) => {
  "use strict";

  const root = document.getElementById(id), at = (name) => document.getElementById(`${id}-${name}`);
  const say = announcer(at("said")), file = about && modelFile(folder, about);
  const size = `${(file?.bytes / 1e6).toFixed(1)} MB`;

  function progress(text) {
    at("progress").textContent = text;
    say(text);
  }

  function note(text, problem = false) {
    at("note").textContent = text;
    at("note").classList.toggle("problem", problem);
    root.classList.toggle("mute", problem);
    if (problem) say(text);
  }

  // Behind "#", a part of the address that no browser sends to a server.
  function showAddress(parts) {
    const hash = `#${new URLSearchParams(parts)}`;
    try { history.replaceState(history.state, "", hash); } catch { /* too often, or too long */ }
  }

  // ---- what this browser stores: nothing where the page comes from a disk, or from a host without https

  const store = async () => { try { return await caches.open(room); } catch { return null; } };
  const stored = async () => (await store())?.match(file.address);

  async function showStored() {
    at("clear").hidden = !await stored();
    at("kept").textContent = at("clear").hidden ? "This browser stores nothing of the model."
      : `This browser stores ${size} of the model, for the next time.`;
  }

  async function forget() {
    try { await caches.delete(room); } catch { /* there is none */ }
    await showStored();
  }

  // ---- the worker: its code goes there as text, because none can be started from a file when the page is on a disk

  let worker = null;
  const waiting = [];
  const ask = (question) => new Promise((resolve) => {
    waiting.push(resolve);
    worker.postMessage(question);
  });

  function startWorker(model, data) {
    const code = `${softmaxRow}\n(${modelWorker})((${model})((${attentionLayer})()));`;
    worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    worker.onmessage = ({ data: answer }) => waiting.shift()(answer);
    worker.onerror = () => note("The browser stopped computing; perhaps its memory is full. Reload the page.", true);
    worker.postMessage(data, [data]);
  }

  // model: its function. loaded: takes what the page needs of the file. changed: called when there is a new text.
  // readAddress: says whether there was something for the page.
  async function start({ model, loaded, changed, readAddress }) {
    const button = at("load"), missing = !about ? "This copy of the site was built without the package of the model"
      : typeof Worker === "undefined" ? "This browser has no workers, and the model runs in one" : "";
    let later = 0;
    at("text").addEventListener("input", () => { clearTimeout(later); later = setTimeout(changed, 250); });
    at("examples").addEventListener("click", ({ target }) => {
      if (target.dataset.text === undefined) return;
      at("text").value = target.dataset.text;
      changed();
    });
    addEventListener("hashchange", () => { if (readAddress()) changed(); });
    at("clear").addEventListener("click", async () => { await forget(); at("kept").focus(); });
    readAddress();
    button.hidden = missing !== "";
    if (missing) {
      progress(`${missing}, so there is nothing to load.`);
      return;
    }
    button.textContent = `Load the model (${size})`;
    const load = loadsWith(button, "model", file, progress, async (download) => {
      const found = await stored(), data = await download(found);
      if (!found) await (await store())?.put(file.address, new Response(data)).catch(() => { /* no room */ });
      loaded(data);
      startWorker(model, data);
      progress("");
      say("The model is loaded.");
      changed();
      await showStored();
    }, forget);                                              // perhaps what was stored is damaged
    if (await stored()) load(); else await forget();         // what an older site left
  }

  // Shows the results, and gives the focus of the button that is gone to the first of them.
  function reveal(first) {
    const focused = document.activeElement === at("load");
    root.classList.add("loaded");
    if (focused) first.focus({ preventScroll: true });
  }

  return { root, at, say, note, ask, showAddress, reveal, start };
};

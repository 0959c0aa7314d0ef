// The files of a model: from the browser's cache, from the site, or, on a disk, from scripts beside the page.
//
// folder: where they are, in _static. room: the browser's cache that holds them. about: of each file its bytes and digest.
globalThis.modelFiles = (folder, room, about) => {
  "use strict";

  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

  const fromDisk = location.protocol === "file:";
  const version = (name) => `?${about[name].digest.slice(0, 16)}`;
  const address = (name) => new URL(`../_static/${folder}/${name}${version(name)}`, location.href).href;
  // A page from a disk or from a host without https has no cache.
  const store = async () => { try { return await caches.open(room); } catch { return null; } };

  async function kept(key) {
    const answer = await (await store())?.match(key);
    return answer && answer.arrayBuffer();
  }

  // The digest tells a file with a wrong byte in it; browsers compute it on safe addresses.
  async function checked(name, data) {
    if (!crypto.subtle) return data;
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
    const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (found !== about[name].digest) throw new Error("It is not the file that this page was built with.");
    return data;
  }

  function fromScript(name) {
    return new Promise((resolve, reject) => {
      globalThis.arrived = (base64) => resolve(Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0)).buffer);
      const script = make("script", { src: `../_static/${folder}/${name}.js` });
      script.addEventListener("load", () => reject(new Error("The file beside this page is damaged.")));
      script.addEventListener("error", () => reject(new Error("The file beside this page is missing.")));
      document.head.append(script);
    });
  }

  // `report` gets the number of bytes that have come.
  async function fromSite(name, report) {
    const answer = await fetch(address(name));
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    let have = 0;
    const counter = new TransformStream({ transform(part, stream) {
      have += part.length;
      report?.(have);
      stream.enqueue(part);
    } });
    return new Response(answer.body.pipeThrough(counter)).arrayBuffer();
  }

  const download = async (name, report) => checked(name, await (fromDisk ? fromScript(name) : fromSite(name, report)));

  async function whole(name, report) {
    const found = await kept(address(name));
    if (found) return found;
    const data = await download(name, report);
    try { await (await store())?.put(address(name), new Response(data)); } catch { /* it does not fit: next time it is loaded again */ }
    return data;
  }

  // ---- what this browser stores

  async function bytesKept() {
    const place = await store(), keys = place ? await place.keys() : [];
    let bytes = 0;
    for (const key of keys) bytes += (await (await place.match(key)).blob()).size;
    return bytes;
  }

  async function deleteOld() {                               // what an older site has left
    const place = await store(), versions = Object.keys(about).map(version);
    for (const { url } of place ? await place.keys() : []) {
      if (!versions.some((each) => url.includes(each))) await place.delete(url);
    }
  }

  async function deleteAll() { try { await caches.delete(room); } catch { /* there is none */ } }

  return { megabytes, address, kept, download, whole, bytesKept, deleteOld, deleteAll };
};

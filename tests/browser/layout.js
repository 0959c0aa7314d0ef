// What is wrong with the page as it is laid out: one line for each place, "what: first letters". Shadow trees are
// searched, too. What a reader cannot see (folded, only spoken, transparent) is not looked at.
() => {
  const found = new Set();
  const report = (what, e) => found.add(`${what}: ${(e.textContent.trim() || e.outerHTML || "").slice(0, 99)}`);
  const style = getComputedStyle, rect = (e) => e.getBoundingClientRect();
  const trees = [document.body];
  for (const tree of trees) for (const e of tree.querySelectorAll("*")) if (e.shadowRoot) trees.push(e.shadowRoot);
  const all = (selector) => trees.flatMap((tree) => [...tree.querySelectorAll(selector)]).filter(seen);
  const up = (e) => e.parentElement ?? e.getRootNode().host;
  const above = (e, wanted) => { while (e && !wanted(e)) e = up(e); return e; };
  const spoken = (e) => style(e).clipPath === "inset(50%)";
  function seen(e) {
    return e.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true }) && !above(e, spoken);
  }
  const cuts = (e) => style(e).overflowX !== "visible";
  const mayScroll = (e) => ["auto", "scroll"].includes(style(e).overflowX);
  const scrolls = (e) => e.scrollWidth > e.clientWidth + 1;
  const letters = (e) => { const range = document.createRange(); range.selectNodeContents(e); return range; };
  const part = (a, b) => ({ left: Math.max(a.left, b.left), right: Math.min(a.right, b.right), top: a.top, bottom: a.bottom });
  const meet = (a, b, x = 1, y = 1) => a.right > b.left + x && a.left < b.right - x && a.bottom > b.top + y && a.top < b.bottom - y;

  // ---- text in HTML: large enough, inside its box and the page, on nothing else
  const framed = (e) => e.matches("td, th, button, input, textarea, summary, label, pre") || style(e).display !== "inline"
    && (parseFloat(style(e).borderRightWidth) || !["rgba(0, 0, 0, 0)", "transparent"].includes(style(e).backgroundColor));
  const floating = (e) => ["fixed", "sticky", "absolute"].includes(style(e).position);
  const lines = [];
  for (const tree of trees) {
    const walker = document.createTreeWalker(tree, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode, e = node.parentElement;
      if (!node.data.trim() || !e || e.matches("script, style, title, option") || e.closest("svg") || !seen(e)) continue;
      if (parseFloat(style(e).fontSize) < 10.95) report(`letters of ${style(e).fontSize}`, node);
      const box = above(e, (each) => framed(each) || cuts(each) || each === document.body), frame = rect(box);
      const layer = above(e, floating), formula = e.closest("math");
      const window = above(e, cuts), pane = window && rect(window);
      for (const whole of letters(node).getClientRects()) {
        const line = pane ? { ...part(whole, pane), height: whole.height } : whole; // as much of it as can be seen
        if (line.left >= line.right) continue;
        if (!cuts(box) && !formula && (line.left < frame.left - 1.5 || line.right > frame.right + 1.5 || line.bottom > frame.bottom + 7))
          report(`text leaves its ${box.localName}`, node);
        if (line.right > innerWidth + 1 && !above(e, cuts)) report("text leaves the page", node);
        if (!formula) lines.push({ node, e, line, layer });
      }
    }
  }
  const controls = all("button, input, select, textarea").map((e) => ({ node: e, e, line: rect(e), layer: above(e, floating), control: true }));
  const things = [...lines, ...controls].sort((a, b) => a.line.top - b.line.top);
  things.forEach((a, i) => {
    for (let j = i + 1; j < things.length && things[j].line.top < a.line.bottom; j++) {
      const b = things[j], control = a.control ? a : b;
      if (a.layer !== b.layer || a.node === b.node || a.control && b.control) continue;
      if ((a.control || b.control) && (control.e.contains(a.control ? b.e : a.e) || control.e.closest("label"))) continue;
      const low = .35 * Math.min(a.line.height, b.line.height);
      if (meet(a.line, b.line, 2, low)) report("text lies on something else", (a.control ? b : a).node);
    }
  });

  // ---- text in drawings: large enough, inside the drawing and the cell around it, on no other label
  for (const svg of all("svg")) {
    const frame = rect(svg), cells = [...svg.querySelectorAll("rect")].map((e) => [e, e.getBBox()]);
    const labels = [...svg.querySelectorAll("text")].map((e) => {
      const { x, y, width, height } = e.getBBox(), matrix = e.getScreenCTM(), [dx, dy] = [Math.min(1, width / 4), height / 4];
      const corner = (a, b) => new DOMPoint(a, b).matrixTransform(matrix);
      const quad = (x0, x1, y0, y1) => [corner(x0, y0), corner(x1, y0), corner(x1, y1), corner(x0, y1)];
      const scale = Math.hypot(matrix.a, matrix.b), size = scale * parseFloat(style(e).fontSize);
      if (size < 10.9) report(`letters of ${size.toFixed(1)}px`, e);
      if (quad(x, x + width, y + dy, y + height - dy).some((p) => p.x < frame.left - 1 || p.x > frame.right + 1 || p.y < frame.top - 1
        || p.y > frame.bottom + 1)) report("a label leaves its drawing", e);
      const around = cells.filter(([, cell]) => cell.height > height / 2 && cell.x < x + width / 2 && cell.x + cell.width > x + width / 2
        && cell.y < y + height / 2 && cell.y + cell.height > y + height / 2).sort(([, a], [, b]) => a.width - b.width)[0]?.[1];
      if (around && (around.x > x + 1 || around.x + around.width < x + width - 1)) report("a label leaves its cell", e);
      return [e, quad(x + dx, x + width - dx, y + dy, y + height - dy)];
    });
    // Two convex shapes are apart when a side of one of them has the other on its far side.
    const apart = (a, b) => [a, b].some((shape) => shape.some((p, i) => {
      const q = shape[(i + 1) % 4], normal = [p.y - q.y, q.x - p.x], along = (r) => r.x * normal[0] + r.y * normal[1];
      return Math.max(...a.map(along)) <= Math.min(...b.map(along)) || Math.max(...b.map(along)) <= Math.min(...a.map(along));
    }));
    labels.forEach(([e, a], i) => labels.slice(i + 1).forEach(([other, b]) => {
      if (!apart(a, b)) report(`labels lie on each other: ${other.textContent.trim()} on`, e);
    }));
  }

  // ---- the page and what it shows
  const touch = (left, right) => left.width && right.width && right.left - left.right < 4 && right.top < left.bottom && left.top < right.bottom;
  const wrong = {
    "the page scrolls sideways": ["html", (e) => e.scrollWidth > innerWidth],
    // What is cut off at the edge must be inside something that scrolls.
    "something leaves the page": ["main *", (e) => rect(e).right > innerWidth + 1 && !e.closest("svg") && !above(up(e), cuts)],
    "a result is cut on a phone": [".cell_output :is(pre, table, img, svg[role=img])", (e) => innerWidth < 400
      && (rect(e).right > innerWidth || above(e, (each) => each !== document.body && mayScroll(each) && scrolls(each)))],
    "a button lies on code": [".highlight:has(> .copy)", (e) => [...letters(e.querySelector("pre")).getClientRects()]
      .some((line) => meet(line, rect(e.querySelector(".copy"))))],
    "something goes on to the right and nothing says so": ["main :is(pre, div.math, .scroll)", (e) => scrolls(e) && mayScroll(e)
      && !style(e.matches("pre") ? e.parentElement : e, "::after").content.includes("›")],
    "columns run into each other": [".cell_output tr", (e) => [...e.cells].slice(1)
      .some((cell) => touch(rect(letters(cell.previousElementSibling)), rect(letters(cell))))],
    "the button for the theme leaves the bar": ["#theme", (e) => rect(e).right > innerWidth - 12],
    // A drawn matrix shows its numbers or describes them; shade alone is for those who see it.
    "a drawing says nothing": ["main .cell_output svg[role=img]", (e) => (e.ariaLabel ?? "").length < 20],
    "a table has no headings": ["main table", (e) => e.rows.length && !e.querySelector("th")],
  };
  for (const [what, [selector, is]] of Object.entries(wrong))
    (selector === "html" ? [document.documentElement] : all(selector)).filter(is).forEach((e) => report(what, e));
  return [...found];
}

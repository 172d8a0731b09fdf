"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const make = (tag, attributes = {}, ...children) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (k === "class") e.className = v; else if (v !== undefined) e.setAttribute(k, v);
  }
  e.append(...children);
  return e;
};
const short = (n) => n < 1e4 ? String(n) : n < 1e7 ? (n / 1e3).toFixed(1) + " k"
  : n < 1e10 ? (n / 1e6).toFixed(1) + " M" : (n / 1e9).toFixed(1) + " G";
const time = (s) => s < 1e-6 ? (s * 1e9).toFixed(0) + " ns" : s < 1e-3 ? (s * 1e6).toFixed(1) + " µs"
  : s < 1 ? (s * 1e3).toFixed(2) + " ms" : s.toFixed(2) + " s";

// ---- dark and light ----------------------------------------------------------------------------
const root = document.documentElement;
let dark = matchMedia("(prefers-color-scheme: dark)").matches;
const paint = () => root.classList.toggle("dark", dark);
const flip = () => { dark = !dark; paint(); };
paint();
$("theme").onclick = flip;
$("help").onclick = () => $("keys").showModal();

// ---- panels ------------------------------------------------------------------------------------
// Every line of every panel is one item; source lines are items of panel 0.
const items = [];
const panels = [];
const bySource = new Map(); // line of the source -> items
const whole = Math.max(1e-12, data.seconds || 0);

function panel(name, title) {
  const lines = make("div", { class: "lines", tabindex: "0", role: "listbox", "aria-label": title });
  const head = make("h2", {}, name + " ", make("small", {}, title));
  const box = make("section", { class: "panel", "data-stage": name }, head, lines);
  $("panels").append(box);
  const p = { name, box, lines, items: [], index: panels.length };
  const button = make("button", { "aria-pressed": "true" }, name);
  button.onclick = () => toggle(p);
  p.button = button;
  $("toggles").append(button);
  panels.push(p);
  lines.addEventListener("keydown", (e) => keyIn(p, e));
  return p;
}
function toggle(p) {
  p.box.hidden = !p.box.hidden;
  p.button.setAttribute("aria-pressed", String(!p.box.hidden));
}
function add(p, item, ...children) {
  item.e = make("div", { class: "line" + (item.reverse ? " reverse" : ""), role: "option", id: "i" + items.length }, ...children);
  item.n = items.length; item.panel = p; item.k = p.items.length;
  item.e.onmouseenter = () => { if (!kept) light(item); };
  item.e.onclick = () => { kept = kept === item ? null : item; light(item); };
  p.items.push(item); items.push(item); p.lines.append(item.e);
}
let kept = null;

const source = panel("source", data.name);
data.source.forEach((text, k) => {
  add(source, { source: k + 1, src: [k + 1], places: [], title: text },
    make("span", { class: "no" }, String(k + 1)), make("span", {}, text || " "));
});
for (const stage of data.stages) {
  const p = panel(stage.name, stage.title);
  if (!stage.lines.length) p.lines.append(make("p", { class: "line" }, stage.why || "nothing"));
  for (const l of stage.lines) {
    const heat = make("span", { class: "heat" });
    if (l.seconds !== undefined) {
      heat.textContent = (100 * l.seconds / whole).toFixed(1) + " %";
      heat.style.background = `rgba(var(--heat), ${Math.min(1, l.seconds / whole).toFixed(2)})`;
    }
    const title = `${l.id}  ${l.text}: ${l.ty}` + (l.operations ? `  ${short(l.operations)} operations` : "")
      + (l.bytes ? `, ${short(l.bytes)} bytes` : "") + (l.reverse ? ", of the reverse pass" : "");
    add(p, { ...l, title },
      make("span", { class: "no" }, l.label),
      ...(l.seconds === undefined ? [] : [heat]),
      make("span", {}, "  ".repeat(l.depth) + l.text + (l.results.length ? " → " + l.results.join(", ") : "")),
      make("span", { class: "ty" }, l.ty));
  }
}
for (const item of items) for (const s of item.src) {
  if (!bySource.has(s)) bySource.set(s, []);
  bySource.get(s).push(item);
}
const places = new Map();
for (const item of items) for (const place of item.places) {
  if (!places.has(place)) places.set(place, []);
  places.get(place).push(item);
}
// Users of each line in its panel.
for (const p of panels) for (const item of p.items) for (const u of item.uses || []) {
  (p.items[u].users ||= []).push(item.k);
}

// ---- light -------------------------------------------------------------------------------------
function reach(p, from, next) {
  const seen = new Set(), open = [...from];
  while (open.length) {
    const k = open.pop();
    for (const u of p.items[k][next] || []) if (!seen.has(u)) { seen.add(u); open.push(u); }
  }
  return seen;
}
let lit = new Set(), below = new Set(), above = new Set();
function light(item) {
  const related = new Set([item]);
  if (item.source) for (const other of bySource.get(item.source) || []) related.add(other);
  for (const place of item.places) for (const other of places.get(place)) related.add(other);
  for (const s of item.src) related.add(source.items[s - 1]);
  show(related, item);
}
// Lights items of all panels, with what they need and what needs them in theirs.
function show(related, at) {
  lit = related; below = new Set(); above = new Set();
  for (const p of panels) {
    const here = [...related].filter((i) => i && i.panel === p).map((i) => i.k);
    for (const k of reach(p, here, "uses")) below.add(p.items[k]);
    for (const k of reach(p, here, "users")) above.add(p.items[k]);
  }
  for (const i of items) {
    const c = i.e.classList;
    c.toggle("lit", lit.has(i)); c.toggle("at", i === at);
    c.toggle("from", !lit.has(i) && below.has(i));
    c.toggle("to", !lit.has(i) && above.has(i) && !below.has(i));
  }
  for (const p of panels) {
    if (at && p === at.panel) continue;
    const first = p.items.find((i) => lit.has(i));
    if (first) scrollTo(p, first);
  }
  if (at) {
    const where = at.src.length ? ` — line ${at.src.join(", ")}` : "";
    const count = [...lit].filter((i) => i && !i.source).length;
    $("status").textContent = `${(at.title || "").trim()}${where} — ${count} ${count === 1 ? "node" : "nodes"} at all stages`
      + (at.events && at.events.length ? `, ${at.events.length} events` : "") + (kept ? " (kept; Esc lets go)" : "");
    at.panel.lines.setAttribute("aria-activedescendant", at.e.id);
    at.panel.at = at.k;
  }
  colourGraph();
}
function scrollTo(p, item) {
  const box = p.lines, e = item.e;
  const top = e.offsetTop - box.offsetTop;
  if (top < box.scrollTop || top + e.offsetHeight > box.scrollTop + box.clientHeight) {
    box.scrollTop = top - box.clientHeight / 3;
  }
}

// ---- keys --------------------------------------------------------------------------------------
function keyIn(p, e) {
  const shown = panels.filter((q) => !q.box.hidden);
  const at = p.at ?? -1;
  const go = (item) => { if (item) { kept = null; light(item); scrollTo(p, item); } };
  if (e.key === "ArrowDown") go(p.items[Math.min(p.items.length - 1, at + 1)]);
  else if (e.key === "ArrowUp") go(p.items[Math.max(0, at - 1)]);
  else if (e.key === "Home") go(p.items[0]);
  else if (e.key === "End") go(p.items[p.items.length - 1]);
  else if (e.key === "Enter" && at >= 0) { kept = kept ? null : p.items[at]; light(p.items[at]); }
  else if (e.key === "ArrowRight" || e.key === "ArrowLeft") {
    const k = shown.indexOf(p) + (e.key === "ArrowRight" ? 1 : -1);
    if (shown[k]) { shown[k].lines.focus(); shown[k].box.scrollIntoView({ inline: "nearest", block: "nearest" }); }
  } else return;
  e.preventDefault();
}
addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.tagName === "INPUT" || e.target.tagName === "SELECT") return;
  const n = Number(e.key);
  if (e.key === "Escape") { kept = null; show(new Set(), null); }
  else if (n >= 1 && n <= panels.length) toggle(panels[n - 1]);
  else if (e.key === "t") flip();
  else if (e.key === "?") $("keys").showModal();
  else if (e.key === "c") fold(!folded);
  else if ({ g: 1, r: 1, p: 1, m: 1 }[e.key]) tab({ g: "graph", r: "rules", p: "costs", m: "memory" }[e.key]);
  else if (e.key === "[") step(-1);
  else if (e.key === "]") step(1);
});

// ---- tabs --------------------------------------------------------------------------------------
const tabs = { graph: "graph", rules: "rules", costs: "profile", memory: "memory" };
for (const [id, name] of Object.entries(tabs)) {
  const button = make("button", { role: "tab", id: "tab-" + id }, name);
  button.onclick = () => tab(id);
  $("tabs").append(button);
}
function tab(id) {
  for (const other of Object.keys(tabs)) {
    $(other).hidden = other !== id;
    $("tab-" + other).setAttribute("aria-selected", String(other === id));
  }
}

// ---- the graph: layers by the longest way from an input, few crossings by medians -----------------
const svg = (tag, attributes) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
};
let folded = false, opened = new Set(), drawn = null;
const choice = make("select", { "aria-label": "stage" });
panels.filter((p) => p.index && p.items.length && p.name !== "kernel")
  .forEach((p) => choice.append(make("option", { value: p.index }, p.name)));
const foldButton = make("button", {}, "fold by lines (c)");
const canvas = make("div", { class: "scroll" });
$("graph").append(make("p", {}, choice, " ", foldButton, " ",
  make("small", {}, "a click on a folded line opens it")), canvas);
choice.onchange = () => { opened.clear(); folded = big(); draw(); };
foldButton.onclick = () => fold(!folded);
const graphPanel = () => panels[Number(choice.value)];
const big = () => graphPanel() && graphPanel().items.length > 70;
function fold(now) { folded = now; opened.clear(); draw(); }

// The nodes that are drawn: lines of the stage, or all of one line of the source as one, the forward
// and the reverse pass apart.
function clusters(p) {
  const of = new Map(), nodes = [];
  for (const item of p.items) {
    const line = item.src.length ? item.src[item.src.length - 1] : 0;
    const whole = `line ${line}` + (item.reverse ? ", reverse" : "");
    const group = folded && line && !opened.has(whole) && !item.given ? whole : "n" + item.k;
    if (!of.has(group)) {
      of.set(group, nodes.length);
      nodes.push({ items: [], line: group[0] === "l" ? whole : "", ins: new Set(), outs: new Set() });
    }
    nodes[of.get(group)].items.push(item);
    item.node = of.get(group);
  }
  for (const item of p.items) for (const u of item.uses || []) {
    const [a, b] = [p.items[u].node, item.node];
    if (a !== b) { nodes[b].ins.add(a); nodes[a].outs.add(b); }
  }
  return nodes;
}
function layers(nodes) {
  // Groups may need each other: then an edge that closes a circle goes upwards and does not count.
  const layer = new Array(nodes.length).fill(0), state = new Array(nodes.length).fill(0), order = [];
  for (let root = 0; root < nodes.length; root++) {
    const stack = [[root, [...nodes[root].ins]]];
    if (state[root]) continue;
    state[root] = 1;
    while (stack.length) {
      const [n, left] = stack[stack.length - 1];
      const next = left.pop();
      if (next === undefined) { state[n] = 2; order.push(n); stack.pop(); }
      else if (!state[next]) { state[next] = 1; stack.push([next, [...nodes[next].ins]]); }
    }
  }
  const rank = new Array(nodes.length);
  order.forEach((n, k) => { rank[n] = k; });
  for (const n of order) for (const i of nodes[n].ins) if (rank[i] < rank[n]) layer[n] = Math.max(layer[n], layer[i] + 1);
  // Inputs and constants stand right above what first needs them.
  for (const n of [...order].reverse()) {
    const users = [...nodes[n].outs].filter((u) => rank[u] > rank[n]);
    if (users.length && !nodes[n].ins.size) layer[n] = Math.min(...users.map((u) => layer[u])) - 1;
  }
  const rows = [];
  for (const n of order) (rows[layer[n]] ||= []).push(n);
  for (let k = 0; k < rows.length; k++) rows[k] ||= [];
  const place = new Array(nodes.length).fill(0);
  const number = (row) => row.forEach((n, k) => { place[n] = k - row.length / 2; });
  rows.forEach(number);
  for (let sweep = 0; sweep < 10; sweep++) {
    const down = sweep % 2 === 0;
    for (const row of down ? rows : [...rows].reverse()) {
      const want = new Map(row.map((n) => {
        const near = [...(down ? nodes[n].ins : nodes[n].outs)].map((i) => place[i]).sort((a, b) => a - b);
        return [n, near.length ? (near[(near.length - 1) >> 1] + near[near.length >> 1]) / 2 : place[n]];
      }));
      row.sort((a, b) => want.get(a) - want.get(b) || a - b);
      number(row);
    }
  }
  return rows;
}
function draw() {
  const p = graphPanel();
  canvas.replaceChildren();
  if (!p) return;
  const nodes = clusters(p), rows = layers(nodes);
  const text = (node) => {
    const last = node.items[node.items.length - 1];
    const all = node.line ? `${node.line}: ${node.items.length}` : `${last.label} ${last.text}`;
    return all.length > 26 ? all.slice(0, 25) + "…" : all;
  };
  for (const node of nodes) { node.text = text(node); node.w = 16 + 6.7 * node.text.length; }
  // Places: from left to right, then towards the neighbours as far as there is room.
  for (const row of rows) { let x = 0; for (const n of row) { nodes[n].x = x + nodes[n].w / 2; x += nodes[n].w + 18; } }
  const width = Math.max(...rows.map((r) => r.length ? nodes[r[r.length - 1]].x + nodes[r[r.length - 1]].w / 2 : 0));
  for (const row of rows) {
    if (!row.length) continue;
    const end = nodes[row[row.length - 1]], shift = (width - (end.x + end.w / 2)) / 2;
    for (const n of row) nodes[n].x += shift;
  }
  for (let sweep = 0; sweep < 8; sweep++) for (const row of rows) {
    for (let k = 0; k < row.length; k++) {
      const node = nodes[row[k]], near = [...node.ins, ...node.outs].map((i) => nodes[i].x);
      if (!near.length) continue;
      const left = k ? nodes[row[k - 1]].x + nodes[row[k - 1]].w / 2 + 18 : 0;
      const right = k + 1 < row.length ? nodes[row[k + 1]].x - nodes[row[k + 1]].w / 2 - 18 : width;
      const mean = near.reduce((a, b) => a + b, 0) / near.length;
      node.x = Math.max(left + node.w / 2, Math.min(right - node.w / 2, mean));
    }
  }
  rows.forEach((row, k) => row.forEach((n) => { nodes[n].y = 20 + 52 * k; }));
  const height = 52 * rows.length + 10;
  const picture = svg("svg", { width: width + 24, height, viewBox: `-12 0 ${width + 24} ${height}`, role: "img", "aria-label": "graph of " + p.name });
  drawn = { nodes, edges: [] };
  for (const [b, node] of nodes.entries()) for (const a of node.ins) {
    const from = nodes[a], bend = (node.y - from.y) / 2;
    const edge = svg("path", { class: "edge", d: `M${from.x} ${from.y + 12} C${from.x} ${from.y + 12 + bend} ${node.x} ${node.y - 12 - bend} ${node.x} ${node.y - 12}` });
    drawn.edges.push([a, b, edge]);
    picture.append(edge);
  }
  for (const node of nodes) {
    const reverse = node.items.every((i) => i.reverse);
    const g = svg("g", { class: "node" + (node.line ? " group" : "") + (reverse ? " reverse" : ""), transform: `translate(${node.x - node.w / 2} ${node.y - 12})` });
    const label = svg("text", { x: 8, y: 16 });
    label.textContent = node.text;
    const title = svg("title", {});
    title.textContent = node.items.map((i) => i.title).slice(0, 30).join("\n");
    g.append(svg("rect", { width: node.w, height: 24 }), label, title);
    g.onmouseenter = () => { if (!kept) light(node.items[node.items.length - 1]); };
    g.onclick = () => {
      if (node.line) { opened.add(node.line); draw(); }
      else { kept = kept ? null : node.items[0]; light(node.items[0]); }
    };
    node.g = g;
    picture.append(g);
  }
  canvas.append(picture);
  colourGraph();
}
function colourGraph() {
  if (!drawn) return;
  const is = drawn.nodes.map((node) => node.items.some((i) => lit.has(i)));
  drawn.nodes.forEach((node, n) => {
    const c = node.g.classList;
    c.toggle("lit", is[n]);
    c.toggle("from", !is[n] && node.items.some((i) => below.has(i)));
    c.toggle("to", !is[n] && node.items.some((i) => above.has(i) && !below.has(i)));
  });
  for (const [a, b, edge] of drawn.edges) edge.classList.toggle("lit", is[a] || is[b]);
}

// ---- rules, step by step -------------------------------------------------------------------------
const fired = data.events.map((event, n) => ({ ...event, n })).filter((event) => event.before);
const slider = make("input", { type: "range", min: 0, max: Math.max(0, fired.length - 1), value: 0, "aria-label": "rule" });
const rule = make("div");
$("rules").append(fired.length
  ? make("p", {}, slider, " ", make("span", { id: "rule-number" }))
  : make("p", {}, "No rule fired."), rule);
function step(by) { tab("rules"); slider.value = Number(slider.value) + by; turn(); }
function turn() {
  const event = fired[Number(slider.value)];
  if (!event) return;
  $("rule-number").textContent = `${Number(slider.value) + 1} of ${fired.length}`;
  rule.replaceChildren(
    make("p", {}, make("b", {}, event.rule), ` (${event.stage})` + (event.src.length ? `, line ${event.src.join(", ")}` : "")),
    make("pre", { class: "term" }, event.before), make("p", {}, "becomes"),
    make("pre", { class: "term" }, event.after));
  const related = new Set(items.filter((i) => i.events && i.events.includes(event.n)));
  for (const s of event.src) related.add(source.items[s - 1]);
  show(related, null);
  $("status").textContent = `${event.rule} — ${[...related].filter((i) => !i.source).length} nodes went through it`;
}
slider.oninput = turn;

// ---- profile and memory ----------------------------------------------------------------------------
if (data.profile) {
  const head = make("tr", {}, ...["time", "share", "kernel", "lines", "operations", "Gop/s", "GB/s"].map((h) => make("th", {}, h)));
  const table = make("table", {}, head);
  for (const k of data.profile) {
    const rate = (n) => k.seconds > 0 ? (n / k.seconds / 1e9).toFixed(2) : "–";
    const cell = (text) => make("td", { class: "n" }, text);
    const share = cell((100 * k.seconds / whole).toFixed(1) + " %");
    share.style.background = `rgba(var(--heat), ${Math.min(1, k.seconds / whole).toFixed(2)})`;
    table.append(make("tr", {}, cell(time(k.seconds)), share, make("td", {}, k.text), make("td", {}, k.src.join(", ")),
      cell(short(k.operations)), cell(rate(k.operations)), cell(rate(k.bytes))));
  }
  $("costs").append(make("p", {}, data.profile_note), table);
  const flame = make("div", { class: "scroll" });
  flame.innerHTML = data.flame || "";
  $("costs").append(flame);
} else $("costs").append(make("p", {}, data.profile_note || "It was not measured."));
$("memory").firstElementChild.textContent = data.memory || "Nothing is kept in between.";

tab("graph");
if (choice.options.length) { choice.value = choice.options[choice.options.length - 1].value; folded = big(); draw(); }

"use strict";
// Values of the data become text nodes, attributes of images, or numbers of drawings: never markup.

const $ = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const PAGE = 24;

let facts = { sides: [], changes: [] };
let parts = []; // of all sides
const state = { tab: "samples", at: "", with: "", from: 0, hits: null, more: null, digest: "" };
let running = new AbortController();

function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k === "class") e.className = v;
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== false) e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.filter(c => c !== undefined && c !== null));
  return e;
}

function svg(tag, attributes, text) {
  const e = document.createElementNS(SVG, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}

const count = n => n.toLocaleString("en-US");
const short = x => x === null || x === undefined ? "-" : Number.isInteger(x) && Math.abs(x) < 1e9 ? String(x) : Number(x).toPrecision(4).replace(/\.?0+($|e)/, "$1");
const part = at => parts.find(p => p.at === at);

async function ask(path, values, signal) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(values)) if (v !== "" && v !== undefined && v !== false) q.set(k, v === true ? "1" : v);
  const r = await fetch("api/" + path + "?" + q, { signal });
  const body = await r.json().catch(() => ({ error: r.statusText }));
  if (!r.ok) throw new Error([body.error, ...(body.hints || [])].join("\n"));
  return body;
}

// begin ends what is running, and gives the signal that ends what begins now.
function begin() {
  running.abort();
  running = new AbortController();
  return running.signal;
}

function say(text, bad) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", !!bad);
}

const failed = e => { if (e.name !== "AbortError") say(e.message, true); };

// ---- drawings

function extent(lists) {
  let lo = Infinity, hi = -Infinity;
  for (const l of lists) for (const v of l) if (v !== null) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
  if (lo > hi) return [0, 1];
  return lo === hi ? [lo - 0.5, hi + 0.5] : [lo, hi];
}

function plot(piece) {
  const w = 320, h = 130, left = 44, low = 16, s = svg("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": "plot of " + piece.field });
  const [lo, hi] = extent(piece.lines);
  s.append(svg("path", { class: "axis", d: `M${left} 4V${h - low}H${w - 4}` }));
  piece.lines.forEach((l, k) => {
    let d = "", pen = false;
    l.forEach((v, i) => {
      if (v === null) { pen = false; return; }
      d += (pen ? "L" : "M") + (left + (w - left - 4) * (l.length > 1 ? i / (l.length - 1) : 0)).toFixed(1) + " " + (4 + (h - low - 6) * (1 - (v - lo) / (hi - lo))).toFixed(1);
      pen = true;
    });
    s.append(svg("path", { class: "line s" + k % 6, d }));
  });
  s.append(svg("text", { x: left - 4, y: 12, "text-anchor": "end" }, short(hi)), svg("text", { x: left - 4, y: h - low, "text-anchor": "end" }, short(lo)),
    svg("text", { x: left, y: h - 4 }, "0"), svg("text", { x: w - 4, y: h - 4, "text-anchor": "end" }, count(piece.of || piece.lines[0].length)));
  return s;
}

function scatter(piece) {
  const w = 320, h = 240, left = 44, low = 26, s = svg("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": "points of " + piece.field });
  const [x, y, c] = piece.points, [x0, x1] = extent([x]), [y0, y1] = extent([y]), [c0, c1] = c ? extent([c]) : [0, 1];
  s.append(svg("path", { class: "axis", d: `M${left} 4V${h - low}H${w - 4}` }));
  const tones = ["", "", "", "", ""]; // one path a tone: thousands of points are five nodes
  const r = x.length > 2000 ? 1 : 2.5;
  x.forEach((v, i) => {
    if (v === null || y[i] === null) return;
    const tone = c && c[i] !== null ? Math.min(4, Math.floor(5 * (c[i] - c0) / (c1 - c0))) : 0;
    const px = left + (w - left - 8) * (v - x0) / (x1 - x0), py = 6 + (h - low - 10) * (1 - (y[i] - y0) / (y1 - y0));
    tones[tone] += `M${(px - r).toFixed(1)} ${py.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
  });
  tones.forEach((d, k) => d && s.append(svg("path", { class: "f" + k, d, "fill-opacity": 0.75 })));
  s.append(svg("text", { x: left - 4, y: 12, "text-anchor": "end" }, short(y1)), svg("text", { x: left - 4, y: h - low, "text-anchor": "end" }, short(y0)),
    svg("text", { x: left, y: h - 13 }, short(x0)), svg("text", { x: w - 4, y: h - 13, "text-anchor": "end" }, short(x1)),
    svg("text", { x: w / 2, y: h - 2, "text-anchor": "middle" }, piece.axes[0] + " and " + piece.axes[1] + (c ? ", colour " + piece.axes[2] : "")));
  return s;
}

function source(where, piece, slice) {
  const q = new URLSearchParams({ at: where.at, n: where.n, field: piece.field });
  if (where.augment) { q.set("augment", where.augment); q.set("seed", where.seed); }
  if (slice) q.set("slice", slice.join(","));
  return "file?" + q;
}

function image(where, piece, slice) {
  const i = el("img", { alt: piece.field + " of sample " + where.n, loading: "lazy", src: source(where, piece, slice) });
  i.addEventListener("load", () => {
    if (i.naturalWidth < 128) { i.classList.add("small"); i.width = where.whole ? Math.max(256, i.naturalWidth) : 128; }
  });
  i.addEventListener("error", () => i.replaceWith(el("span", { class: "bad" }, "no picture")));
  return i;
}

function array(where, piece) {
  const at = (piece.depth || []).map(n => n >> 1);
  const img = image(where, piece, at);
  let shown = img;
  if (piece.map) {
    const { lat, lon } = piece.map;
    shown = el("div", { class: "map" }, el("div", { class: "side" }, el("span", {}, short(lat[1])), el("span", {}, "lat"), el("span", {}, short(lat[0]))), img,
      el("div", { class: "foot" }, el("span", {}, short(lon[0])), el("span", {}, "lon"), el("span", {}, short(lon[1]))));
  }
  const out = [shown];
  if (where.whole) at.forEach((v, k) => {
    const name = piece.names && piece.names[k] || "slice", text = el("span", {}, `${name} ${v}`);
    const input = el("input", { type: "range", min: 0, max: piece.depth[k] - 1, value: v, "aria-label": name + " of " + piece.field });
    input.addEventListener("input", () => {
      at[k] = Number(input.value);
      text.textContent = `${name} ${at[k]}`;
      clearTimeout(input.waits);
      input.waits = setTimeout(() => { img.src = source(where, piece, at); }, 30);
    });
    out.push(el("div", { class: "slider" }, text, input));
  });
  if (piece.range) out.push(el("small", {}, `from ${short(piece.range[0])} to ${short(piece.range[1])}${piece.unit ? " " + piece.unit : ""}`));
  return out;
}

function table(piece, whole) {
  const out = [];
  if (piece.points) out.push(scatter(piece));
  if (piece.rows && (whole || !piece.points)) {
    out.push(el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...piece.names.map(n => el("th", {}, n)))),
      el("tbody", {}, ...piece.rows.map(r => el("tr", {}, ...r.map(c => el("td", { class: "n" }, c))))))));
    if (piece.rows.length < piece.of) out.push(el("small", {}, `${count(piece.rows.length)} of ${count(piece.of)} rows`));
  }
  if (!piece.of) out.push(el("span", { class: "value" }, "no rows"));
  return out;
}

function show(piece, where) {
  const body = {
    number: () => [el("span", { class: "value" }, piece.text + (piece.unit ? " " + piece.unit : ""))],
    text: () => [el("pre", {}, piece.text)],
    nothing: () => [el("span", { class: "value" }, "nothing")],
    bytes: () => [el("span", { class: "value" }, piece.text)],
    image: () => [image(where, piece)],
    array: () => array(where, piece),
    plot: () => [plot(piece)],
    table: () => table(piece, where.whole),
    sound: () => [piece.lines ? plot(piece) : el("span", {}, piece.text), where.whole ? el("audio", { controls: true, preload: "none", src: source(where, piece) }) : null],
  }[piece.kind] || (() => [el("span", { class: "value" }, piece.text || "")]);
  const about = [where.whole || piece.kind !== "number" ? piece.type : "", piece.kind === "plot" && piece.unit, ...(piece.kind === "sound" && piece.names || [])].filter(Boolean).join(", ");
  return el("div", { class: "piece " + piece.kind }, el("h3", {}, piece.field), el("small", {}, about), el("div", {}, ...body()));
}

// ---- samples

function card(sample, at) {
  const c = el("article", { class: "sample", tabindex: 0, "data-n": sample.n, "data-at": at, onclick: () => open(at, sample.n) },
    el("header", {}, el("b", {}, count(sample.n)), sample.key ? el("span", {}, sample.key) : null));
  if (sample.error) c.append(el("p", { class: "bad" }, sample.error));
  for (const p of sample.pieces || []) c.append(show(p, { at, n: sample.n }));
  return c;
}

async function fill(at, query, signal) {
  const r = await ask("samples", { at, ...query }, signal);
  if (state.digest && r.digest && at === state.at && r.digest !== state.digest) {
    await load();
    say("The set has changed on disk; this is the new version.");
  }
  return { note: r.note, box: el("div", {}, part(at) && state.with ? el("h2", {}, part(at).name) : null, el("div", { class: "grid" }, ...r.samples.map(s => card(s, at)))) };
}

const sides = () => state.with ? [state.at, state.with] : [state.at];

function put(boxes) {
  $("columns").replaceChildren(...boxes.map(b => b.box));
  $("columns").classList.toggle("two", boxes.length > 1);
}

// page shows consecutive samples, those that were found, or the next of an order.
async function page() {
  const signal = begin();
  const total = part(state.at).samples, by = $("by").value, text = $("text").value.trim(), where = $("where").value.trim();
  $("stop").hidden = true;
  say("Reading …");
  try {
    if (text || where) return await search(text, where, signal);
    if (by) return await sorted(by, signal);
    if (total === 0) { put([]); return say("no samples"); }
    state.from = Math.max(0, Math.min(state.from, total - 1));
    const boxes = await Promise.all(sides().map(at => state.from < part(at).samples ? fill(at, { from: state.from, count: PAGE }, signal) : { box: el("div", {}, "no sample " + count(state.from)) }));
    put(boxes);
    say(`Samples ${count(state.from)} to ${count(Math.min(state.from + PAGE, total) - 1)} of ${count(total)}${boxes[0].note ? "; " + boxes[0].note : ""}${part(state.at).ended ? "; " + part(state.at).ended : ""}`);
    buttons(state.from > 0, state.from + PAGE < total);
  } catch (e) { failed(e); }
}

function buttons(back, next) {
  $("back").disabled = !back;
  $("next").disabled = !next;
}

// search asks step by step, so that it can be ended at any time.
async function search(text, where, signal) {
  const start = state.starts.length ? state.starts[state.starts.length - 1] : 0;
  $("stop").hidden = false;
  const boxes = await Promise.all(sides().map(async at => {
    let from = start, hits = [], lost = [], total = 0;
    const said = sides().length === 1;
    do {
      const r = await ask("find", { at, text, where, from, count: PAGE - hits.length }, signal);
      hits.push(...r.hits);
      lost.push(...(r.lost || []));
      [from, total] = [r.searched, r.total];
      if (said) say(`${count(hits.length)} found; ${count(from)} of ${count(total)} samples searched …`);
    } while (hits.length < PAGE && from < total);
    const out = hits.length ? await fill(at, { ids: hits.join(",") }, signal) : { box: el("p", {}, "nothing found") };
    return { ...out, from, total, hits: hits.length, lost };
  }));
  put(boxes);
  $("stop").hidden = true;
  const b = boxes[0];
  state.more = b.from < b.total ? b.from : null;
  say(`${count(b.hits)} found in samples ${count(start)} to ${count(b.from - 1)} of ${count(b.total)}${b.lost.length ? "; not read: " + b.lost.slice(0, 3).join("; ") : ""}`, b.lost.length > 0);
  buttons(state.starts.length > 0, state.more !== null);
}

async function sorted(by, signal) {
  const falling = $("falling").checked;
  const boxes = await Promise.all(sides().map(async at => {
    const r = await ask("sort", { at, by, falling, from: state.from, count: PAGE }, signal);
    return { ...(r.ids.length ? await fill(at, { ids: r.ids.join(",") }, signal) : { box: el("p", {}, "no more samples") }), ...r };
  }));
  put(boxes);
  const b = boxes[0];
  say(`Sorted by ${by}: ${b.sorted < b.total ? "the first " + count(b.sorted) + " of " : "all "}${count(b.total)} samples${(b.lost || []).length ? "; not read: " + b.lost.slice(0, 3).join("; ") : ""}`, (b.lost || []).length > 0);
  buttons(state.from > 0, state.from + PAGE < b.sorted);
}

function turn(way) {
  if ($("text").value.trim() || $("where").value.trim()) {
    if (way > 0 && state.more !== null) state.starts.push(state.more);
    else if (way < 0) state.starts.pop();
  } else state.from = Math.max(0, state.from + way * PAGE);
  page();
  scrollTo(0, 0);
}

// ---- one sample

const one = { at: "", n: 0 };

// named is the number of the sample with a name, which is looked for step by step while it is wanted; -1 without one.
async function named(at, key, wanted) {
  for (let from = 0, total = 1; from < total && wanted();) {
    const r = await ask("find", { at, text: key, from, count: 200 });
    const found = r.hits.length ? (await ask("samples", { at, ids: r.hits.join(",") })).samples.find(s => s.key === key) : undefined;
    if (found) return found.n;
    [from, total] = [r.searched, r.total];
  }
  return -1;
}

// other is the sample beside one: that of its name, or of its number where samples have no names.
async function other(s, wanted) {
  const at = state.with, name = part(at).name;
  const n = s.key && part(at).keyed ? await named(at, s.key, wanted) : s.n;
  if (n < 0 || n >= part(at).samples) return { samples: [{ n, error: s.key ? `no sample of this name in ${name}` : `no sample ${count(n)} in ${name}` }] };
  return ask("samples", { at, ids: n, whole: true });
}

async function open(at, n) {
  const total = part(at).samples;
  one.at = at;
  one.n = Math.max(0, Math.min(n, total - 1));
  $("onename").textContent = `${part(at).name}  sample ${count(one.n)} of ${count(total)}`;
  $("oneback").disabled = one.n === 0;
  $("onenext").disabled = one.n === total - 1;
  if (!$("one").open) $("one").showModal();
  const augment = $("ops").value.trim(), seed = $("seed").value.trim() || "0", wanted = one.n;
  try {
    const got = [await ask("samples", { at, ids: one.n, whole: true })];
    if (augment) got.push(await ask("samples", { at, ids: one.n, whole: true, augment, seed }));
    else if (state.with && state.with !== at) got.push(await other(got[0].samples[0], () => wanted === one.n && at === one.at));
    if (wanted !== one.n || at !== one.at) return;
    const columns = got.map((r, k) => {
      const s = r.samples[0], where = { at: k && !augment ? state.with : at, n: s.n, whole: true, augment: k ? augment : "", seed };
      return el("div", {}, got.length > 1 ? el("h2", {}, k ? augment ? "changed" : part(state.with).name : part(at).name) : null, s.key ? el("p", { class: "key" }, s.key) : null,
        s.error ? el("p", { class: "bad" }, s.error) : null, ...(s.pieces || []).map(p => show(p, where)));
    });
    $("onebody").replaceChildren(...columns);
    $("onebody").classList.toggle("two", columns.length > 1);
  } catch (e) { $("onebody").replaceChildren(el("p", { class: "bad" }, e.message)); }
}

// ---- figures, order, about

function frame(id, query) {
  const f = $(id), src = "report?" + new URLSearchParams(query);
  if (f.dataset.src === src) return;
  f.dataset.src = src;
  f.setAttribute("aria-busy", "true");
  f.onload = () => f.removeAttribute("aria-busy");
  f.src = src;
}

function figures(all) {
  $("figurestext").textContent = "From all samples where they are few, else from some that are spread over all.";
  frame("figuresframe", { at: state.at, ...(state.with ? { with: state.with } : {}), ...(all ? { all: 1 } : {}) });
}

async function order() {
  const v = id => $(id).value.trim(), out = $("orderout"), batch = Number(v("batch")) || 32;
  $("orderstatus").classList.remove("bad");
  try {
    const r = await ask("order", { at: state.at, shuffle: v("shuffle"), seed: v("oseed"), epoch: v("epoch"), batch, world: v("world"), from: v("ofrom"), count: 500 });
    $("orderstatus").textContent = `${count(r.length)} positions, ${count(r.steps)} steps${r.window ? ", window of " + count(r.window) + " samples" : ""}; positions ${count(Number(v("ofrom")))} to ${count(Number(v("ofrom")) + r.places.length - 1)}`;
    const dots = { field: "order", points: [r.places.map(p => p.position), r.places.map(p => p.n), r.places.map(p => p.rank)], axes: ["position", "sample", "rank"] };
    const row = p => el("tr", {}, el("td", { class: "n" }, count(p.position)), el("td", { class: "n" }, count(p.step)), el("td", { class: "n" }, count(p.rank)), el("td", { class: "n" }, el("button", { type: "button", onclick: () => open(state.at, p.n) }, count(p.n))));
    out.replaceChildren(r.places.length ? el("div", { class: "dots" }, scatter(dots)) : "", el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...["position", "step", "rank", "sample"].map(t => el("th", {}, t)))), el("tbody", {}, ...r.places.slice(0, 200).map(row)))));
  } catch (e) { $("orderstatus").textContent = e.message; $("orderstatus").classList.add("bad"); out.replaceChildren(); }
}

function about() {
  const side = facts.sides[Number(state.at.split("/")[0])], p = part(state.at);
  const row = f => el("tr", {}, el("td", {}, f.name), el("td", {}, f.type), el("td", {}, f.unit || ""), el("td", {}, (f.dims || []).join(", ")), el("td", {}, f.of ? count(f.of) + ": " + f.labels.join(", ") : ""));
  $("fields").replaceChildren(el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...["field", "type", "unit", "dimensions", "classes"].map(t => el("th", {}, t)))), el("tbody", {}, ...p.fields.map(row)))));
  $("abouttext").textContent = side.about;
}

const tabs = { samples: ["Samples", page], figures: ["Figures", () => figures(false)], difference: ["Difference", () => frame("differenceframe", { at: state.at, with: state.with, diff: 1 })], order: ["Order", order], about: ["About", about] };

function tab(name) {
  state.tab = name;
  for (const b of $("tabs").children) b.setAttribute("aria-selected", b.dataset.tab === name);
  for (const t of Object.keys(tabs)) $(t).hidden = t !== name;
  tabs[name][1]();
  note();
}

// note keeps the place in the address, without the token.
function note() { history.replaceState(null, "", "/#" + new URLSearchParams({ tab: state.tab, at: state.at, with: state.with, from: state.from })); }

function choose() {
  const p = part(state.at), other = state.with && state.with.split("/")[0] !== state.at.split("/")[0];
  $("title").textContent = p.name;
  document.title = p.name + " - shardify view";
  state.digest = facts.sides[Number(state.at.split("/")[0])].digest || "";
  const by = $("by").value;
  $("by").replaceChildren(el("option", { value: "" }, "as they are"), ...p.fields.filter(f => f.sort).map(f => el("option", { value: f.name }, f.name)));
  $("by").value = p.fields.some(f => f.sort && f.name === by) ? by : "";
  for (const b of $("tabs").children) b.hidden = b.dataset.tab === "order" && !p.loader || b.dataset.tab === "difference" && !other;
  if (state.tab === "order" && !p.loader || state.tab === "difference" && !other) state.tab = "samples";
}

async function load() {
  facts = await ask("facts", {});
  parts = facts.sides.flatMap(s => s.parts);
  if (!part(state.at)) state.at = parts[0].at;
  if (!part(state.with)) state.with = facts.sides.length > 1 ? facts.sides[1].parts[0].at : "";
  const options = list => list.map(p => el("option", { value: p.at }, `${p.name} (${count(p.samples)})`));
  $("at").replaceChildren(...options(parts));
  $("with").replaceChildren(el("option", { value: "" }, "nothing"), ...options(parts));
  $("at").value = state.at;
  $("with").value = state.with;
  $("oplist").replaceChildren(...facts.changes.map(t => el("li", {}, t)));
  choose();
}

function again() {
  state.from = 0;
  state.starts = [];
  state.more = null;
}

const keys = { "j k, arrows": "next, previous sample", "Enter": "open a sample", "n p": "next, previous page", "/": "search", "w": "condition", "g": "go to a sample", "Esc": "close, stop", "?": "these keys" };

function move(by) {
  const all = [...document.querySelectorAll(".sample")], i = all.indexOf(document.activeElement);
  if (all.length) all[i < 0 ? 0 : Math.max(0, Math.min(i + by, all.length - 1))].focus();
}

document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName);
  if (e.key === "Escape") { if (typing) e.target.blur(); if (!$("one").open) running.abort(); return; }
  if (typing || $("keys").open) return;
  const step = { j: 1, ArrowDown: 1, ArrowRight: 1, k: -1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
  if ($("one").open) {
    if (step) { e.preventDefault(); open(one.at, one.n + step); }
    return;
  }
  const focus = { "/": "text", w: "where", g: "go" }[e.key];
  if (focus && state.tab === "samples") { e.preventDefault(); $(focus).focus(); $(focus).select(); }
  else if (step && state.tab === "samples") { e.preventDefault(); move(step); }
  else if (e.key === "Enter" && e.target.classList.contains("sample")) open(e.target.dataset.at, Number(e.target.dataset.n));
  else if (e.key === "n" && !$("next").disabled && state.tab === "samples") turn(1);
  else if (e.key === "p" && !$("back").disabled && state.tab === "samples") turn(-1);
  else if (e.key === "?") $("keys").showModal();
});

$("tools").addEventListener("submit", e => {
  e.preventDefault();
  const go = $("go").value.replace(/[,\s]/g, "");
  again();
  if (/^\d+$/.test(go)) {
    $("go").value = $("text").value = $("where").value = $("by").value = "";
    state.from = Math.min(Number(go), part(state.at).samples - 1);
    page().then(() => open(state.at, state.from));
  } else page();
  note();
});
for (const id of ["by", "falling"]) $(id).addEventListener("change", () => { again(); page(); });
for (const id of ["at", "with"]) $(id).addEventListener("change", () => { state[id] = $(id).value; again(); choose(); tab(state.tab); });
$("back").addEventListener("click", () => turn(-1));
$("next").addEventListener("click", () => turn(1));
$("stop").addEventListener("click", () => { running.abort(); $("stop").hidden = true; say("Stopped."); });
$("all").addEventListener("click", () => figures(true));
$("ordertools").addEventListener("submit", e => { e.preventDefault(); order(); });
$("augment").addEventListener("submit", e => { e.preventDefault(); open(one.at, one.n); });
$("oneback").addEventListener("click", () => open(one.at, one.n - 1));
$("onenext").addEventListener("click", () => open(one.at, one.n + 1));
$("oneclose").addEventListener("click", () => $("one").close());
$("keylist").replaceChildren(...Object.entries(keys).map(([k, v]) => el("tr", {}, el("td", {}, el("kbd", {}, k)), el("td", {}, v))));

(async () => {
  const q = new URLSearchParams(location.hash.slice(1));
  state.tab = q.get("tab") in tabs ? q.get("tab") : "samples";
  state.at = q.get("at") || "";
  state.with = q.get("with") || "";
  $("tabs").replaceChildren(...Object.entries(tabs).map(([k, t]) => el("button", { type: "button", role: "tab", "data-tab": k, onclick: () => tab(k) }, t[0])));
  again();
  state.from = Math.max(0, Number(q.get("from")) || 0);
  try {
    await load();
    tab(state.tab);
  } catch (e) { failed(e); }
})();

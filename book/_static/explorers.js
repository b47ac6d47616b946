// Figures that a reader can play with. An explorer is a function of its place in the figure and of the figure's recorded
// columns; it puts controls, charts and numbers there. Without scripts the recorded picture stands instead.
const EXPLORERS = { icc, harmony };

const SVG = "http://www.w3.org/2000/svg";
const svg = (name, attributes = {}) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};
const html = (name, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
};
const shown = (value, digits = 2) => (Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : "∞");

// A short stroke in the look of a series, beside its name.
function swatch(series) {
  const node = svg("svg", { viewBox: "0 0 28 8", class: "swatch", "aria-hidden": "true" });
  node.append(svg("line", { x1: 0, x2: 28, y1: 4, y2: 4, class: `series-${series}` }));
  return node;
}

// A labelled slider with its value beside it; `changed` is called at every move.
function slider(label, { min, max, step, value, digits = 2 }, changed) {
  const input = html("input", { type: "range", min, max, step, value });
  const output = html("span", { className: "value", ariaHidden: "true" });
  const control = {
    row: html("label", {}, html("span", { textContent: label }), input, output),
    get value() { return Number(input.value); },
    set value(value) {
      input.value = value;
      this.show();
    },
    show() { output.textContent = input.ariaValueText = shown(this.value, digits); },
  };
  input.addEventListener("input", () => { control.show(); changed(); });
  control.show();
  return control;
}

// Axes with room for curves and marks; `draw` replaces all of them and says what there is to see.
function chart(title, [left, right, below]) {
  const [width, height, edge] = [340, 220, { left: 36, right: 8, top: 12, bottom: 40 }];
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const place = (value, low, high, from, to) => from + ((value - low) / (high - low)) * (to - from);
  const text = (content, x, y, anchor) => {
    const node = svg("text", { x, y, "text-anchor": anchor });
    node.textContent = content;
    return node;
  };
  const draw = ({ top, digits, curves, at, marks, says }) => {
    const x = (value) => place(value, left, right, edge.left, width - edge.right);
    const y = (value) => place(value, 0, top, height - edge.bottom, edge.top);
    root.replaceChildren(text(below, (edge.left + width - edge.right) / 2, height - 4, "middle"));
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      root.append(svg("line", { x1: edge.left, x2: width - edge.right, y1: y(share * top), y2: y(share * top), class: "grid" }));
      root.append(text(shown(share * top, digits), edge.left - 5, y(share * top) + 4, "end"));
    }
    for (let tick = Math.ceil(left); tick <= right; tick += 1) root.append(text(shown(tick, 0), x(tick), height - edge.bottom + 16, "middle"));
    root.append(svg("line", { x1: x(at), x2: x(at), y1: y(0), y2: y(top), class: "at" }));
    for (const [series, points] of Object.entries(curves)) {
      const steps = points.map(([u, v]) => `${x(u).toFixed(2)},${y(v).toFixed(2)}`);
      root.append(svg("path", { d: `M${steps.join("L")}`, class: `series-${series}` }));
    }
    for (const [series, value] of Object.entries(marks)) root.append(svg("circle", { cx: x(at), cy: y(value), r: 4, class: `series-${series}` }));
    root.setAttribute("aria-label", says);
  };
  return { figure: html("div", {}, html("p", { className: "explorer-title", textContent: title }), root), draw };
}

// Item characteristic and information curves of two items: sliders for a, b and θ.
function icc(box, data) {
  const grid = [...new Set(data.theta)];
  const recorded = [...new Set(data.item)].map((name) => {
    const row = data.item.indexOf(name);
    return { name, a: data.a[row], b: data.b[row] };
  });
  const [low, high] = [Math.min(...grid), Math.max(...grid)];
  const theta = slider("ability θ", { min: low, max: high, step: 0.1, value: 0 }, update);
  const items = recorded.map(({ name, a, b }) => ({
    name,
    a: slider("discrimination a", { min: 0.1, max: Math.max(4, a), step: 0.05, value: a }, update),
    b: slider("difficulty b", { min: low, max: high, step: 0.05, value: b }, update),
  }));
  const chance = chart("Chance of a right answer", [low, high, "ability θ"]);
  const told = chart("Information", [low, high, "ability θ"]);
  const body = html("tbody");
  const sentence = html("p", { role: "status" });
  const reset = html("button", { type: "button", textContent: "As in the picture" });
  reset.addEventListener("click", () => {
    items.forEach((item, i) => {
      item.a.value = recorded[i].a;
      item.b.value = recorded[i].b;
    });
    theta.value = 0;
    update();
  });

  function update() {
    const probability = (item, at) => 1 / (1 + Math.exp(-item.a.value * (at - item.b.value)));
    const information = (item, at) => item.a.value ** 2 * probability(item, at) * (1 - probability(item, at));
    const both = (at) => items.reduce((sum, item) => sum + information(item, at), 0);
    const at = theta.value;
    const curves = (height) => items.map((item) => grid.map((u) => [u, height(item, u)]));
    const highest = Math.max(...grid.map(both));
    const heights = items.map((item) => ({ p: probability(item, at), i: information(item, at) }));
    const most = heights[0].i >= heights[1].i ? 0 : 1;
    const says = items.map((item, i) => `${item.name}: ${shown(heights[i].p)}`).join(", ");
    const tells = items.map((item, i) => `${item.name}: ${shown(heights[i].i)}`).join(", ");
    chance.draw({ top: 1, digits: 2, at, curves: curves(probability), marks: heights.map(({ p }) => p), says: `Chance of a right answer at ability ${shown(at)}: ${says}.` });
    told.draw({ top: [0.4, 1, 2, 4, 8, 20, 40, 100].find((top) => top >= highest), digits: 1, at, curves: { ...curves(information), sum: grid.map((u) => [u, both(u)]) }, marks: { ...heights.map(({ i }) => i), sum: both(at) }, says: `Information at ability ${shown(at)}: ${tells}, both: ${shown(both(at))}.` });
    const row = (series, name, p, i) => html("tr", {}, html("th", { scope: "row" }, swatch(series), name), ...[p, shown(i), shown(1 / Math.sqrt(i)), shown(1 / Math.sqrt(1 + i))].map((textContent) => html("td", { className: "number", textContent })));
    body.replaceChildren(...items.map((item, i) => row(i, item.name, shown(heights[i].p), heights[i].i)), row("sum", "both", "", both(at)));
    sentence.textContent = `At θ = ${shown(at)} ${items[most].name} tells more about ability: ${shown(heights[most].i)} against ${shown(heights[1 - most].i)}.`;
  }

  const head = html("thead", {}, html("tr", {}, ...["", "P", "information", "SE", "SE with prior"].map((textContent) => html("th", { scope: "col", textContent }))));
  const controls = items.map((item, i) => html("fieldset", {}, html("legend", {}, swatch(i), item.name), item.a.row, item.b.row));
  box.append(
    html("div", { className: "explorer-controls" }, ...controls, html("fieldset", {}, html("legend", { textContent: "respondent" }), theta.row, reset)),
    html("div", { className: "explorer-charts" }, chance.figure, told.figure),
    html("table", { className: "explorer-numbers" }, head, body),
    sentence,
  );
  update();
}

// HARMONY of clusters by accuracy and size, as in benchtrust.harmony.index, and other summaries beside it.
function evenness(accuracy, sizes, b) {
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const share = (values) => values.map((value) => value / sum(values));
  const mean = (weights) => sum(weights.map((w, i) => w * accuracy[i]));
  const masses = (weights) => {
    const logs = weights.map((w, i) => Math.log(w) - ((accuracy[i] - mean(weights)) / b) ** 2);
    return share(logs.map((log) => Math.exp(log - Math.max(...logs))));
  };
  const entropy = (p) => Math.abs(sum(p.map((q) => (q > 0 ? q * Math.log(q) : 0)))) / Math.log(p.length);
  const weights = share(sizes);
  const mu = mean(weights);
  const [p, free] = [masses(weights), masses(share(sizes.map(() => 1)))];
  const sd = Math.sqrt(sum(weights.map((w, i) => w * (accuracy[i] - mu) ** 2)));
  return { weights, mu, p, sd, value: entropy(p), uniform: entropy(weights), free: entropy(free), worst: Math.min(...accuracy) };
}

// Bars side by side that fill the width: [share of the width, height from 0 to 1] each; a dashed line at `level`.
function mosaic(title) {
  const [width, height, edge] = [340, 220, { left: 36, right: 8, top: 12, bottom: 26 }];
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const y = (value) => height - edge.bottom - value * (height - edge.top - edge.bottom);
  const text = (content, x, y, anchor) => {
    const node = svg("text", { x, y, "text-anchor": anchor });
    node.textContent = content;
    return node;
  };
  const draw = ({ bars, level, says }) => {
    root.replaceChildren();
    for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
      root.append(svg("line", { x1: edge.left, x2: width - edge.right, y1: y(tick), y2: y(tick), class: "grid" }));
      root.append(text(shown(tick), edge.left - 5, y(tick) + 4, "end"));
    }
    let from = edge.left;
    bars.forEach(([share, tall], i) => {
      const wide = share * (width - edge.left - edge.right);
      root.append(svg("rect", { x: from + 1, width: Math.max(wide - 2, 0.5), y: y(tall), height: y(0) - y(tall), class: "series-0" }));
      if (wide > 10) root.append(text(i + 1, from + wide / 2, height - 10, "middle"));
      from += wide;
    });
    if (level !== undefined) root.append(svg("line", { x1: edge.left, x2: width - edge.right, y1: y(level), y2: y(level), class: "level" }));
    root.setAttribute("aria-label", says);
  };
  return { figure: html("div", {}, html("p", { className: "explorer-title", textContent: title }), root), draw };
}

// HARMONY of up to six clusters: sliders for their number, accuracies and sizes, and for the bandwidth b.
function harmony(box, data) {
  const names = [...new Set(data.case)];
  const recorded = names.map((name) => {
    const rows = data.case.flatMap((own, row) => (own === name ? [row] : []));
    return { accuracy: rows.map((row) => data.accuracy[row]), sizes: rows.map((row) => data.size[row]), b: data.bandwidth[rows[0]] };
  });
  const most = 6;
  const k = slider("clusters k", { min: 2, max: most, step: 1, value: 2, digits: 0 }, update);
  const b = slider("bandwidth b", { min: 0.01, max: 1, step: 0.01, value: 0.1 }, update);
  const clusters = Array.from({ length: most }, (_, i) => {
    const accuracy = slider("accuracy Ψ", { min: 0, max: 1, step: 0.01, value: 0.5 }, update);
    const size = slider("size", { min: 1, max: 100, step: 1, value: 25, digits: 0 }, update);
    const group = html("fieldset", {}, html("legend", { textContent: `cluster ${i + 1}` }), accuracy.row, size.row);
    return { accuracy, size, group };
  });
  const choice = html("select", {}, ...names.map((name) => html("option", { textContent: name })));
  const scores = mosaic("Accuracy by cluster, as wide as its share; dashed: μ");
  const mass = mosaic("Performance mass p; H is its evenness");
  const body = html("tbody");
  const sentence = html("p", { role: "status" });
  const restore = () => {
    const own = recorded[choice.selectedIndex];
    k.value = own.accuracy.length;
    b.value = own.b;
    own.accuracy.forEach((value, i) => {
      clusters[i].accuracy.value = value;
      clusters[i].size.value = own.sizes[i];
    });
    update();
  };
  choice.addEventListener("change", restore);
  const reset = html("button", { type: "button", textContent: "As in the picture" });
  reset.addEventListener("click", restore);

  function update() {
    clusters.forEach(({ group }, i) => { group.hidden = i >= k.value; });
    const shownOnes = clusters.slice(0, k.value);
    const accuracy = shownOnes.map((own) => own.accuracy.value);
    const found = evenness(accuracy, shownOnes.map((own) => own.size.value), b.value);
    const each = (values) => values.map((value) => shown(value)).join(", ");
    scores.draw({ bars: found.weights.map((w, i) => [w, accuracy[i]]), level: found.mu, says: `Accuracies ${each(accuracy)} of clusters with shares ${each(found.weights)}; mean ${shown(found.mu)}.` });
    mass.draw({ bars: found.p.map((p) => [1 / found.p.length, p]), says: `Performance masses ${each(found.p)}.` });
    const row = (name, ...cells) => html("tr", {}, html("th", { scope: "row", textContent: name }), ...cells.map((value) => html("td", { className: "number", textContent: shown(value) })));
    body.replaceChildren(...accuracy.map((value, i) => row(`cluster ${i + 1}`, value, found.weights[i], found.p[i])), row("all", found.mu, 1, 1));
    sentence.textContent = `H = ${shown(found.value)} at b = ${shown(b.value)}; H(w)/log k, its value at equal accuracies, is ${shown(found.uniform)}; size-free H ${shown(found.free)}; weighted SD ${shown(found.sd)}; worst cluster ${shown(found.worst)}.`;
  }

  const head = html("thead", {}, html("tr", {}, ...["", "accuracy Ψ", "share w", "mass p"].map((textContent) => html("th", { scope: "col", textContent }))));
  const start = html("label", {}, html("span", { textContent: "start from" }), choice);
  box.append(
    html("fieldset", { className: "explorer-start" }, html("legend", { textContent: "index" }), start, k.row, b.row, reset),
    html("div", { className: "explorer-controls" }, ...clusters.map(({ group }) => group)),
    sentence,
    html("div", { className: "explorer-charts" }, scores.figure, mass.figure),
    html("table", { className: "explorer-numbers" }, head, body),
  );
  restore();
}

function startExplorer(box) {
  EXPLORERS[box.dataset.explorer](box, JSON.parse(box.querySelector("script").textContent));
  box.closest("figure").classList.add("is-playable");
}
addEventListener("DOMContentLoaded", () => document.querySelectorAll(".explorer").forEach(startExplorer));

// Figures that a reader can play with. An explorer is a function of its place in the figure and of the figure's recorded
// columns; it puts controls, charts and numbers there. Without scripts the recorded picture stands instead. Each stands in a
// file of its own in explorers/; here is what they share.
const EXPLORERS = () => ({ icc, harmony, envelope, selftest });

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
    for (let tick = Math.ceil(left); tick <= right; tick += right - left > 12 ? 5 : 1) root.append(text(shown(tick, 0), x(tick), height - edge.bottom + 16, "middle"));
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

function startExplorer(box) {
  EXPLORERS()[box.dataset.explorer](box, JSON.parse(box.querySelector("script").textContent));
  box.closest("figure").classList.add("is-playable");
}
addEventListener("DOMContentLoaded", () => document.querySelectorAll(".explorer").forEach(startExplorer));

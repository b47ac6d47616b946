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

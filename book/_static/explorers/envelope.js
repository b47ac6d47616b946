// Flip rates of all pairs of models over configurations, as in benchtrust.stability.flip_rates. A row holds a score for each
// model; one that is missing is null.
const SCORE_TIE = 1e-12;
function flipRates(scores) {
  const models = scores[0].length;
  const pairs = [];
  for (let first = 0; first < models; first += 1) {
    for (let second = first + 1; second < models; second += 1) {
      const leads = scores.filter((row) => row[first] !== null && row[second] !== null).map((row) => row[first] - row[second]);
      const plus = leads.filter((lead) => lead > SCORE_TIE).length;
      const minus = leads.filter((lead) => lead < -SCORE_TIE).length;
      pairs.push({ first, second, plus, minus, tie: leads.length - plus - minus, rho: Math.min(plus, minus) / leads.length });
    }
  }
  return pairs;
}

// The order of the models by one row of scores: groups of those that tie, as in benchtrust.stability.orderings.
function orderOf(row) {
  const ranked = row.map((_, model) => model).sort((x, y) => row[y] - row[x] || x - y);
  const groups = [];
  ranked.forEach((model, place) => {
    if (place && row[ranked[place - 1]] - row[model] <= SCORE_TIE) groups.at(-1).push(model);
    else groups.push([model]);
  });
  return groups.map((group) => group.sort((x, y) => x - y));
}

// The orders that complete rows reach, the most frequent first: [text, configurations] each.
function ordersReached(scores, name) {
  const counts = new Map();
  for (const row of scores.filter((own) => !own.includes(null))) {
    const text = orderOf(row).map((group) => group.map(name).join(" = ")).join(" > ");
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].sort((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1));
}

// A model's mark: colour and shape by its number.
function mark(model, x, y, size = 4) {
  const shapes = [`m${-size},0a${size},${size} 0 1 0 ${2 * size},0a${size},${size} 0 1 0 ${-2 * size},0`, `m${-size},${-size}h${2 * size}v${2 * size}h${-2 * size}z`, `m0,${-1.4 * size}l${1.4 * size},${1.4 * size}l${-1.4 * size},${1.4 * size}l${-1.4 * size},${-1.4 * size}z`, `m0,${-1.2 * size}l${1.2 * size},${2.2 * size}h${-2.4 * size}z`];
  return svg("path", { d: `M${x.toFixed(1)},${y.toFixed(1)}${shapes[model % shapes.length]}`, class: `mark series-${model % shapes.length}` });
}

// The mark beside its model's name.
function swatchOf(model) {
  const node = svg("svg", { viewBox: "0 0 14 14", class: "swatch swatch-mark", "aria-hidden": "true" });
  node.append(mark(model, 7, 7));
  return node;
}

// Scores of all configurations side by side, those that are not chosen faint.
function scoreDots() {
  const [width, height, edge] = [340, 220, { left: 36, right: 8, top: 12, bottom: 28 }];
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  const y = (value) => height - edge.bottom - value * (height - edge.top - edge.bottom);
  const text = (content, x, at, anchor) => {
    const node = svg("text", { x, y: at, "text-anchor": anchor });
    node.textContent = content;
    return node;
  };
  const draw = ({ rows, chosen, groups, says }) => {
    const x = (place) => edge.left + ((place + 0.5) / rows.length) * (width - edge.left - edge.right);
    root.replaceChildren();
    for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
      root.append(svg("line", { x1: edge.left, x2: width - edge.right, y1: y(tick), y2: y(tick), class: "grid" }));
      root.append(text(shown(tick), edge.left - 5, y(tick) + 4, "end"));
    }
    groups.forEach((group, place) => {
      const [from, to] = [groups.indexOf(group), groups.lastIndexOf(group)];
      if (from !== place) return;
      if (place) root.append(svg("line", { x1: x(from - 0.5), x2: x(from - 0.5), y1: y(0), y2: y(1), class: "grid" }));
      root.append(text(group, (x(from) + x(to)) / 2, height - 10, "middle"));
    });
    rows.forEach((row, place) => row.forEach((score, model) => {
      if (score === null) return;
      const node = mark(model, x(place), y(score), 2.6);
      if (!chosen[place]) node.classList.add("left-out");
      root.append(node);
    }));
    root.setAttribute("aria-label", says);
  };
  return { figure: html("div", {}, html("p", { className: "explorer-title", textContent: "Scores by configuration; faint: not chosen" }), root), draw };
}

// A row for each order that is reached, as long as the share of the chosen configurations.
function orderBars() {
  const [width, most] = [340, 8];
  const root = svg("svg", { role: "img" });
  const draw = (orders, of) => {
    const rows = orders.slice(0, most);
    root.replaceChildren();
    root.setAttribute("viewBox", `0 0 ${width} ${Math.max(rows.length, 1) * 27}`);
    rows.forEach(([name, count], place) => {
      const long = (count / of) * (width - 130);
      const label = svg("text", { x: 0, y: place * 27 + 17 });
      const value = svg("text", { x: 104 + long, y: place * 27 + 17 });
      label.textContent = name;
      value.textContent = count;
      root.append(label, svg("rect", { x: 98, y: place * 27 + 4, width: long, height: 18, class: "series-0" }), value);
    });
    root.setAttribute("aria-label", `Orders reached: ${orders.map(([name, count]) => `${name} in ${count}`).join(", ")}.`);
  };
  return { figure: html("div", {}, html("p", { className: "explorer-title", textContent: "Orders reached, and by how many" }), root), draw };
}

// Boxes to tick for the levels of one axis of the harness.
function axisChoice(title, levels, changed) {
  const boxes = levels.map((level) => {
    const input = html("input", { type: "checkbox", checked: true });
    input.addEventListener("change", changed);
    return { level, input, row: html("label", { className: "choice" }, input, String(level).replaceAll("_", " ")) };
  });
  return { boxes, group: html("fieldset", {}, html("legend", { textContent: title }), ...boxes.map(({ row }) => row)) };
}

// The envelope: axes and levels to choose, and what becomes of the order of the models and of their flip rates.
function envelope(box, data) {
  const axes = { template: "template", shots: "exemplars", decoding: "decoding", scoring: "scoring" };
  const tiers = ["conservative", "core", "full"];
  const free = "none"; // log-probability scoring decodes nothing, so no choice of decoding leaves it out
  const models = [...new Set(data.model)];
  const benchmarks = [...new Set(data.benchmark)];
  const tables = Object.fromEntries(benchmarks.map((name) => [name, []]));
  data.score.forEach((score, at) => {
    const levels = Object.keys(axes).map((axis) => data[axis][at]);
    const table = tables[data.benchmark[at]];
    let row = table.find((own) => own.levels.every((level, i) => level === levels[i]));
    if (!row) table.push(row = { levels, tier: tiers.indexOf(data.tier[at] ?? "full"), scores: models.map(() => null) });
    row.scores[models.indexOf(data.model[at])] = score;
  });
  const distinct = (axis) => [...new Set(data[axis])].filter((level) => level !== free).sort((x, y) => (typeof x === "number" ? x - y : 0));
  const choices = Object.entries(axes).map(([axis, title]) => axisChoice(title, distinct(axis), () => { tier.value = ""; update(); }));
  const benchmark = html("select", {}, ...benchmarks.map((name) => html("option", { textContent: name })));
  const tier = html("select", {}, ...tiers.toReversed().map((name) => html("option", { textContent: name })), html("option", { value: "", textContent: "own choice", hidden: true }));
  const [dots, bars] = [scoreDots(), orderBars()];
  const [means, rates] = [html("tbody"), html("tbody")];
  const sentence = html("p", { role: "status" });
  benchmark.addEventListener("change", () => { tier.value ||= "full"; restore(); });
  tier.addEventListener("change", restore);

  function restore() {
    const rows = tables[benchmark.value];
    choices.forEach(({ boxes }, axis) => boxes.forEach(({ level, input }) => {
      const own = rows.filter(({ levels }) => levels[axis] === level);
      input.disabled = !own.length;
      input.checked = own.some((row) => row.tier <= tiers.indexOf(tier.value));
    }));
    update();
  }

  function update() {
    const rows = tables[benchmark.value];
    const ticked = choices.map(({ boxes }) => boxes.filter(({ input }) => input.checked).map(({ level }) => level));
    const chosen = rows.map(({ levels }) => levels.every((level, axis) => level === free || ticked[axis].includes(level)));
    const scores = rows.filter((_, at) => chosen[at]).map((row) => row.scores);
    const own = models.map((_, model) => scores.map((row) => row[model]).filter((score) => score !== null));
    const mean = own.map((values) => values.reduce((total, value) => total + value, 0) / values.length);
    const number = (value, digits = 2) => html("td", { className: "number", textContent: Number.isFinite(value) ? shown(value, digits) : "–" });
    const orders = ordersReached(scores, (model) => model + 1);
    const pairs = scores.length ? flipRates(scores) : [];
    means.replaceChildren(...models.map((name, model) => html("tr", {}, html("th", { scope: "row" }, swatchOf(model), `${model + 1} ${name}`), ...[mean[model], Math.min(...own[model]), Math.max(...own[model])].map((value) => number(value)))));
    rates.replaceChildren(...pairs.map((pair) => html("tr", {}, html("th", { scope: "row", textContent: `${pair.first + 1} / ${pair.second + 1}` }), ...[pair.plus, pair.minus, pair.tie].map((value) => number(value, 0)), number(pair.rho, 3))));
    dots.draw({ rows: rows.map((row) => row.scores), chosen, groups: rows.map(({ levels }) => levels[0]), says: `Scores of ${models.length} models in ${rows.length} configurations, of which ${scores.length} are chosen.` });
    bars.draw(orders, scores.length);
    sentence.textContent = scores.length ? summary(scores.length, rows.length, mean, orders, pairs) : "No configuration is chosen: tick a level of each axis.";
  }

  function summary(chosen, all, mean, orders, pairs) {
    const ranking = orderOf(mean).map((group) => group.map((model) => models[model]).join(" = ")).join(" > ");
    const widest = pairs.reduce((most, pair) => (pair.rho > most.rho ? pair : most));
    const reached = orders.length === 1 ? "All of them give one order" : `They reach ${orders.length} orders, ties counted as such`;
    const flips = widest.rho > 0 ? `the largest flip rate is ρ = ${shown(widest.rho, 3)}, of ${models[widest.first]} and ${models[widest.second]}` : "no pair is reversed";
    return `${chosen} of ${all} configurations. By the mean over them: ${ranking}. ${reached}; ${flips}.`;
  }

  const head = (...columns) => html("thead", {}, html("tr", {}, ...columns.map((textContent) => html("th", { scope: "col", textContent }))));
  box.append(
    html("fieldset", { className: "explorer-start" }, html("legend", { textContent: "envelope" }), html("label", {}, html("span", { textContent: "benchmark" }), benchmark), html("label", {}, html("span", { textContent: "start from" }), tier)),
    html("div", { className: "explorer-controls explorer-axes" }, ...choices.map(({ group }) => group)),
    sentence,
    html("div", { className: "explorer-charts" }, dots.figure, bars.figure),
    html("table", { className: "explorer-numbers" }, head("", "mean", "lowest", "highest"), means),
    html("table", { className: "explorer-numbers" }, head("pair", "N₊", "N₋", "N₀", "ρ"), rates),
  );
  restore();
}

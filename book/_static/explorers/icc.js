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

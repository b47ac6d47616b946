// Ability from answers to items with known a and b: posterior mean and standard deviation with θ ~ N(0, 1) on the nodes of
// benchtrust.irt.adaptive_test. An answer is { a, b, right }.
function posteriorOf(answers) {
  const nodes = Array.from({ length: 401 }, (_, node) => -8 + 0.04 * node);
  const logs = nodes.map((theta) => answers.reduce((log, { a, b, right }) => {
    const z = (right ? 1 : -1) * a * (theta - b);
    return log + Math.min(z, 0) - Math.log1p(Math.exp(-Math.abs(z)));
  }, -0.5 * theta ** 2));
  const masses = logs.map((log) => Math.exp(log - Math.max(...logs)));
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  const expected = (value) => masses.reduce((sum, mass, node) => sum + mass * value(nodes[node]), 0) / total;
  const mean = expected((theta) => theta);
  return { nodes, density: masses.map((mass) => mass / total / 0.04), mean, sd: Math.sqrt(expected((theta) => (theta - mean) ** 2)) };
}

function itemInformation({ a, b }, theta) {
  const small = Math.exp(-Math.abs(a * (theta - b)));
  return (a ** 2 * small) / (1 + small) ** 2;
}

// Ability of maximum likelihood, infinite where all answers are alike; the slope falls in θ, so halves of a bracket find it.
function likeliest(answers) {
  const right = answers.filter((answer) => answer.right).length;
  if (!right || right === answers.length) return right ? Infinity : -Infinity;
  const slope = (theta) => answers.reduce((sum, { a, b, right: x }) => sum + a * ((x ? 1 : 0) - 1 / (1 + Math.exp(-a * (theta - b)))), 0);
  let [low, high] = [-1, 1];
  while (slope(low) < 0) low *= 2;
  while (slope(high) > 0) high *= 2;
  for (let step = 0; step < 80; step += 1) {
    const middle = (low + high) / 2;
    if (slope(middle) > 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

// The item not yet asked that has most information at θ, of equals the first; -1 if all were asked.
function nextItem(items, asked, theta) {
  return items.reduce((best, item, at) => {
    if (asked.includes(at)) return best;
    return best < 0 || itemInformation(item, theta) > itemInformation(items[best], theta) ? at : best;
  }, -1);
}

// An adaptive test of the reader on practice items, and recorded respondents on the same items.
function selftest(box, data) {
  const options = Object.keys(data).filter((column) => /^option_/.test(column));
  const respondents = Object.keys(data).filter((column) => column.includes(" · "));
  const models = [...new Set(respondents.map((name) => name.split(" · ")[0]))];
  const items = data.item.map((name, at) => ({ name, at, a: data.a[at], b: data.b[at], question: data.question[at], options: options.map((column) => data[column][at]).filter((text) => text !== null), key: data.key[at] - 1, why: data.why[at] }));
  let answers = [];
  let current;

  const title = html("legend");
  const question = html("p", { className: "question" });
  const buttons = options.map((_, at) => {
    const button = html("button", { type: "button" });
    button.addEventListener("click", () => answer(at));
    return button;
  });
  const told = html("p", { role: "status" });
  const next = html("button", { type: "button", textContent: "Next question" });
  const again = html("button", { type: "button", textContent: "Start again" });
  next.addEventListener("click", () => { ask(); buttons[0].focus(); });
  again.addEventListener("click", () => { start(); buttons[0].focus(); });
  const belief = chart("What the answers say of your ability", [-4, 4, "ability θ (dotted: before the first answer)"]);
  const error = chart("Standard error of θ̂", [0, items.length, "questions answered"]);
  const [steps, others] = [html("tbody"), html("tbody")];

  const right = () => answers.filter((own) => own.right).length;
  const abilities = () => [posteriorOf([]), ...answers.map((_, at) => posteriorOf(answers.slice(0, at + 1)))];

  function start() {
    answers = [];
    told.textContent = "";
    ask();
    update();
  }

  function ask() {
    const theta = posteriorOf(answers).mean;
    current = items[nextItem(items, answers.map((own) => own.at), theta)];
    title.textContent = `Question ${answers.length + 1}, of ${items.length} in the bank`;
    question.textContent = current.question;
    buttons.forEach((button, at) => {
      button.hidden = at >= current.options.length;
      button.disabled = false;
      button.className = "option";
      button.textContent = current.options[at] ?? "";
    });
    next.hidden = true;
  }

  function answer(at) {
    answers.push({ ...current, right: at === current.key });
    const { mean, sd } = posteriorOf(answers);
    buttons.forEach((button, option) => {
      button.disabled = true;
      button.classList.toggle("is-key", option === current.key);
      button.classList.toggle("is-chosen", option === at);
    });
    const verdict = at === current.key ? "Right." : `Not so: ${current.options[current.key]}.`;
    told.textContent = `${verdict} ${current.why} After ${answers.length} answers, ${right()} of them right, your ability is put at θ̂ = ${shown(mean)}, with a standard error of ${shown(sd)}.`;
    next.hidden = answers.length === items.length;
    update();
    (next.hidden ? again : next).focus();
  }

  function update() {
    const path = abilities();
    const [first, last] = [path[0], path.at(-1)];
    const curve = ({ nodes, density }) => nodes.map((theta, at) => [theta, density[at]]).filter(([theta]) => Math.abs(theta) <= 4);
    const top = [0.4, 0.8, 1.2, 1.6, 2.4, 4].find((height) => height >= Math.max(...last.density)) ?? 8;
    belief.draw({ top, digits: 1, at: last.mean, curves: { sum: curve(first), ...(answers.length && { 0: curve(last) }) }, marks: {}, says: `After ${answers.length} answers θ̂ is ${shown(last.mean)} with a standard error of ${shown(last.sd)}.` });
    error.draw({ top: 1, digits: 2, at: answers.length, curves: { 0: path.map(({ sd }, at) => [at, sd]) }, marks: { 0: last.sd }, says: `Standard errors after each answer, from none on: ${path.map(({ sd }) => shown(sd)).join(", ")}.` });
    steps.replaceChildren(...answers.map((own, at) => row(`${at + 1}`, [shown(own.b), shown(own.a), own.right ? "right" : "wrong", shown(path[at + 1].mean), shown(path[at + 1].sd), finite(likeliest(answers.slice(0, at + 1)))])));
    others.replaceChildren(...compared());
  }

  // You and each model, its configurations taken together, on the items that you have answered.
  function compared() {
    if (!answers.length) return [];
    const own = posteriorOf(answers);
    const known = models.map((model) => {
      const theirs = respondents.filter((name) => name.split(" · ")[0] === model).map((name) => answers.map(({ a, b, at }) => ({ a, b, right: data[name][at] === 1 })));
      const thetas = theirs.map((given) => posteriorOf(given).mean);
      const hits = theirs.map((given) => given.filter((one) => one.right).length);
      const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
      return row(`${model}, ${theirs.length} configurations`, [shown(mean(hits), 1), shown(mean(thetas)), `${shown(Math.min(...thetas))} to ${shown(Math.max(...thetas))}`]);
    });
    return [row("you", [shown(right(), 1), shown(own.mean), `± ${shown(own.sd)}`]), ...known];
  }

  const finite = (value) => (Number.isFinite(value) ? shown(value) : value > 0 ? "∞" : "−∞");
  const row = (name, cells) => html("tr", {}, html("th", { scope: "row", textContent: name }), ...cells.map((textContent) => html("td", { className: "number", textContent })));
  const head = (...columns) => html("thead", {}, html("tr", {}, ...columns.map((textContent) => html("th", { scope: "col", textContent }))));
  box.append(
    html("fieldset", { className: "explorer-question" }, title, question, ...buttons),
    told,
    html("div", { className: "explorer-turn" }, next, again),
    html("div", { className: "explorer-charts" }, belief.figure, error.figure),
    html("table", { className: "explorer-numbers explorer-others" }, head("on these items", "right", "θ̂", "standard error or range"), others),
    html("table", { className: "explorer-numbers explorer-steps" }, head("question", "b", "a", "answer", "θ̂", "SE", "by ML"), steps),
  );
  start();
}

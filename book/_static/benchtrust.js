// A link to an entry inside a folded panel opens the panel.
function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const folded = target.closest("details");
  if (folded) folded.open = true;
  target.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", reveal);
addEventListener("DOMContentLoaded", () => {
  if (document.getElementById(location.hash.slice(1))?.closest("details")) reveal();
});

// Claims and artefacts: the counts become buttons that choose a verdict or state, and a field chooses by words.
// Without scripts all rows stand.
function filterRows(box) {
  const what = box.classList.contains("claims") ? "claims" : "artefacts";
  const rows = [...box.querySelectorAll("tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const list = box.querySelector(".filter-counts");
  const group = (element) => [...element.classList].find((name) => /^(verdict|state)-/.test(name));
  const words = Object.assign(document.createElement("input"), { type: "search", ariaLabel: `Show ${what} that hold these words`, placeholder: `Words in ${what === "claims" ? "a claim" : "an artefact"}` });
  const status = Object.assign(document.createElement("p"), { className: "filter-status", role: "status" });
  const buttons = [...list.children].map((entry) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: entry.textContent.trim() });
    entry.replaceChildren(button);
    return button;
  });
  const show = (chosen) => {
    for (const button of buttons) button.ariaPressed = String(button === chosen);
    const wanted = chosen && group(chosen.parentElement);
    const needle = words.value.trim().toLowerCase();
    rows.forEach((row, at) => { row.hidden = (wanted && group(row) !== wanted) || !texts[at].includes(needle); });
    status.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} ${what} shown`;
  };
  const pressed = () => buttons.find((button) => button.ariaPressed === "true");
  for (const button of buttons) button.addEventListener("click", () => show(button === pressed() ? undefined : button));
  words.addEventListener("input", () => show(pressed()));
  list.after(words, status);
  show();
}
addEventListener("DOMContentLoaded", () => document.querySelectorAll(".filtered").forEach(filterRows));

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

// Claims: the counts become buttons that choose a verdict, and a field chooses by words. Without scripts all rows stand.
function filterClaims(box) {
  const rows = [...box.querySelectorAll("tbody tr")];
  const list = box.querySelector(".claims-counts");
  const verdict = (element) => [...element.classList].find((name) => name.startsWith("verdict-"));
  const words = Object.assign(document.createElement("input"), { type: "search", ariaLabel: "Show claims that hold these words", placeholder: "Words in a claim" });
  const status = Object.assign(document.createElement("p"), { className: "claims-status", role: "status" });
  const buttons = [...list.children].map((entry) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: entry.textContent.trim() });
    entry.replaceChildren(button);
    return button;
  });
  const show = (chosen) => {
    for (const button of buttons) button.ariaPressed = String(button === chosen);
    const wanted = chosen && verdict(chosen.parentElement);
    const needle = words.value.trim().toLowerCase();
    for (const row of rows) row.hidden = (wanted && verdict(row) !== wanted) || !row.textContent.toLowerCase().includes(needle);
    status.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} claims shown`;
  };
  const pressed = () => buttons.find((button) => button.ariaPressed === "true");
  for (const button of buttons) button.addEventListener("click", () => show(button === pressed() ? undefined : button));
  words.addEventListener("input", () => show(pressed()));
  list.after(words, status);
  show();
}
addEventListener("DOMContentLoaded", () => document.querySelectorAll(".claims").forEach(filterClaims));

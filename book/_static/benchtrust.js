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

// The outline is one stop of the Tab key, however many turns it has: arrows, Home and End go about in it.

const outline = document.getElementById("outline");
const links = () => [...outline.querySelectorAll("a")];
const STEPS = { ArrowDown: 1, ArrowUp: -1 };

// The stop is where the focus is, else the turn that is read.
function keepOneStop() {
  const focused = outline.contains(document.activeElement) ? document.activeElement : null;
  const stop = focused ?? outline.querySelector(".here > a") ?? outline.querySelector("a");
  for (const link of links()) {
    const index = link === stop ? 0 : -1;
    if (link.tabIndex !== index) link.tabIndex = index;
  }
}

outline.addEventListener("keydown", (event) => {
  const all = links();
  const at = all.indexOf(document.activeElement);
  const to = event.key === "Home" ? all[0] : event.key === "End" ? all.at(-1) : all[at + STEPS[event.key]];
  if (at < 0 || !to || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  to.focus();
});
outline.addEventListener("focusin", keepOneStop);
outline.addEventListener("focusout", keepOneStop);
new MutationObserver(keepOneStop).observe(outline, { childList: true, subtree: true, attributes: true, attributeFilter: ["class"] });
keepOneStop();

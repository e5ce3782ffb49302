// The outline is one stop of the Tab key, however many turns it has: arrows, Home and End go about in it. Of a long session
// it holds the turns around those in sight; the others come when somebody scrolls towards them.

const MOST = 40; // turns that stay, however far away they are
const NEAR = 80; // px: so near to where turns are missing they come
const rail = document.getElementById("rail");
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

const marks = () => [...outline.querySelectorAll("li[data-turn]")];

// Turns come when somebody scrolls towards them; of what scrolls in itself, as this does, htmx sees nothing.
let last = rail.scrollTop;
rail.addEventListener("scroll", () => {
  const by = rail.scrollTop - last;
  last = rail.scrollTop;
  const left = by < 0 ? last : rail.scrollHeight - rail.clientHeight - last;
  const more = by && left < NEAR && outline.querySelector(`.rail-more[data-side=${by < 0 ? "before" : "after"}] a:not(.htmx-request)`);
  if (more) htmx.trigger(more, "wanted"); // no click: nobody made one, and menus close at it
}, { passive: true });

// What turns changed becomes known after the page: their marks alone are put in, so all else stays as it is read.
const CHANGED = ["files-known", "cuts-known"]; // what the outline is asked for again by; turns that are new come otherwise
function mark(html) {
  const { content } = Object.assign(document.createElement("template"), { innerHTML: html });
  for (const one of content.querySelectorAll("li[data-turn]")) {
    outline.querySelector(`li[data-turn="${one.dataset.turn}"] .turn-marks`)?.replaceWith(one.querySelector(".turn-marks"));
  }
}

let held = null; // a turn, and where it was before others came above it
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.shouldSwap && CHANGED.includes(detail.requestConfig.triggeringEvent?.type)) {
    detail.shouldSwap = false;
    mark(detail.serverResponse);
  }
  const stays = detail.target.matches?.(".rail-more[data-side=before]") && marks()[0];
  held = stays ? { stays, top: stays.getBoundingClientRect().top } : null;
});
document.addEventListener("htmx:afterSettle", () => {
  if (held?.stays.isConnected) rail.scrollTop += held.stays.getBoundingClientRect().top - held.top;
  held = null;
  if (marks().length <= MOST) return;
  import("./outline.js").then(({ trim }) => { if (!held) trim(MOST); }, () => null); // tried again with the next turns that come
});

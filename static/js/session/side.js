// The third column: overview, files, inspector, one at a time. Below 1280 px it is no column: the overview is a sheet, the
// files are a page, and the inspector opens beside the timeline or over it.

import { lazy } from "./lazy.js";

const side = document.getElementById("side");
const overview = document.getElementById("side-overview");
const tree = lazy(() => import("./tree.js"));

export function showSide(name) {
  side.dataset.shows = name;
  document.getElementById("panes").classList.toggle("with-inspector", name === "inspector");
  for (const tab of side.querySelectorAll(".side-tabs [data-side]")) {
    const link = tab.matches("a") ? tab : tab.firstElementChild;
    if (tab.dataset.side === name) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  if (name === "files") tree.tell("show");
}

const isColumn = () => getComputedStyle(side).display !== "contents";

export function openFacts() {
  if (isColumn()) showSide("overview");
  else if (!overview.matches(":popover-open")) overview.showPopover();
  const facts = overview.querySelector(".s-facts");
  facts.open = true;
  facts.scrollIntoView({ block: "nearest" });
}

side.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const tab = event.target.closest(".side-tabs [data-side]");
  if (!tab) return;
  event.preventDefault();
  showSide(tab.dataset.side);
});

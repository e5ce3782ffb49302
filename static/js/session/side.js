// The third column: overview, files, inspector, one at a time. Below 1280 px it is no column: the overview is a sheet, the
// files are a page, and the inspector opens beside the timeline or over it.

import { gettext } from "../words.js";

const side = document.getElementById("side");
const overview = document.getElementById("side-overview");
const files = document.getElementById("side-files");

export function showSide(name) {
  side.dataset.shows = name;
  document.getElementById("panes").classList.toggle("with-inspector", name === "inspector");
  for (const tab of side.querySelectorAll(".side-tabs [data-side]")) {
    const link = tab.matches("a") ? tab : tab.firstElementChild;
    if (tab.dataset.side === name) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  if (name === "files") fetchFiles();
}

const isColumn = () => getComputedStyle(side).display !== "contents";

// The tree of the page of files. It is fetched each time, for the session may have gone on.
async function fetchFiles() {
  files.ariaBusy = "true";
  try {
    const answer = await fetch(files.dataset.filesPage);
    if (!answer.ok) throw new Error(gettext("The server answered %(status)s.", { status: answer.status }));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    files.replaceChildren(...page.querySelectorAll(".files-sum, .files-claim, .files-tree, main .empty"));
  } catch (error) {
    document.dispatchEvent(new CustomEvent("trouble", { detail: gettext("The files could not be fetched. %(reason)s", { reason: error.message }) }));
  } finally {
    files.ariaBusy = null;
  }
}

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

// Lenses: keys and links that show the same session another way, with the event that was read where it was.

import { holdAt, underBars } from "./frame.js";
import { gettext } from "../words.js";

const KEPT = "lens-top"; // how far below the top of the screen the row was that was read
const nav = () => document.querySelector(".lenses");
const bar = underBars;

// The row that is read: the one that has the focus while it is in sight, else the first in sight.
function rowHere() {
  const focused = document.activeElement.closest("#timeline [data-seq]");
  const isInSight = (row) => row.getBoundingClientRect().bottom > bar() + 4 && row.getBoundingClientRect().top < innerHeight;
  if (focused && isInSight(focused)) return focused;
  return [...document.querySelectorAll("#timeline [data-seq]")].find((row) => row.checkVisibility() && isInSight(row) && !row.matches(".turn-head"))
    ?? document.querySelector("#timeline [data-seq]");
}

function aim(link) {
  const row = rowHere();
  const address = new URL(link.href);
  if (!row) return;
  address.searchParams.set("near", row.dataset.seq);
  link.href = address.href;
  sessionStorage.setItem(KEPT, String(row.getBoundingClientRect().top));
}

// What somebody chooses is how sessions open for them from then on.
function remember(lens) {
  const body = new URLSearchParams({ lens, csrfmiddlewaretoken: JSON.parse(document.body.getAttribute("hx-headers"))["x-csrftoken"] });
  navigator.sendBeacon(nav().dataset.remember, body);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest(".lenses a, a[data-steps], a[data-kind]");
  if (!link || event.button) return;
  aim(link);
  if (link.dataset.lens && !event.ctrlKey && !event.metaKey && !event.shiftKey) remember(link.dataset.lens);
});

const near = document.getElementById("timeline").dataset.near;
const row = near && (document.getElementById(`e-${near}`) ?? document.getElementById(`r-${near}`));
if (row) {
  const top = Number(sessionStorage.getItem(KEPT) ?? innerHeight / 3);
  (row.matches("details") ? row.querySelector("summary") : row).focus({ preventScroll: true });
  holdAt(row, Math.max(top, bar() + 40));
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy-kept]");
  if (!button) return;
  await navigator.clipboard.writeText(button.closest(".kept").querySelector("pre").textContent);
  button.textContent = gettext("Copied");
});
document.addEventListener("htmx:afterSwap", () => { for (const one of document.querySelectorAll("[data-copy-kept][hidden]")) one.hidden = false; });

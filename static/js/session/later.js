// What a page is read without comes when it is needed first: keys with the walks, replay, hits of a search, cards, the composer.

import { lazy } from "./lazy.js";

const keys = lazy(() => import("./keys.js"));
document.addEventListener("keydown", (event) => keys.tell("onKey", event));

const OWN = "a[data-replay], a[data-mark], .walk a[data-step], .comment-mark"; // a mark lies in what a click opens
const TOLD = `${OWN}, [data-fold], [data-help]`;
document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  if (event.target.closest(OWN)) event.preventDefault();
  if (keys.isAsked() || event.target.closest(`${TOLD}, .card.is-open`)) keys.tell("onClick", event);
});
for (const button of document.querySelectorAll("[data-fold], [data-help], [data-heat]")) button.hidden = false;

const heat = () => import("./heat.js").then(({ toggle }) => toggle());
document.querySelector("[data-heat]")?.addEventListener("click", heat);
try { if (localStorage.getItem("countersign-heat") === "on") heat(); } catch { /* storage may be forbidden */ }

document.addEventListener("focusin", ({ target }) => { if (target.matches("textarea[name=text], textarea[name=note]")) import("../send-keys.js"); });

let watched = false;
function look() {
  if (document.getElementById("replay")) import("./replay.js");
  if (document.querySelector("#found mark")) import("./found.js");
  if (watched || !document.querySelector(".card.is-open")) return;
  watched = true;
  Promise.all([import("../attention.js"), import("../card-keys.js")])
    .then(([{ watchCards }]) => watchCards(), () => { watched = false; }); // asked for again with the next change of the page
}
document.addEventListener("htmx:afterSwap", look);
look();

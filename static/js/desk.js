// Every page: the line for failed requests, the focus after answers, menus that close, keys of lists, buttons that copy.

import { isTyping, keyOf } from "./keyboard.js";
import { gettext } from "./words.js";

// Pages show times in the zone of who reads them: the server learns it from here, and says UTC before.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const told = `zone=${encodeURIComponent(zone)}`;
if (zone && !document.cookie.split("; ").includes(told)) document.cookie = `${told}; path=/; max-age=31536000; samesite=lax`;

// No browser gives the focus by itself (autofocus) where the address names a part of the page, and going there takes it.
addEventListener("load", () => {
  const told = location.hash && document.querySelector(".notices");
  if (!told) return;
  told.classList.add("is-led");
  told.focus({ preventScroll: true });
});

let hidingError = null;

function showError(text) {
  const line = document.getElementById("error-line");
  line.textContent = text;
  line.hidden = false;
  clearTimeout(hidingError);
  hidingError = setTimeout(() => { line.hidden = true; }, 8000);
}

document.addEventListener("htmx:sendError", ({ detail }) => {
  const isReading = detail.requestConfig.verb === "get";
  if (isReading && document.body.classList.contains("is-lost")) return; // the page says so, and asks again by itself
  showError(isReading
    ? gettext("The server cannot be reached. Try again.")
    : gettext("The server cannot be reached. Nothing was changed; try again."));
});
document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  if (status === 403) showError(gettext("This was refused: your role is too low, or the page is too old. Load it again."));
  else if (status === 404) showError(gettext("This is not there any more. Load the page again."));
  else showError(gettext("The server answered %(status)s. Nothing was changed; load the page again.", { status }));
});

// The focus after an answer: focus.js, which somebody who has done nothing yet needs only where a form was refused.
const focus = () => import("./focus.js");
for (const done of ["keydown", "pointerdown", "focusin"]) document.addEventListener(done, focus, { once: true, capture: true });
if (performance.getEntriesByType("navigation")[0]?.responseStatus >= 400) focus().then(({ showWrong }) => showWrong(document.getElementById("main")));

document.addEventListener("trouble", (event) => showError(event.detail)); // said by other modules of a page

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details:is(.account, .dropdown)[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const copy = event.target.closest("button[data-copy]");
  if (copy) copyFrom(copy);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const menu = document.querySelector("details:is(.account, .dropdown)[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
    else if (event.target.type === "search") event.target.blur(); // what / entered is left again: keys walk rows
  }
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = keyOf(event);
  if (key === "/") {
    const search = document.querySelector("input[type=search]");
    if (search) { event.preventDefault(); search.focus(); search.select(); }
  } else if (key === "j") step(1);
  else if (key === "k") step(-1);
  else if (key === "x") choose();
});

// Ctrl + K and ? on pages that have them. Their code comes when they are asked for first; the field is there at once.
const palette = document.getElementById("palette");
if (palette) document.addEventListener("keydown", (event) => {
  if (keyOf(event).toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    event.preventDefault();
    if (palette.open) return palette.close();
    palette.querySelector("input").value = "";
    palette.showModal();
    import("./palette.js").then(({ begin }) => begin());
  } else if (event.key === "?" && !isTyping(event.target) && !document.getElementById("help") && !document.querySelector("dialog[open]")) {
    showShortcuts();
  }
});

function showShortcuts() {
  const own = document.getElementById("help"); // of a page with keys of its own
  if (own) own.showModal();
  else import("./palette.js").then(({ openKeys }) => openKeys());
}
for (const button of document.querySelectorAll("[data-shortcuts]")) {
  button.hidden = false;
  button.addEventListener("click", () => { button.closest("details").open = false; showShortcuts(); });
}
const turnSingleKeys = (on) => import("./single-keys.js").then(({ turn }) => turn(on));
try { if (localStorage.getItem("single-keys") === "off") turnSingleKeys(false); } catch { /* storage may be forbidden */ }
document.addEventListener("change", ({ target }) => { if (target.matches("[data-single-keys]")) turnSingleKeys(target.checked); });

// On a phone the navigation bar is wider than the screen: scrolled so that the current page is in sight.
function showCurrentPage() {
  const here = document.querySelector(".nav [aria-current]");
  if (here) here.parentElement.scrollLeft = here.offsetLeft - (here.parentElement.clientWidth - here.offsetWidth) / 2;
}
showCurrentPage();

// j and k walk the rows of a page (what has data-row); on a link Enter then does what it does on links.
function step(by) {
  const rows = [...document.querySelectorAll("[data-row]")];
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement.closest("[data-row]"));
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
  rows[next].focus();
  rows[next].scrollIntoView({ block: "nearest" });
}

// x chooses the row, where rows can be chosen.
const choose = () => document.activeElement.closest("[data-row]")?.closest("tr")?.querySelector("input[type=checkbox]")?.click();

const clipboard = !navigator.clipboard && import("./clipboard.js");
async function copyFrom(button) {
  const source = document.getElementById(button.dataset.copy);
  await clipboard;
  await navigator.clipboard.writeText(source.value ?? source.textContent.trim());
  const label = button.textContent;
  button.textContent = gettext("Copied");
  setTimeout(() => { button.textContent = label; }, 1500);
}

// What is not filtered by has no place in an address that somebody may send to somebody.
document.addEventListener("formdata", ({ target, formData }) => {
  if (!target.matches("form.filter")) return;
  for (const [name, value] of [...formData]) if (value === "" && formData.getAll(name).length === 1) formData.delete(name);
});

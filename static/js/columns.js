// Columns of the session list that are dragged wider or narrower, or moved with the arrow keys; kept for the person.
// An edge lies between two columns: what one gains the other gives. The title has what the others leave.

import { gettext } from "./words.js";

const LEAST = 40, MOST = 1_200; // as the server takes (services/reviews/saved_views.py)
const TITLE = 160; // px that are left to the title; in a narrower window columns are as wide as they are by themselves
const STEP = 16, STRIDE = 64;
let saving = null;

const table = () => document.querySelector("table[data-widths]");
const heads = () => [...table().querySelectorAll("thead th")].slice(1).filter((head) => head.checkVisibility());
const columnOf = (head) => table().querySelectorAll("colgroup col")[head.cellIndex];
const nameOf = (head) => columnOf(head).dataset.column;
const widthOf = (head) => Math.round(head.getBoundingClientRect().width);

function setWidth(head, width) {
  columnOf(head).width = width;
  head.querySelector(".column-edge")?.setAttribute("aria-valuenow", width);
}

// From columns that the browser lays out to columns of these widths: nothing moves.
function freeze() {
  if (table().classList.contains("is-sized")) return;
  const widths = heads().map((head) => [head, widthOf(head)]);
  const state = widthOf(table().querySelector("thead th"));
  for (const [head, width] of widths) if (nameOf(head) !== "title") setWidth(head, width);
  table().querySelector(".col-state").width = state;
  table().classList.add("is-sized");
}

const least = (head) => (nameOf(head) === "title" ? TITLE : LEAST);

// Moves the edge between a column and the one behind it, as far as both have room; by how much it moved.
function move(head, by) {
  freeze();
  const next = heads()[heads().indexOf(head) + 1];
  const [here, there] = [widthOf(head), widthOf(next)];
  const moved = Math.round(Math.max(Math.min(by, there - least(next), MOST - here), least(head) - here, there - MOST));
  for (const [one, width] of [[head, here + moved], [next, there - moved]]) if (nameOf(one) !== "title") setWidth(one, width);
  saveSoon();
  return moved;
}

function saveSoon() {
  clearTimeout(saving);
  saving = setTimeout(() => save(Object.fromEntries(heads().filter((one) => nameOf(one) !== "title").map((one) => [nameOf(one), Math.min(Math.max(widthOf(one), LEAST), MOST)]))), 300);
}

async function save(widths) {
  const headers = JSON.parse(document.body.getAttribute("hx-headers"));
  const answer = await fetch(table().dataset.widths, { method: "POST", headers, body: new URLSearchParams(widths), keepalive: true });
  if (!answer.ok) document.dispatchEvent(new CustomEvent("trouble", { detail: gettext("The widths of the columns were not kept. Try again.") }));
}

function reset() {
  clearTimeout(saving);
  for (const head of heads()) columnOf(head).removeAttribute("width");
  table().querySelector(".col-state").removeAttribute("width");
  table().classList.remove("is-sized");
  save({});
}

function drag(edge, head, event) {
  event.preventDefault();
  edge.setPointerCapture(event.pointerId);
  edge.classList.add("is-held");
  let at = event.clientX;
  const onMove = ({ clientX }) => { at += move(head, clientX - at); };
  edge.addEventListener("pointermove", onMove);
  edge.addEventListener("lostpointercapture", () => { edge.removeEventListener("pointermove", onMove); edge.classList.remove("is-held"); }, { once: true });
}

function onKey(head, event) {
  const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (way) move(head, way * (event.shiftKey ? STRIDE : STEP));
  else if (event.key === "Home") reset();
  else return;
  event.preventDefault();
}

function edgeOf(head) {
  const edge = document.createElement("span");
  edge.className = "column-edge";
  edge.tabIndex = 0;
  edge.setAttribute("role", "separator");
  edge.setAttribute("aria-orientation", "vertical");
  edge.setAttribute("aria-label", gettext("Width of %(column)s", { column: head.textContent.trim() }));
  for (const [name, value] of [["min", LEAST], ["max", MOST], ["now", widthOf(head)]]) edge.setAttribute(`aria-value${name}`, value);
  edge.title = gettext("Drag, or use the arrow keys; double click to reset");
  edge.addEventListener("pointerdown", (event) => { if (event.button === 0) drag(edge, head, event); });
  edge.addEventListener("keydown", (event) => onKey(head, event));
  edge.addEventListener("dblclick", reset);
  return edge;
}

function prepare() {
  if (!table()) return;
  for (const head of heads()) {
    if (!head.querySelector(".column-edge") && head !== heads().at(-1)) head.append(edgeOf(head));
  }
  const hint = document.querySelector("[data-widths-hint]");
  if (hint) hint.hidden = false;
  fit();
}

// A window that is too narrow for the widths of a wider one.
function fit() {
  const title = table() && heads().find((head) => nameOf(head) === "title");
  if (title && table().classList.contains("is-sized") && widthOf(title) < TITLE) table().classList.remove("is-sized");
}

document.addEventListener("click", (event) => { if (event.target.closest("[data-widths-reset]")) reset(); });
document.addEventListener("htmx:afterSettle", prepare);
addEventListener("resize", fit);
prepare();

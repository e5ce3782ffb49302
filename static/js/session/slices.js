// Rows that come in below come one after the other, a few in a task: a whole window at once holds up the page.

import { enliven, join } from "./windows.js";

const FEW = 100; // elements of a task at the most: five rows of twenty, which are styled and laid out in 3 ms
const SHORT = 20; // ms that a task may take: where the last took longer, the next has fewer
let few = FEW;
const nextTask = () => new Promise((go) => setTimeout(go));
let coming = null; // what asked for the window that comes, and what is still to be put before it: pieces, and rows with their place

// htmx asks, and would put all of the answer in. What asked stays until the window is there, so none is asked for meanwhile.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!detail.shouldSwap || !detail.target.matches?.("#timeline:not([data-replay]) > .more.after")) return;
  detail.shouldSwap = false;
  bring(detail.target, detail.serverResponse);
});

async function bring(more, html) {
  more.ariaBusy = true;
  await nextTask();
  const fetched = document.createElement("template");
  fetched.innerHTML = html;
  const mine = coming = { more, rest: [...fetched.content.children].flatMap(unpacked) };
  for (await nextTask(); coming === mine; await nextTask()) {
    const began = performance.now();
    put(few);
    few = Math.min(FEW, (few * SHORT) / (performance.now() - began));
  }
}

// A section comes empty, then its rows one by one: windows.js lets it be until the last is there.
function unpacked(piece) {
  const place = piece.querySelector(":scope > .rows");
  if (!place) return [[piece]];
  const rows = [...place.children];
  place.replaceChildren();
  if (rows[0]) place.ariaBusy = true;
  return [[piece], ...rows.map((row, at) => [row, place, !rows[at + 1]])];
}

function put(most) {
  const { more, rest } = coming;
  if (!more.isConnected) { coming = null; return; } // another window was opened in the place of all of this
  for (let count = 0, size; rest[0]; count += size) {
    const [piece, place, ends] = rest[0];
    size = 1 + piece.querySelectorAll("*").length;
    if (count && (!rest[1] || count + size > most)) break; // the last asks for more: a task of its own
    rest.shift();
    if (place) place.append(piece);
    else { more.before(piece); join(); }
    if (ends) place.ariaBusy = null;
    enliven(piece);
  }
  const target = more.parentElement;
  target.getBoundingClientRect(); // laid out here, and not in the task that also paints
  if (rest[0]) return;
  coming = null;
  more.remove();
  for (const name of ["Swap", "Settle"]) htmx.trigger(target, `htmx:after${name}`, { target });
}

// Who acts now acts on all that came.
for (const name of ["keydown", "click", "beforeprint"]) addEventListener(name, () => { while (coming) put(Infinity); }, true);

// Bands in the rows of a list: asked for all at once when the rows are there, and only where they are shown.

const MOST = 50; // as the server takes (queries/log/overview.py)
const AGAIN = 1_500; // ms: long sessions that are drawn for the first time come later
const ROUNDS = 8;

const empty = () => [...document.querySelectorAll("[data-strip]:empty:not([data-asked])")].filter((one) => one.checkVisibility());

async function ask(cells, round = 1) {
  for (const cell of cells) cell.dataset.asked = "1";
  const query = cells.map((cell) => `id=${cell.dataset.strip}`).join("&");
  const answer = await fetch(`/sessions/strips?${query}`);
  if (!answer.ok) return; // signed out, or the server is away: the rows are whole without
  const found = document.createElement("template");
  found.innerHTML = await answer.text();
  for (const cell of cells) cell.replaceChildren(...found.content.querySelectorAll(`[data-for="${cell.dataset.strip}"]`));
  const missing = cells.filter((cell) => cell.isConnected && !cell.firstChild && cell.dataset.strip);
  if (missing.length && round < ROUNDS) setTimeout(() => ask(missing, round + 1), AGAIN);
}

function fill() {
  const cells = empty();
  for (let at = 0; at < cells.length; at += MOST) ask(cells.slice(at, at + MOST));
}

document.addEventListener("htmx:afterSwap", fill);
fill();

// Messages as they are written: plain text at the end of the timeline, until the log has them and their row stands above.

const writing = () => document.getElementById("writing");
const isLoaded = (seq) => Boolean(document.getElementById(`e-${seq}`));
const open = new Map(); // by request: what has come so far, and the seq of its event once that is known
const done = new Set();
const GIVE_UP = 4000; // ms after which a row that this depth of the page does not show is not waited for

// A piece says where it begins, in characters of Unicode. One that is missing shows: then the whole is waited for.
function said({ request, offset, text }) {
  if (done.has(request)) return;
  const piece = Array.from(text);
  const one = open.get(request) ?? begin(request);
  const known = one.characters.slice(offset, offset + piece.length).join("");
  if (known === text) return;
  if (offset > one.characters.length) return one.row.classList.add("has-gap");
  if (offset < one.characters.length || one.row.matches(".has-gap")) {
    one.characters.length = offset;
    one.row.classList.remove("has-gap");
    one.text.data = one.characters.join("");
  }
  one.characters.push(...piece);
  one.text.appendData(text);
}

function begin(request) {
  const row = document.getElementById("writing-row").content.firstElementChild.cloneNode(true);
  const one = { row, characters: [], text: document.createTextNode(""), seq: null };
  row.querySelector(".plain").append(one.text);
  open.set(request, one);
  writing()?.append(row);
  return one;
}

// A message of the agent is the one begun first; what ends a turn or comes after a message ends every one.
function logged(event) {
  if (event.depth) return;
  const waiting = [...open.values()].filter((one) => one.seq === null);
  const ends = ["tool_call", "error", "user_message"].includes(event.kind) || event.data?.status === "interrupted";
  for (const one of event.kind === "agent_message" ? waiting.slice(0, 1) : ends ? waiting : []) {
    one.seq = event.seq;
    setTimeout(() => settle(true), GIVE_UP);
  }
  settle(false);
}

// In the same frame as the row comes the text goes, so that nothing jumps.
function settle(late) {
  for (const [request, one] of open) {
    if (one.seq !== null && (late || isLoaded(one.seq))) {
      one.row.remove();
      open.delete(request);
      done.add(request);
    } else if (!one.row.isConnected) writing()?.append(one.row);
  }
}
document.addEventListener("htmx:afterSwap", () => settle(false));

window.writing = { said, logged };

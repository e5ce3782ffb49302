// A turn of the timeline is folded to its head, or unfolded. navigation.js fetches this when somebody does so first.

import { enter } from "../kept-place.js";
import { askFrame, holdAt, underBars } from "./frame.js";
import { openAgain, openedNow } from "./place.js";

// Only the head of the turn is there, or all of it again: the server leaves its rows out of every window, so the address
// says so, and what was read stays where it was.
export async function fold(turn, load) {
  const link = turn.querySelector(":scope > .turn-head .turn-fold");
  const { top } = turn.getBoundingClientRect();
  const opened = openedNow();
  const address = new URL(link.href);
  address.searchParams.set("near", turn.dataset.first);
  const loaded = await load(address.pathname + address.search);
  const head = document.getElementById(`t-${turn.dataset.turn}`);
  if (!loaded || !head) return;
  enter(link.href);
  openAgain(opened);
  holdAt(head, Math.max(top, underBars()));
  head.querySelector(".turn-fold").focus({ preventScroll: true });
  askFrame();
}

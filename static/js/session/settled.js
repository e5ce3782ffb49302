// What was asked and is settled: a later turn may have settled it, so the mark of its own turn is asked for again. live.js
// fetches this with the first one.

import { askFrame } from "./frame.js";
import { base } from "./navigation.js";
import { fetchInPlace, refresh } from "./pieces.js";

export function unmark() {
  for (const { dataset: { turn } } of document.querySelectorAll("#outline li:has(.is-waits)")) {
    const at = `li[data-turn="${turn}"]`;
    const path = `${base()}/outline${turn > 0 ? `?after=${turn - 1}` : ""}`;
    refresh(`turn ${turn}`, () => fetchInPlace(() => document.querySelector(`#outline ${at}`), path, at).then(askFrame));
  }
}

// Where somebody was on a page, kept in the browser's tab: for reload and the back button. Pages that come out of the
// browser's own cache are as they were left and need none of it.

const MOST = 200; // entries: a tab that was open for days
const KEYS = "places";

// An entry of the history has a name of its own, so that the same page opened anew begins at its top.
export function keyOfEntry() {
  const known = history.state?.place;
  if (known) return known;
  const made = crypto.randomUUID();
  history.replaceState({ ...history.state, place: made }, "");
  return made;
}

// A new entry has its name from the start: one that it gets while the page goes away is gone after a reload.
export function enter(address, state = {}) {
  history.pushState({ ...state, place: crypto.randomUUID() }, "", address);
}

export function keep(key, place) {
  try {
    const keys = JSON.parse(sessionStorage.getItem(KEYS) ?? "[]").filter((one) => one !== key);
    keys.push(key);
    for (const old of keys.splice(0, keys.length - MOST)) sessionStorage.removeItem(`place:${old}`);
    sessionStorage.setItem(KEYS, JSON.stringify(keys));
    sessionStorage.setItem(`place:${key}`, JSON.stringify(place));
  } catch {
    // The tab's store is full or off: the page opens at its top.
  }
}

export function kept(key) {
  try {
    return JSON.parse(sessionStorage.getItem(`place:${key}`));
  } catch {
    return null;
  }
}

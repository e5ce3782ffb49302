// The list of the inbox: which row is selected, and where a row belongs. The selection is a state of the page, not of
// the focus, so that keys work wherever the focus is.

const byId = (id) => document.getElementById(id);
export const inbox = byId("approvals");
export const list = () => byId("inbox-rows");
export const rowOf = (id) => byId(`row-${id}`);
export const allRows = () => [...list().querySelectorAll(".inbox-row")];
export const isOpen = (row) => row?.dataset.status === "pending" && !row.matches(".is-sent");
export const openRows = () => allRows().filter(isOpen);
export const current = () => list().querySelector("a[aria-current]")?.closest(".inbox-row") ?? null;

export function mark(row) {
  for (const line of list().querySelectorAll("a[aria-current]")) line.removeAttribute("aria-current");
  const line = row.querySelector("a[id]");
  line.setAttribute("aria-current", "true");
  line.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

// The next open row in a direction; after the last one the first that is still open, where `around`.
export function neighbour(row, by, { around = false } = {}) {
  const rows = allRows();
  const at = rows.indexOf(row);
  const behind = by > 0 ? rows.slice(at + 1) : rows.slice(0, Math.max(at, 0)).reverse();
  return behind.find(isOpen) ?? (around ? rows.find((one) => isOpen(one) && one !== row) : null) ?? null;
}

// The row before which a new one belongs: rows carry a text that sorts as the server sorts.
export function placeOf(row) {
  return allRows().find((one) => one.dataset.order > row.dataset.order) ?? byId("inbox-more");
}

// Whether a row can come before `place` without moving a row that is in sight.
export function isOutOfSight(place) {
  const scroll = byId("inbox-scroll").getBoundingClientRect();
  const bottom = Math.min(scroll.bottom, innerHeight);
  return !place || place.getBoundingClientRect().top >= bottom; // without a place it comes last
}

// Turns leave the outline of a long session, far away from those in sight. rail.js fetches this when there are more than stay.

import { base } from "./navigation.js";

const LEAVE = 0.5; // screens of the outline above or below what is in sight: turns beyond it may leave
const rail = document.getElementById("rail");
const outline = document.getElementById("outline");
const marks = () => [...outline.querySelectorAll("li[data-turn]")];

// A place where turns are missing: a link to them, as the server makes it.
function linkTo(side, turn) {
  const link = document.getElementById("rail-more").content.querySelector(`[data-side=${side}]`).cloneNode(true);
  const anchor = link.firstElementChild;
  anchor.href = `${base()}/outline?${side}=${turn}${document.getElementById("timeline").dataset.kept}`;
  anchor.setAttribute("hx-get", anchor.getAttribute("href"));
  return link;
}

// What stays is where it was on the screen.
function change(stays, work) {
  const top = stays.getBoundingClientRect().top;
  work();
  rail.scrollTop += stays.getBoundingClientRect().top - top;
}

export function trim(most) {
  const all = marks();
  const { top, bottom, height } = rail.getBoundingClientRect();
  if (all.length <= most || !height) return;
  const isFar = (mark) => {
    const rect = mark.getBoundingClientRect();
    return (rect.bottom < top - LEAVE * height || rect.top > bottom + LEAVE * height) && !mark.matches(".here") && !mark.contains(document.activeElement);
  };
  const kept = all.filter((mark) => !isFar(mark));
  if (!kept.length) return;
  const [first, last] = [all.indexOf(kept[0]), all.indexOf(kept.at(-1))];
  change(kept[0], () => {
    if (first > 0) leave(all.slice(0, first), "before", kept[0]);
    if (last < all.length - 1) leave(all.slice(last + 1), "after", kept.at(-1));
  });
}

function leave(gone, side, edge) {
  const old = side === "before" ? gone[0].previousElementSibling : gone.at(-1).nextElementSibling;
  const link = linkTo(side, edge.dataset.turn);
  if (old) old.remove();
  edge[side](link);
  for (const mark of gone) mark.remove();
  htmx.process(link);
}

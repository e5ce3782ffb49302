// What lies in closed menus of the head comes into the page when they are opened first: exports alone are two hundred elements.

const put = new WeakMap(); // menu -> what lies in it

function takeOut() {
  for (const menu of document.querySelectorAll("#top details.dropdown:not([open]) > .menu")) {
    if (put.has(menu) || !menu.firstElementChild) continue;
    const inside = document.createDocumentFragment();
    inside.append(...menu.childNodes);
    put.set(menu, inside);
  }
}

function putIn(details) {
  const menu = details?.querySelector(":scope > .menu");
  const inside = menu && put.get(menu);
  if (!inside?.firstChild) return;
  menu.append(inside);
  htmx.process(menu);
}

const ofMenu = (target) => target.closest?.("#top details.dropdown");
document.addEventListener("click", ({ target }) => { if (target.closest("summary")) putIn(ofMenu(target)); }, { capture: true });
document.addEventListener("toggle", ({ target }) => { if (target.open) putIn(ofMenu(target)); }, { capture: true }); // opened by find-in-page or a script
document.addEventListener("palette", () => { for (const details of document.querySelectorAll("#top details.dropdown")) putIn(details); }); // it offers what menus do
document.addEventListener("htmx:afterSwap", takeOut);
takeOut();

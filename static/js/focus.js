// Where the focus goes after an answer of the server. On the first field that it calls wrong, else on the words that say so.
// Where what had the focus was replaced: on the same control, or on the innermost part around it that came again, so that keys
// go on from there.

const WRONG = ["[aria-invalid=true]", ".field-error", "[role=alert]"];
const CONTROL = "a[href], button, input, select, textarea, summary";
const isUsable = (one) => Boolean(one?.checkVisibility()) && !one.disabled;

function take(one, options) {
  one.focus(options);
  if (document.activeElement === one) return;
  one.tabIndex = -1; // words, or a whole part
  one.focus(options);
}

export function showWrong(part) {
  const wrong = WRONG.flatMap((what) => [...part.querySelectorAll(what)]).find(isUsable);
  if (wrong) take(wrong);
  return Boolean(wrong);
}

// What lies in a closed fold is behind its summary.
const inSight = (one) => (!one || one.checkVisibility() ? one : one.closest("details:not([open])")?.firstElementChild);

// The control at the same place of the same form. Many forms of a part may have one address.
function likeIn(part, { form, tagName, name, id }, at) {
  const isSame = (one) => one && one.id === form.id && one.getAttribute("action") === form.getAttribute("action");
  const same = form && [part.closest("form"), ...part.querySelectorAll("form")].find(isSame)?.elements[at];
  return same?.tagName === tagName && same.name === name && same.id === id ? same : null;
}

// `gone` had the focus in what `part` came for. It is on no page any more, but still knows what was around it.
function goOn(gone, part, status) {
  if (status >= 400 && showWrong(part)) return;
  if (document.activeElement !== document.body) return;
  const at = gone.form ? [...gone.form.elements].indexOf(gone) : -1;
  for (let around = gone; around; around = around.parentElement) {
    const again = around.id && document.getElementById(around.id);
    const found = again && [likeIn(again, gone, at), again].map(inSight).find(isUsable);
    if (found) return take(found, { preventScroll: true });
  }
  take([...part.querySelectorAll(CONTROL)].find(isUsable) ?? part, { preventScroll: true });
}

const sent = new WeakMap(); // request -> what had the focus: a button that waits may be disabled, and has lost it by the answer
let here = null;
document.addEventListener("htmx:beforeRequest", ({ detail: { xhr } }) => sent.set(xhr, document.activeElement));
document.addEventListener("htmx:beforeSwap", ({ detail: { xhr, target } }) => {
  const had = document.activeElement === document.body ? sent.get(xhr) : document.activeElement;
  here = target.contains(had) ? had : null;
});
document.addEventListener("htmx:afterSwap", ({ target, detail: { xhr } }) => {
  const had = here;
  here = null;
  if (had && (!had.isConnected || xhr.status >= 400)) goOn(had, target, xhr.status);
});

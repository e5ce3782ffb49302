// A module that comes when it is needed first. What happens until then is told to it, in order, when it is there.

import { gettext } from "../words.js";

export function lazy(load) {
  let module = null;
  let coming = null;
  const fail = () => {
    coming = null; // asked for again the next time
    document.dispatchEvent(new CustomEvent("trouble", { detail: gettext("The server cannot be reached. Try again.") }));
  };
  const fetch = () => { coming ??= load().then((came) => { module = came; }, fail); return coming; };
  return {
    fetch,
    isAsked: () => Boolean(coming),
    tell(name, event) {
      if (module) module[name](event); // at once: a handler may prevent what the browser would do
      else fetch().then(() => module?.[name](event));
    },
  };
}

// The files that a session changed, in the third column. side.js fetches this when somebody looks at them first.

import { gettext } from "../words.js";

const files = document.getElementById("side-files");

// The tree of the page of files. It is fetched each time, for the session may have gone on.
export async function show() {
  files.ariaBusy = "true";
  try {
    const answer = await fetch(files.dataset.filesPage);
    if (!answer.ok) throw new Error(gettext("The server answered %(status)s.", { status: answer.status }));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    files.replaceChildren(...page.querySelectorAll(".files-sum, .files-claim, .files-tree, main .empty"));
  } catch (error) {
    document.dispatchEvent(new CustomEvent("trouble", { detail: gettext("The files could not be fetched. %(reason)s", { reason: error.message }) }));
  } finally {
    files.ariaBusy = null;
  }
}

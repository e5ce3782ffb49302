// What becomes of approvals, told by the server for as long as somebody looks at the page: `handlers` by name of event.

import { stay } from "./connection.js";

export function listen(address, handlers) {
  stay(() => address, (source) => {
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (message) => handle(message.data ? JSON.parse(message.data) : null));
    }
  });
}

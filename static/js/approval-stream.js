// What becomes of approvals, told by the server for as long as somebody looks at the page: `handlers` by name of event.

export function listen(address, handlers) {
  let source = null;
  function open() {
    if (source || document.hidden) return;
    source = new EventSource(address);
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (message) => handle(message.data ? JSON.parse(message.data) : null));
    }
  }
  // A browser opens six connections to a host: pages that nobody looks at give theirs back.
  function close() {
    source?.close();
    source = null;
  }
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
}

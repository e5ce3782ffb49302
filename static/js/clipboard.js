// Copying where the browser keeps its clipboard from pages: those of a desk in an office without TLS are no secure context.
// desk.js fetches this there, and it stands in for what is missing.

Object.defineProperty(navigator, "clipboard", { value: { writeText } });

// Of whatever has the focus nothing changes: the text goes through the event of a copy, not through a selection.
async function writeText(text) {
  const give = (event) => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  addEventListener("copy", give, { capture: true, once: true });
  const isCopied = document.execCommand("copy");
  removeEventListener("copy", give, { capture: true });
  if (!isCopied) throw new DOMException("", "NotAllowedError"); // as the clipboard of a browser does
}

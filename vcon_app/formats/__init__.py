"""One module (or package) per file format; each is pure: bytes in, drafts out, and back.

A format is a module with these names:

``NAME``        its name in the API, ``claude-code``
``TITLE``       its name for people
``MEDIA_TYPE``, ``SUFFIX``   of the files it writes (only with ``write``)
``GROWS``       "lines" when its files grow by appended records, "document" when they are rewritten whole
``MAX_BYTES``   (optional) an upper limit of its own, for formats that must be held in memory
``detect(head: Head) -> bool``   is this file ours? By content, never by name
``read(source: BinaryIO) -> Iterator[Draft]``   raises ``FormatError`` for what cannot be read at all
``write(session, events, losses, *, options) -> Iterator[bytes]``   (optional) the way out
"""

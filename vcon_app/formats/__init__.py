"""One module (or package) per file format, each pure: bytes in, drafts out, and back. ``common`` is what they share.

A format is a module with these names:

``NAME``        its name in the API, ``claude-code``
``TITLE``       its name for people
``MEDIA_TYPE``, ``SUFFIX``   of the files it writes (only with ``write``)
``GROWS``       "lines" when its files grow by appended records, "document" when they are rewritten whole
``MAX_BYTES``   (optional) an upper limit of its own, for formats that must be held in memory
``detect(head: Head) -> bool``   is this file ours? By content, never by name
``read(source: BinaryIO) -> Iterator[Draft]``   raises ``FormatError`` for what cannot be read at all
``write(session, events, losses, *, options) -> Iterator[bytes]``   (optional) the way out

and, for formats whose files are signed or encrypted (all optional):

``verify(source: BinaryIO, anchors: Sequence[Anchor], at: datetime) -> tuple[Signature, list[Finding]]``
    the state of the signature at a time, with these trust anchors (``vcon_app.signing.keys``). ``read`` yields
    ``Signature("uncheckable")`` where there is one; what ``verify`` returns takes its place. Raises ``FormatError``
``unseal(source: BinaryIO, keys: Sequence[RSAPrivateKey]) -> BinaryIO``
    the document inside of one that is encrypted for one of the keys, else the stream itself. Raises ``FormatError``
``signs_with(signer: Signer) -> bool`` and ``sign(content: bytes, signer: Signer, at: datetime, options) -> bytes``
    whether a key of ours (``vcon_app.signing.signers``) signs this format, and the signed form of what ``write`` made
"""

"""One module (or package) per file format, each pure: bytes in, drafts out, and back. ``common`` is what they share.

A format is a module with these names:

``NAME``        its name in the API, ``claude-code``
``TITLE``       its name for people
``MEDIA_TYPE``, ``SUFFIX``   of the files it writes (only with ``write``)
``ALSO_SERVED_AS``           (optional) other media types of the same bytes, for programs that ask for one (``Accept``)
``GROWS``       "lines" when its files grow by appended records, "document" when they are rewritten whole
``RESPONSE_IDS`` (optional) "everywhere" when ``EventDraft.request`` names a response in every file of the format: one
                that several sessions repeat (resumed, forked) is then counted once in a workspace
``CHILDREN``    (optional) how sub-agents that have files of their own are found: "beside" when the child's
                ``external_id`` is its parent's with a slash and a name behind it, "named" when the result of the
                parent's call names it in ``data["child_session"]``, "told" when the child's first prompt is all that
                links the two
``STARTS_SESSIONS`` (optional) names of the tools whose calls start sub-agents
``is_companion(name: str) -> bool`` and ``companions(name: str, data: bytes) -> list[Companion] | None``
                (optional) files that hold no session and tell something about one; ``None`` when it is none after all
``MAX_BYTES``   (optional) an upper limit of its own, for formats that must be held in memory
``detect(head: Head) -> bool``   is this file ours? By content, never by name
``read(source: BinaryIO) -> Iterator[Draft]``   raises ``FormatError`` for what cannot be read at all
``write(session, events, losses, *, options) -> Iterator[bytes]``   (optional) the way out
``OPTIONS``     (optional) ``tuple[drafts.Option, ...]``: choices that people have when they export. The export panel,
                the API and the command are made of them; ``options`` of ``write`` holds each under its name, checked,
                with the default of what was not said. The names format, signed and encrypt_for are taken.
                Who declares a switch named ``verdicts`` and is asked for it finds what reviewers said in
                ``options["review"]`` (``vcon_app.queries.verdicts``)

and, for formats whose files are signed or encrypted (all optional):

``verify(source: BinaryIO, anchors: Sequence[Anchor], at: datetime) -> tuple[Signature, list[Finding]]``
    the state of the signature at a time, with these trust anchors (``vcon_app.signing.keys``). ``read`` yields
    ``Signature("uncheckable")`` where there is one; what ``verify`` returns takes its place. Raises ``FormatError``
``unseal(source: BinaryIO, keys: Sequence[RSAPrivateKey]) -> BinaryIO``
    the document inside of one that is encrypted for one of the keys, else the stream itself. Raises ``FormatError``
``signs_with(signer: Signer) -> bool`` and ``sign(content: bytes, signer: Signer, at: datetime, options) -> bytes``
    whether a key of ours (``vcon_app.signing.signers``) signs this format, and the signed form of what ``write`` made
``encrypt(content: bytes, keys: Sequence[RSAPublicKey], options) -> bytes``
    the form that only the owners of ``keys`` can read, made of what ``sign`` made
"""

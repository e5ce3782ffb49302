"""The contract of a format: what it declares (``Spec``), and the functions by which it reads, writes and signs.

A format is a module or an object with a ``SPEC`` and the functions of one or more of the protocols below: a ``Reader``,
a ``Writer``, or both, and the others where its files are signed, encrypted or lie beside small files. Whoever uses
a format asks ``isinstance(format, Writer)``; ``docs/formats.md`` shows how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, Literal, Protocol, runtime_checkable

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

from ..drafts import Companion, Draft, Events, Finding, Losses, Option, SessionDraft, Signature
from ..signing.keys import Anchor
from ..signing.signers import Signer
from .common.head import Head

Need = Literal["costs", "family", "graph", "long_values", "parts"]
"""What a writer takes besides the session and its events, as a key of ``options`` (see ``Spec.needs``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What a format declares about itself; the defaults are right for most."""

    name: str
    """Its name in the API and on the command line: ``claude-code``."""
    title: str
    """Its name for people."""

    # of formats that are read

    grows: Literal["lines", "document"] = "document"
    """``lines`` when its files grow by appended records, ``document`` when they are rewritten whole, so that a changed
    file is another version of the session."""
    spread: bool = False
    """Whether one session lies in files that share no record: pages of an API, an event a file, a trace a turn. Of
    other formats a file that repeats nothing of the session that it names is taken for that one's only where it lies
    in the same place."""
    max_bytes: int | None = None
    """An upper limit of its own, for files that must be held in memory."""
    global_response_ids: bool = False
    """Whether ``EventDraft.request`` names a response in every file of the format. One that several sessions repeat
    (resumed, forked) is then counted once in a workspace."""
    children: Literal["", "beside", "named", "prompted"] = ""
    """How sub-agents that have files of their own are found: ``beside`` when the child's ``external_id`` is its
    parent's with a slash and a name behind it, ``named`` when the result of the parent's call names it in
    ``data["child_session"]``, ``prompted`` when the child's first prompt is all that links the two."""
    starts_sessions: Collection[str] = ()
    """Names of the tools whose calls start sub-agents."""

    # of formats that are written

    media_type: str = ""
    suffix: str = ""
    """Of the file's name, with its dot."""
    also_served_as: tuple[str, ...] = ()
    """Other media types of the same bytes, for programs that ask for one of them (``Accept``)."""
    options: tuple[Option, ...] = ()
    """Choices that people have when they export: the export panel, the API and the command are made of them. The
    names ``format``, ``signed`` and ``encrypt_for`` are taken. A switch named ``verdicts`` asks for what reviewers
    said, which is then ``options["review"]`` (``vcon_app.queries.verdicts``)."""
    needs: frozenset[Need] = frozenset()
    """Keys of ``options`` that are computed for its writer alone, for each asks the database:

    ``costs``   ``{turn: {"amount": "0.012" | None, "unpriced_tokens": 0}}``, US dollars as the desk priced the turns
    ``family``  with the option ``children``: (draft, events, options) of each sub-agent that is a session of its
                own, and its events do not stand among those of the session
    ``graph``   ``recorded``: decisions and evidence that the desk recorded beside the log, as events; ``traced``: the
                versions of definition and rules that allowed the session
    ``long_values``  a function that gives a value which the reader left in the original file, by its JSON pointer, and
                raises ``LookupError`` where it is not at hand; not given for what is redacted or shared
    ``parts``   what lies beside the session in a bundle: original, audit rows, signer (``formats.bundle.Parts``)
    """
    always_signed: bool = False
    """Whether the file carries a signature of ours in any case, so that ``signed`` is no choice."""
    wraps: str = ""
    """Name of the format that its content is in: both carry the same uuid for the same content."""
    same_record: Callable[[SessionDraft], str] | None = None
    """The id that a session's own file of this format has, where what is written of it alone is that record again and
    nothing of it is lost; empty where it is another one, made from it."""
    new_uuid: Callable[[datetime, str, bytes], str] | None = None
    """Makes the id of a file out of the time, our host name and 2 random bytes; without it that is a UUID v7."""


@runtime_checkable
class Format(Protocol):
    """What every format has."""

    @property
    def SPEC(self) -> Spec: ...  # noqa: N802 - the constant of a module


@runtime_checkable
class Reader(Format, Protocol):
    """A format that files are imported from."""

    def detect(self, head: Head, /) -> bool:
        """Whether the file is ours: by its content, never by its name."""
        ...

    def read(self, source: BinaryIO, /) -> Iterator[Draft]:
        """Drafts in the order of the file. Raises ``FormatError`` for what cannot be read at all."""
        ...


@runtime_checkable
class LenientReader(Reader, Protocol):
    """A reader that refuses some files of its format, unless somebody chose the format themselves."""

    def read_anyway(self, source: BinaryIO, /) -> Iterator[Draft]: ...


@runtime_checkable
class CompanionReader(Reader, Protocol):
    """A format beside whose files lie others, which hold no session and tell something about one."""

    def is_companion(self, name: str, /) -> bool:
        """Whether a file of this name may be one."""
        ...

    def companions(self, name: str, data: bytes, /) -> list[Companion] | None:
        """What it tells; ``None`` when it is no companion after all."""
        ...


@runtime_checkable
class PlacedReader(Reader, Protocol):
    """A format of which some files name no session: where they lie does."""

    def session_in_path(self, path: str, /) -> str | None:
        """The external id of the session that a file of this path is of; ``None`` where the path does not say."""
        ...


@runtime_checkable
class Writer(Format, Protocol):
    """A format that sessions are exported to."""

    def write(
        self, session: SessionDraft, events: Events, losses: Losses, /, *, options: dict[str, Any]
    ) -> Iterator[bytes]:
        """The file in pieces; what it cannot carry is counted in ``losses``.

        ``options`` holds each of ``Spec.options`` under its name, checked, with the default of what was not said; what
        the format ``needs``; and ``uuid``, ``created_at``, ``generated_at``, ``product_version``, ``origin``,
        ``session_url``, ``replay_url``, ``archived``, ``document`` (SHA-256 of the original), ``signed``.
        Of what is neither redacted nor shared also ``read_from``, the original: ``{"name", "archive", "sha256"}``, the
        digest of the archive where it came in one, else ``archive`` is "".
        """
        ...


@runtime_checkable
class Verifier(Format, Protocol):
    """A format whose files may be signed. Its ``read`` yields ``Signature("uncheckable")`` where there is a signature;
    what ``verify`` returns takes its place.
    """

    def verify(self, source: BinaryIO, anchors: Sequence[Anchor], at: datetime, /) -> tuple[Signature, list[Finding]]:
        """The state of the signature at a time, with these trust anchors. Raises ``FormatError``."""
        ...


@runtime_checkable
class SigningWriter(Writer, Protocol):
    """A writer whose files can be signed."""

    def signs_with(self, signer: Signer, /) -> bool:
        """Whether a key of this kind signs this format."""
        ...

    def sign(self, content: bytes, signer: Signer, at: datetime, options: dict[str, Any], /) -> bytes:
        """The signed form of what ``write`` made."""
        ...


@runtime_checkable
class EncryptingWriter(SigningWriter, Protocol):
    """A writer whose signed files can be encrypted."""

    def encrypt(self, content: bytes, keys: Sequence[RSAPublicKey], options: dict[str, Any], /) -> bytes:
        """The form that only the owners of ``keys`` can read, made of what ``sign`` made."""
        ...


@runtime_checkable
class Unsealer(Format, Protocol):
    """A format whose files may be encrypted."""

    def unseal(self, source: BinaryIO, keys: Sequence[RSAPrivateKey], /) -> BinaryIO:
        """The document inside of one that is encrypted for one of the keys, else the stream itself.

        Raises ``FormatError``.
        """
        ...

"""The third of three steps of an import: one file of a known format becomes sessions, in the caller's transaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, BinaryIO
from uuid import UUID

import orjson
from django.db import transaction

from sessions_app.models import Event, Session
from sessions_app.prepared import Statement, fetch
from sessions_app.queries.log.file_changes import cwd_in, cwd_of
from sessions_app.services import notify
from sessions_app.services import sessions as session_services
from sessions_app.services.log import events, links, run_summaries, search_index
from sessions_app.services.log.events import Appended
from sessions_app.services.log.projections import stated_tools
from sessions_app.services.log.sanitise import identifier, storable, text
from vcon_app import registry
from vcon_app.drafts import Draft, EventDraft, Finding, FormatError, SessionDraft, Signature
from vcon_app.formats.common.head import DAMAGE, why_damaged
from vcon_app.formats.contract import LenientReader, PlacedReader, Verifier
from vcon_app.models import Import, ImportedSession

from ..documents import decryption
from ..rare_collections import rare_collections
from ..trust import anchors, coverage, signatures
from . import descent, senders
from .claims import Claims
from .findings import Findings
from .new_agents import NewAgents

WAS_ENCRYPTED = "sealed"
"""Key in the source record of a session: its file was encrypted, and its writer says that an export of it is not."""
NAMED_BY_ID = re.compile(r"(?:^|[/_])([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\.jsonl$")
"""A file whose name is that of its session, as Claude Code writes them."""
MADE_OF_CONTENT = re.compile(r"[a-z0-9-]+-[0-9a-f]{24}")
"""Ids that readers give to sessions that nothing in the file names (``lines.digest``)."""
SEARCHED = frozenset({"title", "title_is_prompt", "summary"})
"""Of a session as a whole."""
COMPLETED = (
    *sorted(SEARCHED), "user_id", "started_at", "ended_at", "phase", "tags", "metadata", "tools_invoked",
    "source_record", "parent_id",
)  # fmt: skip
"""What a file says of a session as a whole, beside its events."""


ORPHANS = Statement("""
SELECT id FROM sessions_app_session
WHERE parent_id IS NULL AND metadata ? 'parent_external_id' AND metadata -> 'parent_external_id' = %s::jsonb
  AND workspace_id = %s AND source_format = %s AND id <> %s
""")
"""Sessions whose parent was not here, in the words of the index ``session_orphans``."""


class Diverged(Exception):
    """The file tells sessions that are known in another way, or is signed: it is a version of its own of each.

    ``why`` is what to tell about it, where nobody would expect it.
    """

    def __init__(self, *sessions: Session, why: str = "") -> None:
        self.sessions = sessions
        self.why = why


@dataclass(frozen=True, slots=True)
class Added:
    """Events that a file added to a session: how many, and the first and last ``seq`` of them."""

    events: int = 0
    first_seq: int | None = None
    last_seq: int | None = None

    def with_more(self, appended: Appended) -> Added:
        """The session is locked until the end of the transaction, so that what one file adds is one range."""
        if not appended.accepted:
            return self
        return Added(self.events + appended.accepted, self.first_seq or appended.first_seq, appended.last_seq)


@dataclass(frozen=True, slots=True)
class FileResult:
    """What one file gave: what it added to each session, findings, and its signature as it was checked."""

    added: dict[Session, Added]
    findings: Findings
    checked: signatures.Checked


@dataclass(slots=True)
class _Attempt:
    """One reading of a file from its start; it is thrown away when a session turns out to be another version."""

    source: BinaryIO
    findings: Findings
    signature: Signature = field(default_factory=Signature)
    added: dict[Session, Added] = field(default_factory=dict)
    grown: list[Session] = field(default_factory=list)
    """Sessions that were known and got more."""
    made: set[Session] = field(default_factory=set)
    """Sessions that are new."""

    def note(self, draft: Draft) -> None:
        """Keep what is said of the file as a whole; events have no place here."""
        if isinstance(draft, Signature):
            self.signature = draft
        elif isinstance(draft, Finding):
            self.findings.note(draft)


class FileImporter:
    """Reads one file, a source document or a member of one, into sessions."""

    def __init__(
        self,
        imported: Import,
        format_name: str,
        keyring: Callable[[], anchors.Keyring],
        claims: Claims,
        new_agents: NewAgents,
        on_progress: Callable[[int], None],
        place: str = "",
        *,
        path: str = "",
        in_signed_bundle: bool = False,
        sealed: Collection[Session] = (),
        gained: Mapping[Session, Added] = MappingProxyType({}),
    ) -> None:
        """``on_progress`` is given the number of bytes read; ``place`` says where in the document the file is, ``path``
        where it lay as far as that is known.

        ``sealed`` are sessions that signed files of the same document made: what comes from one takes nothing more.
        ``gained`` are those that files of the same document told, and what they added: what comes with them is theirs.
        """
        self.imported = imported
        self.workspace_id = imported.workspace_id
        self.format = registry.reader(format_name)
        self.keyring = keyring
        self.claims = claims
        self.new_agents = new_agents
        self.on_progress = on_progress
        self.place = place
        self.path = path
        self.in_signed_bundle = in_signed_bundle
        self.sealed = sealed
        self.gained = gained
        self.was_encrypted = False
        self.diverged: dict[Session, str] = {}
        """Sessions of the same external id that this file does not add to, it is another version of them; and why,
        where that is to be told."""

    def run(self, source: BinaryIO) -> FileResult:
        """Append what the file holds, in a transaction. Raises ``FormatError`` where it cannot, ``BeginAgain``."""
        limit = self.format.SPEC.max_bytes
        if limit and source.seek(0, 2) > limit:
            raise FormatError(f"a {self.format.SPEC.title} file of more than {limit / 1e6:,.0f} MB is not read")
        source.seek(0)
        readable = decryption.decrypted(self.format, source)
        self.was_encrypted = readable is not source
        attempt = self._read_versions(readable)
        checked = signatures.check(self.format, readable, attempt.signature, self.keyring)
        return FileResult(attempt.added, attempt.findings, checked)

    def _read_versions(self, source: BinaryIO) -> _Attempt:
        """Read until no session diverges: each round knows one more that needs a session of its own."""
        while True:
            source.seek(0)
            attempt = _Attempt(source, Findings(self.place))
            try:
                with transaction.atomic(), rare_collections():  # takes back what was appended before it diverged
                    self._read(attempt)
                return attempt
            except Diverged as diverged:
                self.diverged |= dict.fromkeys(diverged.sessions, diverged.why)

    def _read(self, attempt: _Attempt) -> None:
        # what somebody asked to be read as this format is not refused for saying that it is another
        asked = self.imported.format_asked == self.format.SPEC.name
        read = self.format.read_anyway if asked and isinstance(self.format, LenientReader) else self.format.read
        try:
            drafts = self._placed(read(attempt.source))
            draft = _first_session(attempt, drafts)
            while draft is not None:
                draft = self._append_session(attempt, draft, drafts)
        except DAMAGE as error:
            raise FormatError(why_damaged(error)) from None
        if attempt.grown and self._is_signed(attempt):  # readers may come to the signature after the events
            raise Diverged(*attempt.grown)
        if not attempt.added:
            raise FormatError(f"read as {self.format.SPEC.title} it holds no session")

    def _placed(self, drafts: Iterable[Draft]) -> Iterator[Draft]:
        """The drafts; where the file names no session, under the one that its path names."""
        named = self.format.session_in_path(self.path) if self.path and isinstance(self.format, PlacedReader) else None
        if not named:
            return self._named_by_file(drafts)
        session = self._session_beside(named) or named
        parent = session.rpartition("/")[0] if self.format.SPEC.children == "beside" else ""
        return (
            replace(draft, external_id=session, parent_external_id=draft.parent_external_id or parent or None)
            if isinstance(draft, SessionDraft) else draft
            for draft in drafts
        )  # fmt: skip

    def _named_by_file(self, drafts: Iterable[Draft]) -> Iterator[Draft]:
        """The drafts; a file of lines that names no session yet, and whose own name is an id, is the session of that
        id: its id made of a content that still grows would be another one with the next lines."""
        found = NAMED_BY_ID.search(self.path) if self.format.SPEC.grows == "lines" else None
        for draft in drafts:
            if found and isinstance(draft, SessionDraft) and MADE_OF_CONTENT.fullmatch(draft.external_id):
                yield replace(draft, external_id=found[1])
            else:
                yield draft

    def _session_beside(self, name: str) -> str | None:
        """The session of the transcript ``NAME.jsonl`` that came from the same folder, where that has another id."""
        links = ImportedSession.objects.filter(
            imported__workspace=self.workspace_id,
            imported__folder=self.imported.folder,
            imported__filename=f"{name.rpartition('/')[2]}.jsonl",
            session__source_format=self.format.SPEC.name,
        )
        return links.order_by("-pk").values_list("session__external_id", flat=True).first()

    def _append_session(self, attempt: _Attempt, draft: SessionDraft, drafts: Iterator[Draft]) -> SessionDraft | None:
        """Append one session's events; the draft of the session that follows in the file, if any."""
        session, known = self._session_for(attempt, draft)
        own = _SessionDrafts(attempt, draft, drafts, self.place)
        stream: Iterator[EventDraft] = own
        is_grown = known and session not in attempt.added
        is_sealed = is_grown and self._is_sealed(session)
        keeps_apart = is_sealed or self._is_signed(attempt)
        is_others = is_grown and not self._brings(attempt, session)
        is_rewritten = self.format.SPEC.grows == "document"
        if is_grown and (keeps_apart or is_others or is_rewritten):
            why = senders.OTHER_SENDER if is_others and not is_rewritten else ""
            stream = self._new_events(session, own, keeps_apart=keeps_apart, why=why)
        appended = events.append(
            session.id,
            stream,
            origin=links.read_by(self.imported.requested_by),
            document=self.imported.document.sha256,
            on_progress=lambda _: self.on_progress(attempt.source.tell()),
        )
        if is_grown and appended.accepted:
            if not appended.duplicates and not self._goes_on_from_nothing(session):
                raise Diverged(session, why=senders.NOTHING_SHARED)
            attempt.grown.append(session)
        has_more = self.format.SPEC.grows == "lines" and not is_sealed and not is_others
        if appended.accepted or not known or has_more:  # an older version has nothing to add
            self._complete(attempt, session, own.updates)
        attempt.added[session] = attempt.added.get(session, Added()).with_more(appended)
        return own.following

    def _goes_on_from_nothing(self, session: Session) -> bool:
        """Whether a file that repeats no event of a session may be a part of it: a log that was turned over, a page of
        an API."""
        together = self.format.SPEC.spread or session in self.gained
        return together or not senders.lies_elsewhere(self.imported, session)

    def _session_for(self, attempt: _Attempt, draft: SessionDraft) -> tuple[Session, bool]:
        """The session of this external id and whether it was there before; locked against a second import."""
        external_id, parent_id = identifier(draft.external_id), identifier(draft.parent_external_id or "")
        if parent_id and parent_id != external_id:  # before its child, as in an archive that holds both
            self.claims.hold(self.format.SPEC.name, parent_id, shared=True)
        self.claims.hold(self.format.SPEC.name, external_id)
        found = session_services.find_by_external_id(self.workspace_id, external_id, self.format.SPEC.name)
        known = [session for session in found if session.origin == Session.Origin.IMPORT]
        for session in known:
            if senders.is_of_other_agent(self.imported, session):
                self.diverged[session] = senders.OTHER_AGENT
            if session not in self.diverged:
                return session, True
        if why := next((self.diverged[session] for session in known if self.diverged[session]), ""):
            attempt.findings.note(_kept_apart(external_id, why))
        created = self._create(attempt, draft, external_id)
        if known := known or self._version_before(draft):
            created.metadata["version_of"] = str(known[-1].id)
            created.save(update_fields=["metadata"])
        return created, False

    def _version_before(self, draft: SessionDraft) -> list[Session]:
        """The session of the vCon that this one says it redacts or amends (core s4.1.8), where that is its only id."""
        vcon = draft.metadata.get("vcon")
        links = [vcon.get(name) for name in ("redacted", "amended")] if isinstance(vcon, dict) else []
        for link in links:
            if isinstance(link, dict) and isinstance(link.get("uuid"), str):
                return session_services.find_by_external_id(
                    self.workspace_id, identifier(link["uuid"]), self.format.SPEC.name
                )
        return []

    def _create(self, attempt: _Attempt, draft: SessionDraft, external_id: str) -> Session:
        agent = self.imported.agent or self.new_agents.named(draft.agent_name or self.format.SPEC.title)
        session = Session.objects.create(
            workspace_id=self.workspace_id,
            agent=agent,
            origin=Session.Origin.IMPORT,
            phase=Session.Phase.COMPLETED,
            external_id=external_id,
            started_at=draft.started_at,  # search rows say it, and are written again when another time is known
            metadata=_merged({}, draft.metadata),  # the rules that read events as they come ask where it ran
            source_format=self.format.SPEC.name,
            response_scope=self.format.SPEC.name if self.format.SPEC.global_response_ids else "",
        )
        attempt.made.add(session)
        values = [orjson.dumps(external_id).decode(), self.workspace_id, self.format.SPEC.name, session.pk]
        if orphans := [Session(id=orphan) for (orphan,) in fetch(ORPHANS, values)]:
            brought_by = senders.senders_of([orphan.pk for orphan in orphans])
            ours = [
                orphan.pk for orphan in orphans
                if self._told_here(attempt, orphan) or self.imported.requester in brought_by[orphan.pk]
            ]  # fmt: skip
            Session.objects.filter(pk__in=ours).update(parent=session)
        return session

    def _is_signed(self, attempt: _Attempt) -> bool:
        """Whether a signature counts for the file, however much it is worth, as far as is known."""
        return self.in_signed_bundle or coverage.is_signed(attempt.signature.state)

    def _is_sealed(self, session: Session) -> bool:
        """Whether a session was read from a signed file: it stays as it was signed."""
        return session in self.sealed or coverage.was_signed(session.pk)

    def _new_events(
        self, session: Session, drafts: Iterator[EventDraft], *, keeps_apart: bool, why: str
    ) -> Iterator[EventDraft]:
        """The events of a rewritten file, or of one that somebody else brings, behind those that are known, if these
        are unchanged.

        Raises ``Diverged`` at the first event that differs from what the earlier file had in its place, at one more
        where either is signed (``keeps_apart``: a signature says nothing about what another file tells), and, in
        formats that can be signed, when other bytes tell the very same events: a signature or a redaction may be all
        that is new (core s4.1.2: each version of a vCon is one of its own).
        """
        for key in _keys_from_files(session):
            event = next(drafts, None)
            if event is None:
                return
            if events.key_of(event.key) != key:
                raise Diverged(session, why=why)
        following = next(drafts, None)
        if following is not None:
            if keeps_apart:
                raise Diverged(session)
            yield following
        elif self._may_carry_signature():
            raise Diverged(session)
        yield from drafts

    def _may_carry_signature(self) -> bool:
        """Whether the same events in other bytes are another version.

        Not in an archive: each file of a collection holds again what the one before it held.
        """
        return isinstance(self.format, Verifier) and not self.place

    def _complete(self, attempt: _Attempt, session: Session, drafts: list[SessionDraft]) -> None:
        """Fill in what the drafts say of the session as a whole; a later draft wins, an empty field never does."""
        session.refresh_from_db(fields=[*COMPLETED, "last_seq"])  # append has written times and more meanwhile
        before = {name: getattr(session, name) for name in COMPLETED}
        for draft in drafts:
            for name in ("title", "summary", "user_id"):
                if value := getattr(draft, name):
                    setattr(session, name, text(value))
            session.title_is_prompt &= not draft.title
            if draft.started_at:
                session.started_at = min(filter(None, (session.started_at, draft.started_at)))
            if draft.ended_at:
                session.ended_at = max(filter(None, (session.ended_at, draft.ended_at)))
            if draft.phase:
                session.phase = draft.phase
            if draft.tags:
                session.tags = sorted({*session.tags, *map(identifier, draft.tags)})
            session.metadata = _merged(session.metadata, draft.metadata)
            session.tools_invoked = list(dict.fromkeys([*session.tools_invoked, *stated_tools(session.metadata)]))
            session.source_record = _merged(session.source_record, draft.record)
            if self.was_encrypted:
                session.source_record.setdefault(self.format.SPEC.name, {})[WAS_ENCRYPTED] = True
            self._link_parent(attempt, session, draft)
        changed = [name for name, value in before.items() if getattr(session, name) != value]
        if changed:
            session.save(update_fields=[*changed, "updated_at"])
        if cwd_of(session) != cwd_in(before["metadata"]):
            run_summaries.read_anew(session.id)
        if SEARCHED.intersection(changed):
            search_index.index_title(session.id)
        notify.session_changed(session.id, session.last_seq)

    def _link_parent(self, attempt: _Attempt, session: Session, draft: SessionDraft) -> None:
        if not draft.parent_external_id or session.parent_id is not None:
            return
        parent_id = session.metadata["parent_external_id"] = identifier(draft.parent_external_id)
        named = session_services.find_by_external_id(self.workspace_id, parent_id, self.format.SPEC.name)
        found = [parent for parent in named if parent.pk != session.pk]
        is_ours = self._brings(attempt, session)
        parent = next((parent for parent in found if is_ours and self._brings(attempt, parent)), None)
        if parent is not None and descent.is_below(parent.pk, session.pk):
            attempt.findings.note(descent.in_a_circle(parent_id))
        elif found and parent is None:
            attempt.findings.note(senders.not_below(parent_id))
        else:
            session.parent = parent

    def _brings(self, attempt: _Attempt, session: Session) -> bool:
        """Whether events of a session came from whoever brings this file, or come with it."""
        return self._told_here(attempt, session) or senders.brought(self.imported, session)

    def _told_here(self, attempt: _Attempt, session: Session) -> bool:
        """Whether this file made the session, or one of the same document added to it."""
        return session in attempt.made or session in self.gained and self.gained[session].events > 0


class _SessionDrafts(Iterator[EventDraft]):
    """The events of one session out of the stream of drafts; stops where the next session begins."""

    def __init__(self, attempt: _Attempt, first: SessionDraft, drafts: Iterator[Draft], place: str) -> None:
        self.updates = [first]
        self.following: SessionDraft | None = None
        self._attempt = attempt
        self._drafts = drafts
        self._place = place
        self._external_id = first.external_id

    def __next__(self) -> EventDraft:
        if self.following is not None:
            raise StopIteration
        for draft in self._drafts:
            if isinstance(draft, EventDraft):
                # in an archive: the place of the file in the document before the place in the file
                return replace(draft, pointer=f"{self._place}{draft.pointer}") if self._place else draft
            if isinstance(draft, SessionDraft):
                if draft.external_id != self._external_id:
                    self.following = draft
                    break
                self.updates.append(draft)
            else:
                self._attempt.note(draft)
        raise StopIteration


def _kept_apart(external_id: str, why: str) -> Finding:
    return Finding(
        "import.kept-apart", "warning", "",
        f"A session with the id {external_id[:100]!r} is here already, and nothing was added to it, for {why}. "
        "What the file tells is a session of its own.",
    )  # fmt: skip


def _first_session(attempt: _Attempt, drafts: Iterator[Draft]) -> SessionDraft | None:
    for draft in drafts:
        if isinstance(draft, SessionDraft):
            return draft
        attempt.note(draft)
    return None


def _keys_from_files(session: Session) -> Iterator[UUID]:
    """Keys of the events that came from files, in order; in pages, for a cursor would not outlive a rollback."""
    after = 0
    rows = Event.objects.filter(session=session, document__isnull=False).order_by("seq").values_list("seq", "key")
    while page := list(rows.filter(seq__gt=after)[: events.BATCH]):
        yield from (key for _, key in page)
        after = page[-1][0]


def _merged(known: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Both, the newer value winning, in a shape that jsonb can hold."""
    return storable({**known, **new})

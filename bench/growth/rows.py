"""What hangs on the copies and is no row of their log: imports with documents, approvals with votes, audit entries."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import TypeVar

from django.db import connection
from django.db.models import Model

from sessions_app.ids import uuid7
from sessions_app.models import Approval, AuditEntry, Session, Vote
from sessions_app.row_chain import GENESIS
from sessions_app.services import audit

from .plan import Copy

Row = TypeVar("Row", bound=Model)
DOCUMENTS = """
INSERT INTO vcon_app_sourcedocument (id, workspace_id, sha256, size, created_at)
SELECT p.document, p.workspace, p.sha256, d.size, p.created
FROM growth_plan p JOIN vcon_app_importedsession i ON i.session_id = p.template
JOIN vcon_app_sourcedocument d ON d.id = i.document_id ORDER BY p.n
"""
IMPORTED = """
INSERT INTO vcon_app_importedsession
    (imported_id, session_id, document_id, member, events, first_seq, last_seq, signature)
SELECT p.import, p.copy, p.document, i.member, i.events, i.first_seq, i.last_seq, i.signature
FROM growth_plan p JOIN vcon_app_importedsession i ON i.session_id = p.template ORDER BY p.n
"""
OWN = {
    "id": "p.import", "workspace_id": "p.workspace", "document_id": "p.document", "agent_id": "p.agent",
    "filename": "p.word || '.jsonl'",
}  # fmt: skip
ACTIONS = ("session.created", "session.exported", "approval.requested", "approval.decided", "session.archived")


def copy_imports() -> None:
    """The import of each copy that was imported, with its document, whose bytes are not there."""
    with connection.cursor() as cursor:
        cursor.execute(DOCUMENTS)
        cursor.execute(
            "SELECT attname, atttypid::regtype::text FROM pg_attribute WHERE attrelid = 'vcon_app_import'::regclass"
            " AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum"
        )
        columns = cursor.fetchall()
        shifted = {name for name, kind in columns if kind == "timestamp with time zone"}
        values = [
            OWN.get(name) or (f"r.{name} + (p.created - t.created_at)" if name in shifted else f"r.{name}")
            for name, _ in columns
        ]
        cursor.execute(
            f"INSERT INTO vcon_app_import ({', '.join(name for name, _ in columns)}) SELECT {', '.join(values)}"
            " FROM growth_plan p JOIN sessions_app_session t ON t.id = p.template"
            " JOIN vcon_app_importedsession i ON i.session_id = p.template"
            " JOIN vcon_app_import r ON r.id = i.imported_id ORDER BY p.n"
        )
        cursor.execute(IMPORTED)


def copy_approvals(planned: Sequence[Copy]) -> None:
    """The approvals of each copy with their votes, each bound to a digest of its own."""
    of: dict[object, list[tuple[Approval, list[Vote]]]] = {}
    for approval in Approval.objects.filter(session__in={copy.template for copy in planned}).order_by("id"):
        of.setdefault(approval.session_id, []).append((approval, list(approval.votes.order_by("id"))))
    created = dict(Session.objects.filter(pk__in=of).values_list("pk", "created_at"))
    pairs = [
        made
        for copy in planned
        for approval, votes in of.get(copy.template, ())
        for made in _approval(copy, approval, votes, copy.created - created[copy.template])
    ]
    _store(Approval, (row for row in pairs if isinstance(row, Approval)))
    _store(Vote, (row for row in pairs if isinstance(row, Vote)))


def _approval(copy: Copy, one: Approval, votes: list[Vote], later: timedelta) -> Iterator[Approval | Vote]:
    kept = _fields(one) | _moved(one, later)
    kept |= {"id": uuid7(), "session_id": copy.copy, "workspace_id": copy.workspace}
    if one.status != Approval.Status.PENDING and one.delivery == "queued":
        kept["delivery"] = "nobody"  # as the desk says of a decision that nobody has fetched for a day
    made = Approval(**kept)
    made.digest = made.digest_of_question()
    yield made
    for vote in votes:
        own = {"id": uuid7(), "approval_id": made.pk, "member_id": copy.member, "digest": made.digest}
        yield Vote(**_fields(vote) | _moved(vote, later) | own)


def _fields(row: Model) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def _moved(row: Model, later: timedelta) -> dict[str, object]:
    """Its times, as much later as the copy is."""
    times = [field.attname for field in row._meta.concrete_fields if field.get_internal_type() == "DateTimeField"]
    return {name: getattr(row, name) + later for name in times if getattr(row, name) is not None}


def write_audit(planned: Sequence[Copy]) -> None:
    """An entry for each copy, chained as the product does; in each workspace in order of time."""
    dice = random.Random("audit")
    for workspace in dict.fromkeys(copy.workspace for copy in planned):
        last = AuditEntry.objects.filter(workspace_id=workspace).order_by("-seq").first()
        rows = (copy for copy in planned if copy.workspace == workspace)
        _store(AuditEntry, _entries(dice, rows, last.seq if last else 0, last.hash if last else GENESIS))


def _entries(dice: random.Random, rows: Iterable[Copy], last: int, before: str) -> Iterator[AuditEntry]:
    for seq, copy in enumerate(rows, last + 1):
        entry = AuditEntry(
            workspace_id=copy.workspace, seq=seq, at=copy.created, actor_kind="member", actor_id=str(copy.member),
            actor_name="Rosa", action=dice.choice(ACTIONS), subject_kind="session", subject_id=str(copy.copy),
            details={"word": copy.word}, previous_hash=before,
        )  # fmt: skip
        before = entry.hash = audit.hash_of(entry)
        yield entry


def _store(model: type[Row], rows: Iterable[Row]) -> None:
    source = iter(rows)
    while batch := list(islice(source, 2_000)):
        model._default_manager.bulk_create(batch)

"""A redacted vCon while it is written: what the writer is given, and what is looked for in what it wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import orjson
from django.db import transaction

from sessions_app.services import audit
from sessions_app.services.log.sanitise import storable
from vcon_app.drafts import Losses
from vcon_app.formats.contract import Writer
from vcon_app.formats.vcon import redacting
from vcon_app.formats.vcon.redacting import Leak, Prepared, Where, find_leaks, prepare
from vcon_app.models import Export, Redaction

from ...queries.log_reader import LogEvents, session_draft
from .redaction_rules import Rule, selection_of

OPTION = "redaction"
"""In the options of an export: the id of its redaction."""
LISTED_LEAKS = 200
"""Places that are kept one by one; of all of them there is the number."""
_MEMBER = re.compile(r"/analysis/\d+/body/session/entries/\d+(?:/children/\d+)*/(x-tool/\w+|[^/]+)")
MEMBERS = {
    "input": redacting.ARGUMENTS, "x-tool/arguments": redacting.ARGUMENTS, "output": redacting.RESULT,
    "x-tool/result": redacting.RESULT, "x-result": redacting.RESULT,
}  # fmt: skip
"""Member of a trace entry -> what to remove so that it goes; ``text`` for any other."""


def begin(export: Export) -> None:
    """The draft becomes this file; whatever else it is called, its name says nothing of the session."""
    export.filename = f"redacted-{str(export.id)[-12:]}.vcon"
    export.save(update_fields=["filename"])
    Redaction.objects.filter(pk=export.options[OPTION]).update(export=export)


def redacted_chunks(export: Export, writer: Writer, losses: Losses, options: dict[str, Any]) -> Iterator[bytes]:
    """The file without what is removed, in one piece: all of it is searched for what was removed.

    Written again it is the same: events that came since are not in it.
    """
    redaction = Redaction.objects.get(pk=export.options[OPTION])
    session, last = export.session, export.identity["last_seq"]
    session.last_seq = last
    selection = selection_of(session.pk, redaction.type, redaction.rules, last)
    prepared = prepare(session_draft(session), LogEvents(session), selection)
    options = {**options, OPTION: {"type": redaction.type}}
    content = b"".join(writer.write(prepared.session, prepared.events, losses, options=options))
    for part, count in prepared.counts.items():
        losses.lose(f"removed: {part}", f"redaction: {redaction.type}", count)
    _finish(export, redaction, prepared, content, options)
    return iter([content])


def _finish(export: Export, redaction: Redaction, prepared: Prepared, content: bytes, options: dict[str, Any]) -> None:
    leaks = find_leaks(content, prepared.removed)
    is_new = export.finished_at is None
    redaction.counts = prepared.counts
    redaction.leak_count, redaction.unchecked = len(leaks), prepared.removed.unchecked
    described = _described(leaks[:LISTED_LEAKS], redaction.rules, prepared, content, options) if leaks else []
    redaction.leaks = storable(described)
    with transaction.atomic():
        redaction.save(update_fields=["counts", "leak_count", "unchecked", "leaks"])
        if is_new:  # a file that is written again after a day is no new redaction
            audit.record(
                redaction.workspace_id,
                audit.Actor(redaction.actor_kind, redaction.actor_id, redaction.actor_name),
                "session.redacted",
                subject=("session", redaction.session_id),
                redaction=str(redaction.pk),
                removed=prepared.counts,
                still_there=len(leaks),
            )


def _described(
    leaks: list[Leak], rules: list[Rule], prepared: Prepared, content: bytes, options: dict[str, Any]
) -> list[dict[str, Any]]:
    """Each place with the event that stands there, and the rule beside ``rules`` that would remove it, if one does."""
    document = orjson.loads(content)
    where = Where(prepared.session, prepared.events, options, document)
    described = []
    for leak in leaks:
        seq = where.event(leak.pointer)
        rule = _rule(leak, seq, where, document)
        if rule in rules:  # by which the file was made: that place stands all the same
            rule = {"what": redacting.EVENT, "seq": seq} if seq is not None else None
        described.append({**asdict(leak), "seq": seq, "rule": None if rule in rules else rule})
    return described


def _rule(leak: Leak, seq: int | None, where: Where, document: dict[str, Any]) -> Rule | None:
    """What removes a place that still says it. None: an agent's name, which no rule removes."""
    parts = leak.pointer.split("/")[1:]
    if seq is not None:
        member = _MEMBER.match(leak.pointer)
        return {"what": MEMBERS.get(member[1], redacting.TEXT) if member else redacting.TEXT, "seq": seq}
    if parts[0] in ("attachments", "analysis") and (index := where.index_in_file(parts[0], int(parts[1]))) is not None:
        return {"what": "attachment" if parts[0] == "attachments" else "analysis", "index": index}
    if parts[0] == "subject":
        return {"what": redacting.TITLE}
    if parts[0] == "parties":
        if "environment" in parts:
            return {"what": redacting.ENVIRONMENT}
        is_agent = document["parties"][int(parts[1])].get("role") == "agent"
        return None if is_agent else {"what": redacting.PEOPLE}
    for name in (redacting.SUMMARY, redacting.ENVIRONMENT):
        if name in parts:
            return {"what": name}
    return {"what": redacting.PEOPLE if "user_id" in parts else redacting.METADATA}

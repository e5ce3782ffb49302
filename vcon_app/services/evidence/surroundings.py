"""What else belongs to the evidence of a period: who could oversee, which rules were in force, stops, incidents."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any
from uuid import UUID

import rfc8785
from django.db.models import Count, Q

from sessions_app import canonical
from sessions_app.models import (
    AgentVersion,
    Approval,
    AuditEntry,
    Checkpoint,
    CheckpointHead,
    EscalationStep,
    Grant,
    Member,
    PolicyVersion,
    Session,
    Stop,
)  # fmt: skip
from vcon_app.signing import merkle
from vcon_app.signing.checkpoint import Head

from ..checkpoints import publishing
from .period import Period

PAGE = 500
OF_MEMBERS = ("member.added", "member.role_changed", "member.removed")
OF_OVERSIGHT = ("member.", "api_key.", "policy.", "stop.", "grant.", "trust.", "agent.")
"""Actions that change who oversees, or by what rules."""


def members(workspace_id: UUID, period: Period) -> dict[str, Any]:
    """Who was a member with which role when the period began and when it ended, as the audit log tells it."""
    roles: dict[str, str] = {}
    at_start: dict[str, str] | None = None
    found = AuditEntry.objects.filter(workspace_id=workspace_id, action__in=OF_MEMBERS, at__lt=period.end)
    for entry in found.order_by("seq").iterator(PAGE):
        if at_start is None and entry.at >= period.start:
            at_start = dict(roles)
        if entry.action == "member.removed":
            roles.pop(entry.subject_id, None)
        else:
            roles[entry.subject_id] = str(entry.details.get("role", ""))
    names = {
        str(member.pk): str(member)
        for member in Member.objects.filter(workspace_id=workspace_id, pk__in=list(roles)).select_related("user")
    }
    at_start = roles if at_start is None else at_start

    def listed(among: dict[str, str]) -> list[dict[str, Any]]:
        return [{"member": id_, "name": names.get(id_), "role": role} for id_, role in sorted(among.items())]

    return {"at_start": listed(at_start), "at_end": listed(roles)}


def is_change_of_oversight(entry: AuditEntry) -> bool:
    return entry.action.startswith(OF_OVERSIGHT)


def change(entry: AuditEntry) -> dict[str, Any]:
    """An audit entry about who oversees, or by what rules, as it is shown beside others."""
    return {
        "audit": entry.seq, "at": _utc(entry.at), "by": entry.actor_name, "action": entry.action,
        "subject": entry.subject_id, "details": entry.details,
    }  # fmt: skip


def policies(workspace_id: UUID, period: Period) -> Iterator[dict[str, Any]]:
    """Every version that was written before the end of the period, with the times in which it was in force."""
    times: dict[str, list[dict[str, Any]]] = {}
    current: dict[str, Any] | None = None
    entries = AuditEntry.objects.filter(workspace_id=workspace_id, at__lt=period.end, action__in=("policy.published",))
    for entry in entries.order_by("seq").iterator(PAGE):
        if current is not None:
            current["to"] = _utc(entry.at)
        current = {"from": _utc(entry.at), "to": None, "by": entry.actor_name, "audit": entry.seq}
        times.setdefault(entry.subject_id, []).append(current)
    for version in PolicyVersion.objects.filter(workspace_id=workspace_id, made_at__lt=period.end).order_by("number"):
        yield {
            "number": version.number, "id": str(version.pk), "digest": version.digest, "note": version.note,
            "made_by": version.made_by, "made_at": _utc(version.made_at), "in_force": times.get(str(version.pk), []),
            "rules": version.rules, "rules_text": rfc8785.dumps(version.rules).decode(),
        }  # fmt: skip


def agent_rules(workspace_id: UUID, period: Period, agent: str) -> Iterator[dict[str, Any]]:
    """The policies in agents' definitions that were in force at some time of the period, where they changed."""
    found = AgentVersion.objects.filter(_of_agent(agent, "agent__"), agent__workspace_id=workspace_id)
    columns = ("agent_id", "agent__name", "version", "changed_at", "changed_by", "definition__policy")
    rows = found.filter(changed_at__lt=period.end).order_by("agent_id", "version").values_list(*columns)
    for _, versions in groupby(rows.iterator(chunk_size=PAGE), key=itemgetter(0)):
        changed = [next(same) for _, same in groupby(versions, key=lambda row: canonical.digest(row[-1] or {}))]
        for row, after in zip_longest(changed, changed[1:]):
            if after is None or after[3] >= period.start:
                yield _agent_rules_row(row, after[3] if after else None)


def _agent_rules_row(row: tuple[Any, ...], until: datetime | None) -> dict[str, Any]:
    agent_id, name, version, since, by, policy = row
    return {
        "agent": name, "agent_id": str(agent_id), "version": version, "from": _utc(since),
        "to": _utc(until) if until else None, "by": by, "digest": canonical.digest(policy or {}),
        "policy": policy or {}, "policy_text": canonical.canonical(policy or {}).decode(),
    }  # fmt: skip


def grants(workspace_id: UUID, period: Period, agent: str) -> Iterator[dict[str, Any]]:
    """Grants that held at some time of the period, with how often they were used in it."""
    over = Q(ended_at__lt=period.start) | Q(expires_at__lt=period.start)
    found = Grant.objects.filter(_of_agent(agent, "agent__"), workspace_id=workspace_id, made_at__lt=period.end)
    in_period = Q(let_through__decided_at__gte=period.start, let_through__decided_at__lt=period.end)
    found = found.exclude(over).annotate(used=Count("let_through", filter=in_period))
    for grant in found.select_related("agent").order_by("made_at", "pk").iterator(PAGE):
        yield {
            "id": str(grant.pk), "agent": grant.agent.name, "agent_version": grant.agent_version,
            "session": str(grant.session_id) if grant.session_id else None, "tool": grant.tool_name,
            "server": grant.tool_server, "fingerprint": grant.tool_fingerprint or None, "arguments": grant.arguments,
            "made_by": grant.made_by, "made_at": _utc(grant.made_at), "reason": grant.reason,
            "made_of": str(grant.made_of) if grant.made_of else None, "expires_at": _utc(grant.expires_at),
            "ended_at": _utc(grant.ended_at) if grant.ended_at else None, "ended_by": grant.ended_by or None,
            "end_reason": grant.end_reason, "uses": grant.uses, "uses_in_period": grant.used,
        }  # fmt: skip


def _of_agent(agent: str, path: str = "") -> Q:
    """Rows of one agent (slug or name), or with "" of all."""
    return Q(**{f"{path}slug": agent}) | Q(**{f"{path}name": agent}) if agent else Q()


def stops(workspace_id: UUID, period: Period, agent: str) -> Iterator[dict[str, Any]]:
    """Stops that were in force at some time of the period."""
    over = Q(lifted_at__lt=period.start) | Q(lifted_at=None, until__lt=period.start)
    found = Stop.objects.filter(workspace_id=workspace_id, made_at__lt=period.end).exclude(over)
    if agent:
        found = found.filter(Q(agent=None) | Q(agent__slug=agent) | Q(agent__name=agent))
    for stop in found.select_related("agent").order_by("made_at").iterator(PAGE):
        yield {
            "id": str(stop.pk), "agent": stop.agent.name if stop.agent else None, "reason": stop.reason,
            "made_by": stop.made_by, "made_at": _utc(stop.made_at), "until": _utc(stop.until) if stop.until else None,
            "lifted_at": _utc(stop.lifted_at) if stop.lifted_at else None, "lifted_by": stop.lifted_by or None,
            "lift_reason": stop.lift_reason,
            "carried_out_at": _utc(stop.carried_out_at) if stop.carried_out_at else None,
        }  # fmt: skip


def incident_of(approval: Approval, seq: int) -> dict[str, Any] | None:
    """What went wrong with a decision: nobody made it in time, or it did not arrive, or what it allowed failed."""
    what = ""
    if approval.status == Approval.Status.EXPIRED:
        what = "expired"
    elif approval.delivery in ("failed", "stale", "uncertain", "elsewhere"):
        what = f"delivery {approval.delivery}"
    elif approval.execution in ("errored", "refused"):
        what = f"execution {approval.execution}"
    if not what or approval.planted:
        return None
    return {
        "what": what, "approval": str(approval.pk), "session": str(approval.session_id), "tool": approval.tool_name,
        "at": _utc(approval.decided_at or approval.requested_at), "detail": approval.delivery_error, "audit": seq,
    }  # fmt: skip


def other_incidents(workspace_id: UUID, period: Period, agent: str) -> Iterator[dict[str, Any]]:
    """Questions of the period that nobody has answered, and sessions that ended with errors."""
    ours = _of_agent(agent, "session__agent__")
    waiting = Approval.objects.filter(ours, workspace_id=workspace_id, status="pending", recorded=False, planted=False)
    for one in (
        waiting.filter(requested_at__gte=period.start, requested_at__lt=period.end).order_by("pk").iterator(PAGE)
    ):
        yield {
            "what": "not decided yet", "approval": str(one.pk), "session": str(one.session_id), "tool": one.tool_name,
            "at": _utc(one.requested_at), "detail": "", "audit": None,
        }  # fmt: skip
    of_agent = _of_agent(agent, "approval__session__agent__")
    nobody = EscalationStep.objects.filter(
        of_agent, approval__workspace_id=workspace_id, approval__planted=False, told=[]
    )
    for step in (
        nobody.filter(fired_at__gte=period.start, fired_at__lt=period.end).select_related("approval").order_by("pk")
    ):
        yield {
            "what": "escalated to nobody", "approval": str(step.approval_id), "session": str(step.approval.session_id),
            "tool": step.approval.tool_name, "at": _utc(step.due_at), "detail": ", ".join(map(str, step.targets)),
            "audit": None,
        }  # fmt: skip
    mine = _of_agent(agent, "agent__")
    broken = Session.objects.filter(mine, workspace_id=workspace_id).filter(
        Q(error_count__gt=0) | Q(phase__in=["crashed", "timed_out"]),
        created_at__gte=period.start, created_at__lt=period.end,
    )  # fmt: skip
    for session in broken.only("pk", "phase", "error_count", "created_at").order_by("pk").iterator(PAGE):
        yield {
            "what": "errors in a session", "approval": None, "session": str(session.pk), "tool": None,
            "at": _utc(session.created_at), "detail": f"phase {session.phase}, {session.error_count} errors",
            "audit": None,
        }  # fmt: skip


def checkpoints(workspace_id: UUID, between: tuple[int, int] | None) -> Iterator[dict[str, Any]]:
    """Checkpoints that knew the audit log in this part of it, up to the first that knew all of it.

    The last of each day and the very last prove it: a path from the log's leaf to the signed root.
    """
    if between is None:
        return
    heads = CheckpointHead.objects.filter(kind="audit", chain_id=workspace_id, seq__gte=between[0])
    last = heads.filter(seq__gte=between[1]).order_by("checkpoint_id").values_list("checkpoint_id", flat=True).first()
    if last is not None:
        heads = heads.filter(checkpoint_id__lte=last)
    waiting: Checkpoint | None = None
    numbers = heads.order_by("checkpoint_id").values_list("checkpoint_id", flat=True)
    for row in Checkpoint.objects.filter(pk__in=numbers).select_related("publication").order_by("pk").iterator(PAGE):
        if waiting is not None:
            yield _checkpoint(waiting, workspace_id, proves=waiting.at.date() != row.at.date())
        waiting = row
    if waiting is not None:
        yield _checkpoint(waiting, workspace_id, proves=True)


def _checkpoint(row: Checkpoint, workspace_id: UUID, *, proves: bool) -> dict[str, Any]:
    proof = None
    if proves:
        listed = row.heads.order_by("position").values_list("kind", "chain_id", "seq", "hash")
        heads = [Head(kind, str(chain), seq, hash_) for kind, chain, seq, hash_ in listed]
        index = next(i for i, head in enumerate(heads) if (head.kind, head.chain) == ("audit", str(workspace_id)))
        leaf = heads[index]
        proof = {
            "leaf": [leaf.kind, leaf.chain, leaf.seq, leaf.hash], "index": index,
            "path": [node.hex() for node in merkle.proof([head.leaf() for head in heads], index)],
        }  # fmt: skip
    return publishing.statement_of(row) | {
        "number": row.number, "proof": proof, "timestamp": publishing.token_text(row.publication.timestamp_token),
    }  # fmt: skip


def _utc(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")

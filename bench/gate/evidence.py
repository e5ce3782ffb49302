"""Does an evidence pack need more memory when it has more rows? ``python -m bench.gate.evidence [--sizes 5000,50000]``

Packs of so many decisions, each of which has two entries in the audit log, a vote and a receipt, written by the command
`evidence` and checked by `verify`, each in a process of its own: CPU seconds, wall time, peak memory (PSS).
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..measure import Cost, cost_of, table
from ..places import ROOT, installation, run

MOST_TIMES = 1.1
"""Peak memory with the most rows against that with the fewest."""
HEAD = ("decisions", "MB", "written: CPU s", "wall s", "peak MB", "checked: CPU s", "wall s", "peak MB")
AT_ONCE = 1_000


def main() -> int:
    """Print the figures; 1 where memory grew with the rows."""
    options = argparse.ArgumentParser(prog="bench.gate.evidence", description=__doc__)
    options.add_argument("--sizes", default="5000,50000", help="decisions, the fewest first (default 5000,50000)")
    sizes = [int(size) for size in options.parse_args().sizes.split(",")]
    rows, peaks = [], []
    with installation() as environment:
        place = Path(environment["COUNTERSIGN_DATA_DIR"])
        for size in sizes:
            run(environment, "-m", "bench.gate.evidence", "fill", f"rows-{size}", str(size))
        run(environment, "-c", "from bench.places import analyze; analyze()")
        for size in sizes:
            pack, today = place / f"{size}.zip", datetime.now(UTC).date().isoformat()
            about = ["--from", today, "--to", today, "--workspace", f"rows-{size}", "--output", str(pack)]
            costs = [_cost(environment, "evidence", *about), _cost(environment, "verify", str(pack))]
            of_each = [f"{value:.1f}" for cost in costs for value in (cost.cpu, cost.wall, cost.peak_mb)]
            rows.append((f"{size:,}", f"{pack.stat().st_size / 1e6:.1f}", *of_each))
            peaks.append([cost.peak_mb for cost in costs])
            print(f"{size:,} decisions: {peaks[-1][0]:.0f} MB written, {peaks[-1][1]:.0f} MB checked", flush=True)
    print(table(HEAD, rows))
    times = [last / first for first, last in zip(peaks[0], peaks[-1], strict=True)]
    print(f"\nmemory × {times[0]:.2f} written, × {times[1]:.2f} checked (at most {MOST_TIMES})")
    return 0 if max(times) <= MOST_TIMES else 1


def _cost(environment: dict[str, str], *command: str) -> Cost:
    cost = cost_of([sys.executable, "manage.py", *command], environment, ROOT)
    assert cost.status == 0, cost.output
    return cost


def fill(slug: str, decisions: int) -> None:
    """A workspace with so many decisions of today, as the desk would have written them one by one."""
    import django

    django.setup()
    from sessions_app.models import Role
    from sessions_app.services import agents, audit, sessions, workspaces
    from sessions_app.services.people import members

    workspace = workspaces.create_workspace(slug)
    ada = members.add_member(workspace, f"ada@{slug}.example.org", "Ada", Role.REVIEWER, by=audit.COMMAND)[0]
    bots = [agents.get_or_create_agent(workspace.pk, f"Bot {number}") for number in range(4)]
    places = [sessions.create(bots[number % 4], by=audit.COMMAND, title=f"Order {number}") for number in range(40)]
    for first in range(0, decisions, AT_ONCE):
        _add(workspace.pk, ada, places, range(first, min(first + AT_ONCE, decisions)))


def _add(workspace_id: Any, ada: Any, places: list[Any], numbers: range) -> None:
    from django.utils import timezone

    from sessions_app.models import Approval, AuditEntry, Vote
    from sessions_app.queries import chains
    from sessions_app.services import audit

    last = AuditEntry.objects.filter(workspace_id=workspace_id).order_by("-seq").first()
    assert last
    approvals, votes, entries = [], [], []

    def record(action: str, approval: Approval, kind: str, name: str, **details: Any) -> None:
        before = entries[-1] if entries else last
        about = {"session": str(approval.session_id), "tool": approval.tool_name, "digest": approval.digest}
        entry = AuditEntry(
            workspace_id=workspace_id, seq=before.seq + 1, at=timezone.now(), actor_kind=kind, actor_id="",
            actor_name=name, action=action, subject_kind="approval", subject_id=str(approval.pk),
            details=about | details, previous_hash=before.hash,
        )  # fmt: skip
        entry.hash = audit.hash_of(entry)
        entries.append(entry)

    for number in numbers:
        now = timezone.now()
        verdict, status = (("approve", "approved"), ("deny", "denied"))[number % 3 == 0]
        approval = Approval(
            workspace_id=workspace_id, session=places[number % 40], tool_name="issue_refund", requested_at=now,
            arguments={"order": number, "amount": "420.00", "note": "lost in transit " * 4}, requested_by="bot",
            status=status, version=2, decided_at=now, delivery="delivered", deliver_at=now, delivered_at=now,
        )  # fmt: skip
        approval.digest = approval.digest_of_question()
        approval.executable_digest = approval.digest_of_call(approval.arguments) if status == "approved" else ""
        vote = Vote(
            approval=approval, version=2, member=ada, by="Ada", role="reviewer", verdict=verdict,
            digest=approval.digest, reason=f"reason {number}", channel="web", at=now,
        )  # fmt: skip
        approval.decision = {
            "verdict": verdict, "by": "Ada", "by_kind": "member", "by_id": str(ada.pk), "by_role": "reviewer",
            "at": now.isoformat(), "reason": vote.reason, "answer": "", "arguments": None, "channel": "web",
        }  # fmt: skip
        approvals.append(approval)
        votes.append(vote)
        record("approval.requested", approval, "api_key", "bot")
        record(
            "approval.decided", approval, "member", "Ada", status=status, reason=vote.reason,
            outcome=chains.outcome_of(approval, [vote]),
        )  # fmt: skip
    Approval.objects.bulk_create(approvals)
    Vote.objects.bulk_create(votes)
    AuditEntry.objects.bulk_create(entries)


if __name__ == "__main__":
    if sys.argv[1:2] == ["fill"]:
        fill(sys.argv[2], int(sys.argv[3]))
    else:
        raise SystemExit(main())

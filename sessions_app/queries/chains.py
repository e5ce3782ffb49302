"""What is hashed of ledger entries and decisions, and whether the rows are what was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from sessions_app import row_chain
from sessions_app.models import Approval, AuditEntry, LedgerEntry, Vote, Wallet

PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Broken:
    """A row that is not what was written: which one, in words, and what is wrong with it."""

    what: str
    reason: str


def ledger_body(entry: LedgerEntry) -> str:
    """Canonical form of a ledger entry."""
    return row_chain.canonical({
        "id": str(entry.id), "wallet": str(entry.wallet_id), "seq": entry.seq, "source": str(entry.source),
        "amount": f"{entry.amount:.10f}", "event": entry.event, "kind": entry.kind,
        "session": str(entry.session_id) if entry.session_id else None, "note": entry.note, "by": entry.by,
        "at": entry.at.isoformat(),
    })  # fmt: skip


def outcome_of(approval: Approval, votes: Sequence[Vote]) -> str:
    """SHA-256 of how an approval ended: its status, the decision and every vote. It stands in the audit log.

    Of who voted it takes in the name, not the member, whose row may go.
    """
    return row_chain.digest({
        "approval": str(approval.pk), "status": str(approval.status), "digest": approval.digest,
        "version": approval.version, "decision": approval.decision,
        "votes": [
            {
                "id": str(vote.id), "by": vote.by, "verdict": vote.verdict, "arguments": vote.arguments,
                "answer": vote.answer, "reason": vote.reason, "channel": vote.channel, "at": vote.at.isoformat(),
                # Votes of before had none of these, and keep the hash that was written of them.
                **({"role": vote.role} if vote.role else {}),
                **({"digest": vote.digest} if vote.digest else {}),
                **({"version": vote.version} if vote.version else {}),
                **({"grant": vote.grant_wish} if vote.grant_wish else {}),
            }
            for vote in votes
        ],
    })  # fmt: skip


def broken_ledger(workspace_id: UUID) -> Iterator[Broken]:
    """Entries of a workspace's wallets that do not fit their chain, wallet by wallet, and balances kept beside them
    that are not their sums.
    """
    for wallet in Wallet.objects.filter(workspace_id=workspace_id).order_by("kind"):
        previous, expected = row_chain.GENESIS, 1
        left: dict[str, Decimal] = dict.fromkeys(LedgerEntry.Source.values, Decimal(0))
        entries = LedgerEntry.objects.filter(wallet=wallet)
        for entry in entries.order_by("seq").iterator(PAGE):
            what = f"entry {entry.seq} of the wallet {wallet.kind}"
            if entry.seq != expected:
                yield Broken(what, f"entry {expected} is missing before it")
            elif entry.hash != row_chain.chained(previous, ledger_body(entry)):
                yield Broken(what, "its content was changed, or it does not follow the entry before it")
            previous, expected = entry.hash, (entry.seq or expected) + 1
            left[entry.source] += entry.amount
        if any(getattr(wallet, source) != amount for source, amount in left.items()):
            yield Broken(f"the balance of the wallet {wallet.kind}", "it is not the sum of its entries; see rebuild")


def broken_decisions(workspace_id: UUID) -> Iterator[Broken]:
    """Approvals that do not stand as the audit log says they were asked and ended."""
    approvals = Approval.objects.filter(workspace_id=workspace_id, recorded=False).order_by("pk")
    after: UUID | None = None
    while page := list((approvals.filter(pk__gt=after) if after else approvals).prefetch_related("votes")[:PAGE]):
        entries = entries_about(workspace_id, page)
        for approval in page:
            reason = difference(approval, entries.get(str(approval.pk), []))
            if reason:
                yield Broken(f"approval {approval.pk}", reason)
        after = page[-1].pk


def missing_approvals(workspace_id: UUID, erased: set[str]) -> Iterator[Broken]:
    """Approvals that were asked, as the audit log says, and are not there; those of erased sessions are."""
    asked = AuditEntry.objects.filter(workspace_id=workspace_id, action="approval.requested").order_by("seq")
    page: list[AuditEntry] = []
    for entry in asked.iterator(PAGE):
        page.append(entry)
        if len(page) == PAGE:
            yield from _gone(page, erased)
            page = []
    yield from _gone(page, erased)


def _gone(page: list[AuditEntry], erased: set[str]) -> Iterator[Broken]:
    there = set(map(str, Approval.objects.filter(pk__in=[e.subject_id for e in page]).values_list("pk", flat=True)))
    for entry in page:
        if entry.subject_id not in there and entry.details.get("session") not in erased:
            yield Broken(f"approval {entry.subject_id}", f"it was asked (audit entry {entry.seq}) and is gone")


def entries_about(workspace_id: UUID, page: list[Approval]) -> dict[str, list[AuditEntry]]:
    """What the audit log says of each of these approvals, by id, in order: one query."""
    ids = [str(approval.pk) for approval in page]
    found: dict[str, list[AuditEntry]] = {}
    entries = AuditEntry.objects.filter(workspace_id=workspace_id, subject_id__in=ids, subject_kind="approval")
    for entry in entries.order_by("seq"):
        found.setdefault(entry.subject_id, []).append(entry)
    return found


def difference(approval: Approval, entries: list[AuditEntry]) -> str:
    """Why an approval is not what the audit log says, empty when it is."""
    asked = [entry for entry in entries if entry.action == "approval.requested"]
    if (
        not asked
        or asked[0].details.get("digest") != approval.digest
        or approval.digest != approval.digest_of_question()
    ):
        return "it does not ask what the audit log says was asked"
    ended = [entry for entry in entries if "status" in entry.details]
    if approval.status == Approval.Status.PENDING:
        return f"it is pending, and the audit log says {ended[-1].details['status']}" if ended else ""
    if not ended or ended[-1].details["status"] != approval.status:
        return f"it is {approval.status}, and the audit log does not say so"
    # Entries of before outcomes were kept name the status alone.
    outcome = ended[-1].details.get("outcome")
    votes = sorted(approval.votes.all(), key=lambda vote: str(vote.pk))
    if outcome and outcome != outcome_of(approval, votes):
        return "the decision or a vote is not what was written"
    return ""

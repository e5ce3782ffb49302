"""Ledger: two wallets for each workspace, and the append-only entries that their balances are sums of."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from sessions_app import row_chain
from sessions_app.ids import uuid7
from sessions_app.models import LedgerEntry, UnsealedHead, Wallet
from sessions_app.queries import chains

from .. import audit
from ..log import links
from ..log.sanitise import text

Source = LedgerEntry.Source
DRAIN = (Source.SUBSCRIPTION, Source.PURCHASED, Source.TRIAL)
"""The order in which a charge drains the sources: first the allowance that expires each month, last what was given."""
OVERDRAWN = Source.PURCHASED
"""Where what is used beyond all balances stands: it is owed."""
ZERO = Decimal(0)
MOST = 10_000_000
"""US dollars of one credit: a slip of the finger, not a budget, is larger."""
FINEST = Decimal("1E-10")
"""What the column of an amount holds."""


class NotMoney(ValueError):
    """An amount that cannot be booked."""


def wallet_of(workspace_id: UUID, kind: str) -> Wallet:
    """The wallet of a workspace for ``ai`` or ``data``; made when it is first needed."""
    return Wallet.objects.get_or_create(workspace_id=workspace_id, kind=kind)[0]


def balance(wallet: Wallet) -> Decimal:
    """Balance of a wallet in US dollars as it is now; below zero is owed."""
    return sum(balances(wallet).values(), ZERO)


def balances(wallet: Wallet) -> dict[str, Decimal]:
    """Balances of a wallet by source as they are now, in the order in which they are drained."""
    return Wallet.objects.filter(pk=wallet.pk).values(*(source.value for source in DRAIN)).get()


@transaction.atomic
def credit(wallet: Wallet, source: str, amount: Decimal, *, by: audit.Actor, note: str = "", event: str = "") -> None:
    """Put money in; from the first time on an empty wallet stops new turns. The same ``event`` again changes nothing.

    Raises ``NotMoney``.
    """
    check_amount(amount)
    _lock(wallet)
    event = event or f"credit:{uuid7()}"
    if wallet.entries.filter(event=event, kind="credit").exists():
        return
    _enter(wallet, source, amount, event, "credit", by=by.name, note=text(note))
    Wallet.objects.filter(pk=wallet.pk).update(limited=True)
    audit.record(
        wallet.workspace_id, by, "wallet.credited", subject=("wallet", wallet.pk), wallet=wallet.kind, source=source,
        amount=str(amount), note=note,
    )  # fmt: skip


@transaction.atomic
def rebuild() -> None:
    """Add up all entries of each wallet again."""
    for wallet in Wallet.objects.select_for_update().order_by("pk"):
        rows = dict(wallet.entries.values_list("source").annotate(sum=Sum("amount")).values_list("source", "sum"))
        left = {source.value: rows.get(source.value, ZERO) for source in DRAIN}
        Wallet.objects.filter(pk=wallet.pk).update(**left)


def check_amount(amount: Decimal) -> None:
    """Raises ``NotMoney`` for what nobody can put in: nothing or less, too much, more decimals than are kept."""
    if not amount.is_finite() or amount <= 0 or amount > MOST:
        raise NotMoney(f"{amount} cannot be put into a wallet; give an amount above 0 and up to {MOST:,} US dollars")
    if amount != amount.quantize(FINEST):
        raise NotMoney(f"{amount} has too many decimals; give at most ten")


@transaction.atomic
def expire(wallet: Wallet, *, by: audit.Actor, note: str = "", event: str = "") -> Decimal:
    """Take away what is left of the subscription's allowance, as at the end of its month; how much that was.

    The same ``event`` again takes nothing. What was purchased or given for trial does not expire.
    """
    _lock(wallet)
    event = event or f"expiry:{uuid7()}"
    left = balances(wallet)[Source.SUBSCRIPTION.value]
    if left <= 0 or wallet.entries.filter(event=event, kind="expiry").exists():
        return ZERO
    _enter(wallet, Source.SUBSCRIPTION, -left, event, "expiry", by=by.name, note=text(note))
    audit.record(
        wallet.workspace_id, by, "wallet.expired", subject=("wallet", wallet.pk), wallet=wallet.kind,
        amount=str(left), note=note,
    )  # fmt: skip
    return left


@transaction.atomic
def charge(
    workspace_id: UUID, kind: str, event: str, total: Decimal | None, *, session_id: UUID | None = None
) -> Decimal:
    """Bring what was taken for ``event`` up to ``total``; what that took from the wallet now.

    A step that is retried with the same total takes nothing; one that goes on and costs more takes the difference.
    """
    wallet = wallet_of(workspace_id, kind)
    _lock(wallet)
    taken = wallet.entries.filter(event__in=(event, *_parts(wallet, event)), kind="usage")
    booked = -taken.aggregate(sum=Sum("amount", default=ZERO))["sum"]
    due = (total or ZERO) - booked
    if due <= 0:
        return ZERO
    number = taken.values("event").distinct().count()
    name = event if not number else f"{event}#{number + 1}"
    for source, amount in _drained(balances(wallet), due).items():
        _enter(wallet, source, -amount, name, "usage", session_id=session_id)
    return due


def _parts(wallet: Wallet, event: str) -> list[str]:
    found = wallet.entries.filter(event__startswith=f"{event}#", kind="usage")
    return list(found.values_list("event", flat=True).distinct())


def _drained(left: dict[str, Decimal], due: Decimal) -> dict[str, Decimal]:
    """How much of an amount each source pays."""
    paid: dict[str, Decimal] = {}
    for source in DRAIN:
        part = min(max(left[source.value], ZERO), due)
        if part > 0:
            paid[source.value] = part
            due -= part
    if due > 0:
        paid[OVERDRAWN.value] = paid.get(OVERDRAWN.value, ZERO) + due
    return paid


def _enter(
    wallet: Wallet, source: str, amount: Decimal, event: str, kind: str, *, session_id: UUID | None = None,
    by: str = "", note: str = "",
) -> None:  # fmt: skip
    """Chain an entry to the wallet's last one. The caller has locked the wallet."""
    last = wallet.entries.filter(seq__isnull=False).order_by("-seq").only("seq", "hash").first()
    entry = LedgerEntry(
        wallet=wallet, source=source, amount=amount.quantize(FINEST), event=event, kind=kind, session_id=session_id,
        by=by, note=note, at=timezone.now(), seq=last.seq + 1 if last and last.seq else 1,
    )  # fmt: skip
    entry.hash = row_chain.chained(last.hash if last else row_chain.GENESIS, chains.ledger_body(entry))
    entry.save(force_insert=True)
    links.mark_unsealed(UnsealedHead.Kind.WALLET, wallet.pk)


def _lock(wallet: Wallet) -> None:
    Wallet.objects.select_for_update().only("id").get(pk=wallet.pk)

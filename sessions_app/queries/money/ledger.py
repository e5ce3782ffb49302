"""Ledger entries with the balance after each, tool calls that were made, and gaps between usage and payments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import connection
from django.db.models import Avg, Count, DecimalField, F, Q, QuerySet, Subquery, Sum, Window
from django.db.models.functions import Coalesce

from sessions_app.models import CallUsage, LedgerEntry, Wallet
from sessions_app.queries.sessions.conditions import agents_called

ZERO = Decimal(0)
BALANCE = F("subscription") + F("purchased") + F("trial")
SOURCES = LedgerEntry.Source.values
"""In the order in which they are drained."""
STEPS = {"turn": "turn", "call": "event"}
"""What a step is called in the address of its session."""


@dataclass(frozen=True, slots=True)
class WalletState:
    """A wallet and what is left in it, in US dollars; below zero is owed."""

    kind: str
    limited: bool
    by_source: dict[str, Decimal]

    @property
    def balance(self) -> Decimal:
        return sum(self.by_source.values(), ZERO)


def wallets(workspace_id: UUID) -> list[WalletState]:
    """Both wallets, also while there is no entry in them."""
    known = {wallet.kind: wallet for wallet in Wallet.objects.filter(workspace_id=workspace_id)}
    return [_state(kind, known.get(kind)) for kind in Wallet.Kind.values]


def _state(kind: str, wallet: Wallet | None) -> WalletState:
    if wallet is None:
        return WalletState(kind, False, dict.fromkeys(SOURCES, ZERO))
    return WalletState(kind, wallet.limited, {source: getattr(wallet, source) for source in SOURCES})


def entries(workspace_id: UUID, kind: str) -> QuerySet[LedgerEntry]:
    """Entries of a wallet, the newest first, with their session (None once it was erased)."""
    found = LedgerEntry.objects.filter(wallet__workspace_id=workspace_id, wallet__kind=kind)
    return found.select_related("session").defer("session__source_record").order_by("-id")


def with_balance(found: QuerySet[LedgerEntry], rows: list[LedgerEntry]) -> list[LedgerEntry]:
    """Each of ``rows`` (consecutive, the newest first, of ``found``) with ``balance``, the sum up to it."""
    if rows:
        balance = _balance_at(found, rows[0])
        for row in rows:
            row.balance = balance
            balance -= row.amount
    return rows


def _balance_at(found: QuerySet[LedgerEntry], entry: LedgerEntry) -> Decimal:
    """What its wallet held when an entry was made: what it holds now without all later entries, in one statement."""
    later = found.order_by().filter(id__gt=entry.id).values("wallet").annotate(sum=Sum("amount")).values("sum")
    since = Coalesce(Subquery(later), ZERO, output_field=DecimalField())
    return Wallet.objects.filter(pk=entry.wallet_id).values_list(BALANCE - since, flat=True).get()


def every_balance(found: QuerySet[LedgerEntry], limit: int) -> QuerySet[LedgerEntry]:
    """Ledger entries as in ``with_balance``: the newest ``limit`` at once."""
    running = Window(Sum("amount"), order_by=F("id").asc())
    # LedgerEntry declares the attribute, which with_balance sets
    return found.annotate(balance=running).order_by("-id")[:limit]  # type: ignore[no-redef]


def place_of(entry: LedgerEntry) -> str:
    """Query string of the step that an entry pays for: ``?turn=3``, ``?event=87``; empty for other entries."""
    step, _, rest = entry.event.partition(":")
    number = rest.rpartition(":")[2].partition("#")[0]
    return f"?{STEPS[step]}={number}" if step in STEPS and number.isdecimal() else ""


WITHIN = "workspace"
"""What the ids of calls are ordered within. By id alone PostgreSQL may go through the newest calls of all workspaces,
thousands of somebody else's before the first of this one; a column that it knows to be the same in all rows it leaves
out of an order, so the workspace stands between two bounds."""


@dataclass(frozen=True, slots=True)
class CallFilter:
    """What narrows the list of tool calls down; empty means all."""

    provider: str = ""
    tool: str = ""
    status: str = ""
    agent: str = ""
    """An agent's id, slug or name."""
    session: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


def calls(workspace_id: UUID, wanted: CallFilter) -> QuerySet[CallUsage]:
    """Tool calls of agents that run here, unsorted, each with its agent and session; none of erased sessions.

    Order by ``WITHIN`` and then by id, see there.
    """
    here = CallUsage.objects.filter(
        workspace_id__gte=workspace_id, workspace_id__lte=workspace_id, session__workspace_id=workspace_id
    )
    found = here.select_related("agent", "session")
    conditions = {
        "provider": wanted.provider, "tool": wanted.tool, "status": wanted.status, "session": wanted.session,
        "at__gte": wanted.since, "at__lt": wanted.until, "agent__in": _agents(workspace_id, wanted.agent),
    }  # fmt: skip
    found = found.filter(**{name: value for name, value in conditions.items() if value})
    return found.defer("session__source_record")


SUMMED = 400
"""So many calls are added up by provider without being asked."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Provider of tool calls: their number, failures, average time and cost."""

    name: str
    calls: int
    failed: int
    latency_ms: float | None
    cost: Decimal | None


def providers(found: QuerySet[CallUsage], most: int | None) -> list[Provider] | None:
    """Providers of the calls that ``calls`` found, those with the most calls first; twenty at most.

    None where more than ``most`` calls pass: adding up a million is asked for by name, with None.
    """
    # without an order PostgreSQL may take the sessions first, of which most have no call
    if most is not None and len(found.order_by(WITHIN, "-id").values_list("pk")[: most + 1]) > most:
        return None
    succeeded = Q(status="ok")
    sums = {
        "calls": Count("pk"), "failed": Count("pk", filter=~succeeded), "took": Avg("latency_ms"),
        "paid": Sum("cost", filter=succeeded),
    }  # fmt: skip
    rows = found.select_related(None).defer(None).order_by().values("provider").annotate(**sums)
    return [Provider(*row) for row in rows.order_by("-calls", "provider").values_list("provider", *sums)[:20]]


NOBODY = UUID(int=0)


def _agents(workspace_id: UUID, named: str) -> list[UUID]:
    """Ids of the agents that are called so, asked for first: PostgreSQL knows how many calls a value has, and of what a
    join finds it does not.
    """
    return (agents_called(workspace_id, named) or [NOBODY]) if named else []


@dataclass(frozen=True, slots=True)
class Gap:
    """A turn or call for which not exactly its cost was taken."""

    event: str
    cost: Decimal
    taken: Decimal


GAPS = """
WITH steps AS (
    SELECT 'turn:' || session_id || ':' || turn AS event, cost, 'ai' AS kind FROM sessions_app_turnusage
    WHERE workspace_id = %(workspace)s AND cost > 0
    UNION ALL
    SELECT 'call:' || session_id || ':' || seq, cost, 'data' FROM sessions_app_callusage
    WHERE workspace_id = %(workspace)s AND cost > 0 AND status = 'ok'
), taken AS (
    SELECT w.kind, split_part(e.event, '#', 1) AS event, -sum(e.amount) AS amount
    FROM sessions_app_ledgerentry e JOIN sessions_app_wallet w ON w.id = e.wallet_id
    WHERE w.workspace_id = %(workspace)s AND e.kind = 'usage'
    GROUP BY 1, 2
)
SELECT coalesce(s.event, t.event), coalesce(s.cost, 0), coalesce(t.amount, 0)
FROM steps s FULL JOIN taken t ON t.event = s.event AND t.kind = s.kind
WHERE coalesce(s.cost, 0) <> coalesce(t.amount, 0)
  AND (s.event IS NOT NULL OR EXISTS (
      SELECT FROM sessions_app_session x WHERE x.id::text = split_part(t.event, ':', 2)))
ORDER BY 1
"""


def gaps(workspace_id: UUID) -> Iterator[Gap]:
    """Gaps between the ledger and the usage. Payments for erased sessions stay, and are no gap."""
    with connection.cursor() as cursor:
        cursor.execute(GAPS, {"workspace": workspace_id})
        yield from (Gap(*row) for row in cursor.fetchall())

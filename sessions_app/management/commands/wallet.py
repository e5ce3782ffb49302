from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.models import LedgerEntry, Wallet, Workspace
from sessions_app.queries.money import ledger as queries
from sessions_app.services import audit
from sessions_app.services.money import ledger

WHEN_EMPTY: dict[str, str] = {
    Wallet.Kind.AI: "empty stops new turns", Wallet.Kind.DATA: "empty refuses calls with a price",
}  # fmt: skip
"""What becomes of spending from a wallet that money was once put into."""


class Command(BaseCommand):
    help = "Wallets of a workspace: `wallet show`, `wallet credit ai 50 --source purchased`, `wallet expire ai`."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        show = actions.add_parser(
            "show", help="balances; exit status 1 when what was taken for a turn or call is not exactly its cost"
        )
        credit = actions.add_parser(
            "credit",
            help="put money in; from then on an empty AI wallet stops turns, an empty data wallet calls with a price",
        )
        expire = actions.add_parser("expire", help="take away what is left of the source `subscription`")
        for action in (credit, expire):
            action.add_argument("wallet", choices=Wallet.Kind.values)
            action.add_argument("--note", default="", help="why; kept with the entry")
            action.add_argument(
                "--once",
                metavar="NAME",
                default="",
                help="a name for this; done before under the same name, nothing is done",
            )
        credit.add_argument("amount", metavar="DOLLARS")
        credit.add_argument("--source", required=True, choices=LedgerEntry.Source.values)
        for action in (show, credit, expire):
            add_workspace(action)

    def handle(self, *args: Any, action: str, workspace: str, **options: Any) -> None:
        getattr(self, f"_{action}")(workspace_named(workspace), **options)

    def _show(self, workspace: Workspace, **options: Any) -> None:
        self._balances(workspace)
        gaps = list(queries.gaps(workspace.id))
        for gap in gaps:
            self.stdout.write(f"gap   {gap.event}: cost ${gap.cost}, taken ${gap.taken}")
        if gaps:
            raise SystemExit(1)

    def _balances(self, workspace: Workspace) -> None:
        for wallet in queries.wallets(workspace.id):
            parts = ", ".join(f"{source} ${amount:,.4f}" for source, amount in wallet.by_source.items())
            stops = WHEN_EMPTY[wallet.kind] if wallet.limited else "only counted"
            self.stdout.write(f"{wallet.kind:4}  ${wallet.balance:,.4f}  ({parts}; {stops})")

    def _credit(
        self, workspace: Workspace, wallet: str, amount: str, source: str, note: str, once: str, **options: Any
    ) -> None:
        try:
            dollars = Decimal(amount.removeprefix("$"))
            event = f"credit:{once}" if once else ""
            into = ledger.wallet_of(workspace.id, wallet)
            ledger.credit(into, source, dollars, by=audit.COMMAND, note=note, event=event)
        except InvalidOperation:
            raise CommandError(f'"{amount}" is no amount of dollars; write it as 50 or 12.50') from None
        except ledger.NotMoney as refused:
            raise CommandError(str(refused)) from None
        self._balances(workspace)

    def _expire(self, workspace: Workspace, wallet: str, note: str, once: str, **options: Any) -> None:
        event = f"expiry:{once}" if once else ""
        taken = ledger.expire(ledger.wallet_of(workspace.id, wallet), by=audit.COMMAND, note=note, event=event)
        self.stdout.write(f"expired ${taken:,.4f}")

"""Numbers and hashes for the ledger entries of before the ledger was chained, in the order of their ids."""

from __future__ import annotations

from typing import Any

from sessions_app import row_chain

OPEN = "ALTER TABLE sessions_app_ledgerentry DISABLE TRIGGER append_only"
CLOSE = "ALTER TABLE sessions_app_ledgerentry ENABLE TRIGGER append_only"
UNSEALED = "INSERT INTO sessions_app_unsealedhead (kind, chain_id) SELECT 'wallet', id FROM sessions_app_wallet"


def chain_ledger(apps: Any, schema_editor: Any) -> None:
    """Chain the entries of each wallet. The trigger that refuses changes is off for this one statement's table."""
    entries = apps.get_model("sessions_app", "LedgerEntry").objects
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(OPEN)
        for wallet_id in apps.get_model("sessions_app", "Wallet").objects.values_list("pk", flat=True):
            previous = row_chain.GENESIS
            for seq, entry in enumerate(entries.filter(wallet_id=wallet_id).order_by("pk").iterator(), start=1):
                entry.seq = seq
                previous = row_chain.chained(previous, _body(entry))
                entries.filter(pk=entry.pk).update(seq=seq, hash=previous)
        cursor.execute(CLOSE)
        cursor.execute(UNSEALED)


def _body(entry: Any) -> str:
    """The canonical form as it was when the chain began; it may never change, or old entries fail their hash."""
    return row_chain.canonical({
        "id": str(entry.pk), "wallet": str(entry.wallet_id), "seq": entry.seq, "source": str(entry.source),
        "amount": f"{entry.amount:.10f}", "event": entry.event, "kind": entry.kind,
        "session": str(entry.session_id) if entry.session_id else None, "note": entry.note, "by": entry.by,
        "at": entry.at.isoformat(),
    })  # fmt: skip


def unchain_ledger(apps: Any, schema_editor: Any) -> None:
    """Nothing to do: the columns go."""

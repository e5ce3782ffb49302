"""Three example sessions, of our own making, that show what the pages can do; one waits for a person."""

from __future__ import annotations

from pathlib import Path

from django.db import transaction

from sessions_app.models import Session, Workspace
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from vcon_app.models import Import

from . import import_jobs

FOLDER = Path(__file__).parents[2] / "demo"
ASKS = "order-4711-refund.vcon"
REFUND_AGENT = audit.Actor("api_key", name="Refund agent")
DAY = 24 * 60 * 60


def load(workspace: Workspace, *, by: audit.Actor) -> list[Import]:
    """Import the examples that are not there yet and let the refund agent ask; the imports that were made."""
    made = []
    for path in sorted(FOLDER.iterdir()):
        if Import.objects.filter(workspace=workspace, filename=path.name, requested_by=by.name).exists():
            continue
        with path.open("rb") as file:
            imported = import_jobs.start_import(workspace, path.name, [file.read()], by=by)
        import_jobs.run(imported.id)
        imported.refresh_from_db()
        made.append(imported)
        if path.name == ASKS and imported.status == Import.Status.DONE:
            _ask(imported.session_links.get().session)
    return made


@transaction.atomic
def _ask(session: Session) -> None:
    requests.request(
        session,
        requests.Question(
            "issue_refund",
            {
                "order": "4711",
                "amount": "420.00",
                "currency": "EUR",
                "to": "card ending 8812",
                "reason": "lost in transit",
            },
            server="payments",
            context="Kim Ritter is entitled to a full refund (terms §7). Above 100 EUR a person has to release it.",
            risk="high",
            expires_in=DAY,
            client_id="demo-refund",
        ),
        by=REFUND_AGENT,
    )

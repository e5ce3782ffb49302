"""No page and no route of the API reads more rows because there is more history: what is built after this, too.

Every address that is read is asked for over two sizes of data, and the rows that its statements read are counted by
PostgreSQL (``reads``), not timed. A route that is added is walked by itself; one that is not, says why here.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from sessions_app import tasks
from sessions_app.models import Approval, CallUsage, ReviewQueue, Role, SavedReason, Session, WebhookDelivery
from sessions_app.queries.log import event_detail, lenses, marks, outline, search, story, waterfall
from sessions_app.queries.money import dearest_sessions
from sessions_app.queries.money import ledger as ledger_queries
from sessions_app.queries.reviews import queues as review_queues
from sessions_app.queries.sessions import handover_transcript, narrowing, said, session_list
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.log import file_changes, overview
from sessions_app.services.money import ledger
from sessions_app.services.people import api_keys, members
from sessions_app.views.money import reconciling
from tests.api.client import Api, ok
from tests.api.things import make_things
from tests.services.build import answer, append, call, event, result, user
from vcon_app.models import Import, ImportedSession

from . import addresses
from .copies import Template
from .reads import Reads, counted

BY = audit.Actor("member", "m-1", "Somebody")
FEW, MANY = 130, 1_300
"""Copies of everything, and half as many turns in one long session. With ten times as many ..."""
GROWS, MORE = 1.3, 100
"""... no address may read more than 1.3 times the rows and 100 more: two pages of 50 that fill up."""
MOST = 2_000
"""Rows that an answer may cost at most."""
BOUNDS = (
    (session_list, "SUMMED", 100), (reconciling, "ADDED_UP", 40), (ledger_queries, "SUMMED", 100),
    (event_detail, "COUNTED", 10),
    (outline, "STRETCH", 50), (outline, "MORE", 40),
    (file_changes, "EVENTS_AT_ONCE", 50), (overview, "EVENTS_AT_ONCE", 50), (waterfall, "EVENTS", 50),
    (handover_transcript, "EVENTS", 100), (handover_transcript, "PROMPTS", 20),
    (story, "SPAN", 60), (marks, "MOST", 5), (lenses, "COUNTED", 20), (search, "READ_AT_MOST", 200),
    (review_queues, "COUNTED", 100), (review_queues, "COMPARED", 50),
    (said, "FEW", 50), (said, "FEW_TO_READ", 50),
    (dearest_sessions, "FEW", 50), (narrowing, "FEW", 50),
    (session_list, "STRETCH", 50), (session_list, "STRETCHES", 2),
)  # fmt: skip
"""What is bounded has to be full at the smaller size, too."""
NOT_WALKED = {
    "approval-stream": "stays open: rows are read when something happens",
    "/api/v1/sessions/{session_id}/stream": "stays open",
    "/dashboard/agents/{agent_id}/sessions/{session_id}/stream": "stays open",
    "usage-csv": "a file of all rows that pass", "call-csv": "a file of all rows that pass",
    "verdict-csv": "a file of all rows that pass",
    "wallet-csv": "a file of all rows that pass", "audit-export": "a file of all rows that pass",
    "agent-graph-file": "the whole graph", "/api/v1/agents/{agent_id}/graph/export": "the whole graph",
    "evidence-pack": "a file of all rows that pass", "/api/v1/evidence": "a file of all rows that pass",
    "/api/v1/sessions/{session_id}/files/diff": "at most 500 changes of the file that the reader names",
    "event-whole": "a whole text, as long as it is", "/api/v1/sessions/{session_id}/export": "the whole session",
    "/api/v1/sessions/{session_id}/export/report": "of the whole session", "export-report": "of the whole session",
    "event-media-piece": "a picture or a sound of one event",
    "import-raw": "the beginning of a file",
    "import-document": "the file itself", "event-source": "a piece of the file itself",
    "sign-in-link": "for one link", "invitation": "for one link", "shared": "the file of one link",
    "mcp": "asks what is walked", "mcp-recording": "as mcp",
    "session-cost": "of the whole session, read once and kept",
    "/api/v1/sessions/{session_id}/cost": "as the page of its cost",
    "import-batch": "of the files that came at once",
    "redacted": "of one redaction", "tombstone": "one row", "/api/v1/tombstones/{subject_id}": "one row",
    "approval-receipt": "of one decision", "registration-receipt": "of one file",
    "/api/v1/approvals/{approval_id}/receipt": "of one decision",
    "/api/v1/policy/versions/{number}/changes": "of the sessions that the reader names",
    "/api/v1/sessions/{session_id}/redactions/{redaction_id}": "of one redaction",
    "/api/v1/sessions/{session_id}/redactions/{redaction_id}/file": "the file itself",
    "/api/v1/approvals/{approval_id}": "one row, read in a thread with a connection of its own",
    "metrics": "for a scraper, not a person", "readyz": "asks other processes",
}  # fmt: skip
OF_PAGE = "shows 500 days or sessions at once, which the smaller size does not have"
OF_FILE = "asks of all imports of one file, which these copies are, whether they would be deleted"
OF_MESSAGES = "counts the messages of one session, in an index"
OF_SESSION = "draws the context of all model requests of one session"
KNOWN = {
    "session-context": OF_SESSION,
    "/api/v1/sessions/{session_id}/retention": OF_MESSAGES,
    "/api/v1/usage": OF_PAGE,
    "import-delete": OF_FILE,
}  # fmt: skip
"""Addresses, without their queries, that read more because there is more, and why: to be ended one by one."""


def add_turns(session: Session, turns: int) -> None:
    """Turns of a question, a call with its result, and an answer; each tenth result is an error."""
    new = []
    for number in range(session.last_turn, session.last_turn + turns):
        status, called = "ok" if number % 10 else "error", f"c{number}"
        new += [user("Look it up"), call(called), result(called, status), answer(model="m-1", output_tokens=5)]
    append(session, *new)


@pytest.fixture
def things(workspace, agent, document_storage) -> dict[str, Any]:
    """One of everything, of which copies are made, and ids by the names that addresses have for them."""
    session = Session.objects.create(
        workspace_id=workspace.id, agent=agent, title="Copied", tags=["vip"], external_id="e", started_at=timezone.now()
    )
    append(
        session, user("The parcel never came"), call("c1"), result("c1", status="error"),
        answer(request="r1", model="m-1", cost=Decimal("0.02"), output_tokens=7), event("error", text="Timed out"),
    )  # fmt: skip
    made = make_things(agent, session)
    asked = requests.request(session, requests.Question("refund", {"amount": 5}), by=BY)
    decider = decisions.Decider(audit.COMMAND, Role.REVIEWER, "api")
    decisions.decide(asked, decider, decisions.Decision("deny", version=1, digest=asked.digest))
    imported = Import.objects.get()
    Import.objects.update(status=Import.Status.DONE, finished_at=timezone.now())
    WebhookDelivery.objects.update(acknowledged_at=timezone.now())
    Approval.objects.exclude(status="pending").update(delivery="delivered")
    ImportedSession.objects.create(imported=imported, session=session, document=imported.document)
    CallUsage.objects.create(
        workspace_id=workspace.id, session=session, agent=agent, seq=2, tool="search", status="ok", at=timezone.now()
    )
    ledger.credit(ledger.wallet_of(workspace.id, "ai"), "purchased", Decimal(5), by=BY)
    queue = ReviewQueue.objects.create(workspace_id=workspace.id, name="All", filter="tag=vip", seed="s")
    reason = SavedReason.objects.create(workspace_id=workspace.id, text="Too much")
    return made | {
        "reason_id": reason.pk, "slug": agent.slug, "version": 1, "number": 1, "kind": "ai", "seq": 3,
        "decided_id": asked.pk, "queue_id": queue.pk,
    }  # fmt: skip


@pytest.fixture
def people(workspace, agent) -> tuple[Client, Api]:
    """An admin at the desk, and a program of an admin."""
    member, _ = members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)
    client = Client(raise_request_exception=False)
    client.force_login(member.user)
    return client, Api(api_keys.create_api_key(workspace, "key", Role.ADMIN, by=audit.COMMAND)[1])


def read(client: Client, api: Api, addressed: dict[str, str]) -> dict[str, Reads]:
    """What each address cost to read, by its name. An address that nobody reads by GET is left out."""
    tasks.keep_totals()  # as the scheduler has it done every 5 s
    found, faults = {}, {}
    for name, address in addressed.items():
        is_api = address.startswith(("/api/", "/dashboard/agents/"))
        with transaction.atomic():
            with counted() as reads:
                answered = api.get(address) if is_api else client.get(address)
            transaction.set_rollback(True)
        if answered.status_code in (200, 302):
            found[name] = reads
        elif answered.status_code != 405:
            faults[name] = answered.status_code
    assert faults == {}, "these cannot be read: see that there is what they show, or say why they are not walked"
    return found


@pytest.mark.django_db
@pytest.mark.timeout(900)
def test_no_address_reads_more_because_there_is_more(people, things, agent, monkeypatch):
    for module, name, most in BOUNDS:
        monkeypatch.setattr(module, name, most)
    client, api = people
    template = Template()
    session = Session.objects.create(
        workspace_id=agent.workspace_id, agent=agent, title="Long", started_at=timezone.now()
    )
    things |= {"session_id": session.pk}
    schema = ok(Client().get("/api/v1/openapi.json"))
    assert NOT_WALKED.keys() | KNOWN.keys() <= addresses.names(schema)
    walked = dict([*addresses.pages(things, NOT_WALKED), *addresses.operations(schema, things, NOT_WALKED)])

    add_turns(session, FEW // 2)
    template.copy(1, FEW)
    few = read(client, api, walked)
    add_turns(session, (MANY - FEW) // 2)
    template.copy(FEW + 1, MANY)
    many = read(client, api, walked)

    grown = {name for name in few if many[name].rows > GROWS * few[name].rows + MORE or many[name].rows > MOST}
    new = {name for name in grown if name.partition("?")[0] not in KNOWN}
    told = "".join(f"\n{name}: {few[name]} -> {many[name]}" for name in sorted(new))
    assert not told, f"these read more because there is more:{told}"
    assert len(few) > 100, "few addresses were walked"

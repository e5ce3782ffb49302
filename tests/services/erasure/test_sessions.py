"""A session that was deleted: nothing of it is left but a signed tombstone, the audit log, and what was spent."""

from __future__ import annotations

from decimal import Decimal
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone

from sessions_app.models import (
    Approval,
    AuditEntry,
    CallUsage,
    CardView,
    EscalationStep,
    EventLink,
    Grant,
    IdempotentAnswer,
    LedgerEntry,
    Member,
    Notice,
    OutgoingMessage,
    OutgoingWebhook,
    Role,
    Session,
    Tombstone,
    TriggerRun,
    TurnUsage,
)  # fmt: skip
from sessions_app.queries.money import ledger, usage
from sessions_app.queries.retention import strategies
from sessions_app.services import audit, continuations
from sessions_app.services.approvals import requests
from sessions_app.services.retention import policies, pruning
from sessions_app.services.triggers import webhook_deliveries, webhook_endpoints
from tests.services.build import append, call, user
from tests.services.imports.test_imports import drop
from tests.services.log.test_shared_responses import BILLED, FILES, fresh
from tests.views.money.spending import ran
from vcon_app.models import Export, Redaction
from vcon_app.services.erasure import erasing
from vcon_app.services.exports import export_jobs
from vcon_app.services.trust import anchors, tombstones

pytestmark = pytest.mark.django_db
BY = audit.Actor("member", "m-1", "Ines")
WORDS = "Xylophone-4711"
"""Stands in what is deleted, and nowhere else."""


@pytest.fixture
def full(session) -> Session:
    """A session with turns, a call, an open question, an export and a redaction."""
    append(session, user(WORDS), call("c1"), user("And more"))
    asked = requests.request(session, requests.Question("refund", {"for": WORDS}, client_id="q"), by=BY)
    _fill_what_hangs_on(asked)
    session.title = WORDS
    session.save(update_fields=["title"])
    policies.set_policy(session.pk, {"ttl_days": 30}, by=BY)
    pruning.prune(session.pk, strategies.read("summarize_old", threshold=1), by=BY)
    export_jobs.start_export(session, "jsonl", by=BY)
    Redaction.objects.create(workspace_id=session.workspace_id, session=session, actor_kind="member")
    session.refresh_from_db()
    return session


def _fill_what_hangs_on(approval: Approval) -> None:
    """A row in each table that refers to approvals, and a grant for the session."""
    now = timezone.now()
    user = get_user_model().objects.create_user(username="kim")
    member = Member.objects.create(workspace_id=approval.workspace_id, user=user, role=Role.REVIEWER)
    EscalationStep.objects.create(approval=approval, position=1, due_at=now, targets=["role:admin"])
    CardView.objects.create(approval=approval, member=member, first_at=now, last_at=now)
    Notice.objects.create(approval=approval, member=member, channel=Notice.Channel.MAIL)
    hook = OutgoingWebhook.objects.create(workspace_id=approval.workspace_id, name="ops", url="https://o.example")
    OutgoingMessage.objects.create(
        webhook=hook, event="approval.requested", subject_id=uuid4(), approval=approval, body=WORDS
    )
    session = approval.session
    Grant.objects.create(
        workspace_id=approval.workspace_id, agent=session.agent, session=session, tool_name="refund", agent_version=1,
        expires_at=now, arguments=[{"path": "/for", "op": "=", "value": WORDS}], made_by="Kim", member=member,
    )  # fmt: skip


def tables_with(words: str) -> set[str]:
    """Tables of which a row holds these words anywhere."""
    found = set()
    with connection.cursor() as cursor:
        for model in apps.get_models():
            cursor.execute(
                f"SELECT EXISTS (SELECT FROM {model._meta.db_table} t WHERE t::text LIKE %s)", [f"%{words}%"]
            )
            if cursor.fetchone()[0]:
                found.add(model._meta.db_table)
    return found


def test_no_table_holds_a_word_of_it_afterwards(full):
    assert {"sessions_app_event", "sessions_app_session", "sessions_app_approval"} <= tables_with(WORDS)
    assert "sessions_app_pruning" in tables_with(WORDS)
    erasing.erase_session(full, by=BY, reason="they asked")
    assert tables_with(WORDS) == set()
    left = tables_with(str(full.pk))
    assert left == {"sessions_app_tombstone", "sessions_app_auditentry"}


def test_the_tombstone_says_what_was_there_who_deleted_it_and_why(full):
    last = EventLink.objects.filter(session=full).latest("last_seq")
    erasing.erase_session(full, by=BY, reason=" they asked \0")
    tombstone = Tombstone.objects.get(subject_id=full.pk)
    assert (tombstone.kind, tombstone.by, tombstone.by_id) == ("session", "Ines", "m-1")
    assert tombstone.reason == "they asked \ufffd" or tombstone.reason.startswith("they asked")
    counted = {"turns": 2, "tool_calls": 1, "approvals": 1, "votes": 0, "exports": 1, "redactions": 1}
    assert counted.items() <= tombstone.counts.items()
    # Withdrawing the open question was the last that was written, so the chain ends there.
    assert tombstone.last_seq == tombstone.counts["events"] == last.last_seq + 1
    assert len(tombstone.last_link) == 64 and tombstone.last_link != bytes(last.hash).hex()


def test_the_tombstone_is_signed_and_the_audit_log_has_its_digest(full):
    erasing.erase_session(full, by=BY, reason="they asked")
    tombstone = Tombstone.objects.get()
    keys = anchors.keyring(full.workspace_id).anchors
    assert tombstones.check(tombstone, keys).state == "valid"
    entry = AuditEntry.objects.get(action="session.erased")
    assert (entry.subject_id, entry.details["tombstone"]) == (str(full.pk), str(tombstone.pk))
    assert entry.details["digest"] == tombstones.digest_of(tombstone)
    assert list(audit.broken_rows(full.workspace_id)) == []
    tombstone.reason = "by mistake"
    assert tombstones.check(tombstone, keys).state == "invalid"


def test_without_a_key_to_sign_with_nothing_goes(full, settings, tmp_path):
    settings.SIGNING_KEY = tmp_path / "there-is-none.pem"
    with pytest.raises(erasing.CannotErase, match="key that tombstones are signed with"):
        erasing.erase_session(full, by=BY)
    assert Session.objects.filter(pk=full.pk).exists() and not Tombstone.objects.exists()


def test_a_session_whose_agent_is_at_a_turn_is_not_deleted(scripted_agent):
    from sessions_app.services.turns import messages

    session = messages.start_session(scripted_agent, "hello", by=BY, origin="chat")
    with pytest.raises(erasing.CannotErase, match="interrupt it first"):
        erasing.erase_session(session, by=BY)
    assert Session.objects.filter(pk=session.pk).exists() and not Tombstone.objects.exists()


def test_what_was_asked_is_withdrawn_and_the_audit_log_says_so(full):
    erasing.erase_session(full, by=BY)
    assert not Approval.objects.exists()
    assert AuditEntry.objects.get(action="approval.cancelled").details["session"] == str(full.pk)


def test_every_table_that_refers_to_sessions_is_thought_of(full):
    """A table that is added later and refers to sessions: decide what erasure does with its rows, then add it here."""
    referring = {
        f"{field.model.__name__}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.get_fields(include_hidden=False)
        if field.concrete and field.is_relation and field.related_model is Session
    }
    assert referring == {
        "Approval.session", "Budget.session", "CallUsage.session", "ChangedFile.session",
        "Comment.session", "Event.session",
        "EventLink.session",
        "EventText.session", "Export.session", "FileChange.session", "FileScan.session", "FileText.session",
        "Grant.session", "GraphNode.session",
        "HiddenSpan.session",
        "ImportedSession.session", "LedgerEntry.session",
        "ModelRequest.counted_in", "ModelRequest.session", "Pruning.session", "QueuedMessage.session",
        "Redaction.session", "Registration.session",
        "RunFinding.session", "RunSummary.session", "SearchBacklog.session", "SearchBlock.session", "SeenMark.session",
        "ShareLink.session",
        "Session.continues", "Session.parent",
        "SessionMeasures.session", "SessionOverview.session", "SessionRetention.session",
        "SessionUsage.session", "SlackReply.session",
        "SpanStream.session", "StateValue.session",
        "TakenSession.session", "ToolCall.session",
        "TriggerRun.session", "Turn.session", "TurnInFlight.session", "TurnUsage.session", "Verdict.session",
    }  # fmt: skip


def test_sub_agents_sessions_stay_unless_they_are_to_go_too(agent, session):
    child = Session.objects.create(workspace_id=agent.workspace_id, agent=agent, parent=session)
    grandchild = Session.objects.create(workspace_id=agent.workspace_id, agent=agent, parent=child)
    erasing.erase_session(session, by=BY)
    child.refresh_from_db()
    assert child.parent_id is None
    erasing.erase_session(child, by=BY, with_children=True)
    assert not Session.objects.filter(pk__in=[child.pk, grandchild.pk]).exists()
    assert Tombstone.objects.count() == 3


def test_a_session_that_continues_it_stays(session, scripted_agent):
    append(session, user("Hello"))
    later = continuations.continue_session(session, scripted_agent, by=BY, origin="chat")
    erasing.erase_session(session, by=BY)
    later.refresh_from_db()
    assert later.continues is None
    assert continuations.context_for(later) == ""


def test_responses_that_others_repeat_are_counted_there():
    workspace = fresh("erased")
    for name in ("first", "second", "fourth"):
        drop(workspace, FILES[name], f"{name}.jsonl")
    before = usage.Period(workspace.pk).total().total_tokens
    first = Session.objects.get(workspace=workspace, external_id="first")
    erasing.erase_session(first, by=BY)
    told = {each.external_id: each.total_tokens for each in Session.objects.filter(workspace=workspace)}
    # Of its three responses two stand in the others as well, and are counted in one of them now.
    assert sorted(told.values()) == [BILLED, 3 * BILLED]
    assert before - usage.Period(workspace.pk).total().total_tokens == BILLED


def test_what_was_spent_stays_in_the_sums_of_every_grouping(agent):
    gone, kept = ran(agent, "0.50", tool="lookup", price="0.02"), ran(agent, "0.25", tool="lookup", price="0.01")
    period = usage.Period(agent.workspace_id)
    before = period.total()
    erasing.erase_session(gone, by=BY)
    after = period.total()
    assert (after.cost_amount, after.data, after.total_tokens) == (before.cost_amount, before.data, before.total_tokens)
    for by in usage.GROUPS:
        groups = period.groups(by, limit=100)
        assert sum(each.cost_amount or 0 for each in groups) == before.cost_amount == Decimal("0.75")
        assert sum(each.data or 0 for each in groups) == before.data == Decimal("0.03")
    assert [each.name for each in period.groups("session", limit=100)] == [str(kept.pk), None]
    assert TurnUsage.objects.count() == CallUsage.objects.count() == 2
    assert LedgerEntry.objects.filter(session_id=gone.pk).exists()
    assert list(ledger.gaps(agent.workspace_id)) == []
    assert [each.session_id for each in ledger.calls(agent.workspace_id, ledger.CallFilter())] == [kept.pk]


def test_the_post_that_began_it_loses_its_content(agent, scripted_agent):
    endpoint, _ = webhook_endpoints.create(agent.workspace_id, "orders", "none", agent=scripted_agent, by=BY, secret="")
    delivery = webhook_deliveries.WebhookDelivery.objects.create(
        workspace_id=agent.workspace_id, endpoint=endpoint, delivery_id="1", size=2, payload={"for": WORDS},
        headers={"X-Name": WORDS}, source_ip="203.0.113.4",
    )  # fmt: skip
    session = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
    run = TriggerRun.objects.create(
        workspace_id=agent.workspace_id, kind="webhook", delivery=delivery, session=session, fire_key="1",
        status="started", input_text=WORDS,
    )  # fmt: skip
    erasing.erase_session(session, by=BY)
    assert tables_with(WORDS) == set()
    run.refresh_from_db()
    assert run.session is None


def test_an_answer_kept_for_a_repeated_post_goes(full):
    IdempotentAnswer.objects.create(
        workspace_id=full.workspace_id, key="1", route="POST /", body_sha256="", status=201,
        answer={"id": str(full.pk), "title": WORDS},
    )  # fmt: skip
    erasing.erase_session(full, by=BY)
    assert not IdempotentAnswer.objects.exists()


def test_the_file_of_an_export_goes_and_one_that_is_written_meanwhile(
    full, document_storage, django_capture_on_commit_callbacks
):
    folder = document_storage.parent / "exports"
    [export] = Export.objects.all()
    assert [path.name for path in folder.iterdir()] == [str(export.pk)]
    with django_capture_on_commit_callbacks(execute=True):
        erasing.erase_session(full, by=BY)
    assert list(folder.iterdir()) == []
    (folder / str(export.pk)).write_text(WORDS)  # a worker was at it, and ends now
    export_jobs._keep(export, b"")
    assert list(folder.iterdir()) == [] and not Export.objects.exists()


def test_a_deleted_session_can_be_deleted_once(full):
    erasing.erase_session(full, by=BY)
    with pytest.raises(Session.DoesNotExist):
        erasing.erase_session(full, by=BY)
    assert Tombstone.objects.count() == 1

"""A share link shows one session as it was, without what is left out, until it ends; everything else opens nothing."""

from __future__ import annotations

import os
import re
import time
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from sessions_app.drafts import EventDraft, ToolDraft, Usage
from sessions_app.models import ApiKey, AuditEntry, Member, Role, Session
from sessions_app.services import audit
from sessions_app.services.people import api_keys, members
from vcon_app.models import Export, ShareLink
from vcon_app.queries import share_links as queries
from vcon_app.services.documents import storage
from vcon_app.services.erasure import erasing
from vcon_app.services.exports import export_jobs, redactions, sharing
from vcon_app.services.shares import share_links

from ..build import append, event, user
from ..files import transcript
from ..imports.test_imports import drop

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("document_storage")]
CARD = "4711 0815 2342"
ADMIN = audit.Actor("command", name="Ada")


@pytest.fixture
def rosa(workspace) -> Member:
    return members.add_member(workspace, "rosa@example.org", "Rosa", Role.REVIEWER, by=ADMIN)[0]


@pytest.fixture
def by(rosa) -> audit.Actor:
    return audit.Actor("member", str(rosa.pk), "Rosa")


@pytest.fixture
def shop(session) -> Session:
    """A session of a workspace that has links turned on."""
    share_links.switch(session.workspace, True, by=ADMIN)
    session.title = "Order of a parcel"
    session.save()
    append(
        session,
        user(f"My card is {CARD}", actor_name="Zacharias Quill"),
        event("reasoning", text="They want it back, says the thought", actor_kind="agent"),
        EventDraft(
            kind="tool_call", key="c", actor_kind="agent",
            tool=ToolDraft(call_id="1", name="read_file", arguments={"path": "/home/quill/secret-plan.txt"}),
        ),
        EventDraft(
            kind="tool_result", key="r", actor_kind="tool", text="result words of the plan", parent="c",
            tool=ToolDraft(call_id="1", name="read_file", status="ok"),
        ),
        event("artifact", text="contents of the file", data={"name": "salaries-2026.xlsx"}),
        event("agent_message", text="Done with it", actor_kind="agent"),
    )  # fmt: skip
    return session


def make(session: Session, by: audit.Actor, *kinds: str, hours: int = 24, **more) -> tuple[ShareLink, str]:
    session.refresh_from_db()
    rules = more.pop("rules", [{"what": kind} for kind in kinds])
    return sharing.make(session, hours=hours, by=by, rules=rules, **more)


def page_of(secret: str) -> str:
    opened = share_links.open_page(secret)
    assert opened, "the link opens"
    file, size = opened
    with file:
        data = file.read()
    assert len(data) == size
    return data.decode()


@pytest.mark.parametrize("kinds", [(), ("reasoning",)])
def test_what_it_cost_is_left_out_of_all_of_the_page(shop, by, kinds):
    """The page named it in its head, in its outline, above each turn and beside each request."""
    used = {"usage": Usage(input_tokens=123_456, output_tokens=7_891), "cost": Decimal("4.5678")}
    append(shop, user("And again"), event("model_request", key="req", actor_kind="system", model="claude-x", **used))
    shown = page_of(make(shop, by, *kinds)[1])
    assert "$4.57" in shown and "123,456" in shown and ">Cost<" in shown and "claude-x" in shown
    link, secret = make(shop, by, *kinds, without_cost=True)
    page = page_of(secret)
    assert link.without_cost and "claude-x" in page
    assert not [word for word in ("$", "123,456", "7,891", "123k", ">Cost<", ">Tokens<", "cache read") if word in page]
    assert "What it cost is not shown" in page
    assert AuditEntry.objects.filter(action="session.shared").latest("seq").details["without_cost"]


def test_the_name_of_the_file_that_it_came_from_is_not_on_the_page(workspace, by):
    """A name may say what is left out of the page."""
    drop(workspace, transcript(2), "salaries of Zacharias.jsonl")
    share_links.switch(workspace, True, by=ADMIN)
    page = page_of(make(Session.objects.get(), by)[1])
    assert "Zacharias" not in page and "Read from" not in page


def test_links_are_off_until_an_admin_turns_them_on(session, by):
    append(session, user("Hello"))
    with pytest.raises(sharing.CannotShare, match="an admin turns them on"):
        make(session, by)
    share_links.switch(session.workspace, True, by=ADMIN)
    make(session, by)
    assert AuditEntry.objects.filter(action="workspace.sharing_on", actor_name="Ada").count() == 1


@pytest.mark.parametrize("hours", [0, -1, 30 * 24 + 1, 10**9])
def test_every_link_expires_within_30_days(shop, by, hours):
    with pytest.raises(sharing.CannotShare, match="1 to 720 hours"):
        make(shop, by, hours=hours)


def test_the_secret_has_256_bits_and_is_kept_nowhere(shop, by):
    link, secret = make(shop, by)
    assert len(secret) == 43 and re.fullmatch(r"[\w-]+", secret)
    assert link.sha256 == share_links.sha256(secret)
    kept = [row for model in (ShareLink, Export, AuditEntry) for row in model.objects.values()]
    assert secret not in str(kept)


def test_the_page_says_who_shares_what_until_when_and_leads_nowhere(shop, by):
    _, secret = make(shop, by)
    page = page_of(secret)
    assert "<b>Rosa</b> shares this session from the Countersign desk" in page
    assert re.search(r"It is shown as of <time[^>]*>[^<]+</time>, 6 events; what came later is not here", page)
    assert "Nothing of these events was left out" in page and "It has no signature" in page
    assert {
        address for address in re.findall(r'(?:href|src|action)="([^"]+)"', page) if not address.startswith("#")
    } == set()
    assert "<script" not in page and str(shop.pk) not in page.replace(f"<code>{shop.pk}</code>", "")


def test_the_hash_on_the_page_is_that_of_the_log(shop, by):
    _, secret = make(shop, by)
    link = shop.links.latest("last_seq")
    assert bytes(link.hash).hex() in page_of(secret)
    _, redacted = make(shop, by, "people")
    assert bytes(link.hash).hex() not in page_of(redacted), "words that were left out could be tried against it"


def test_later_events_are_not_shown_and_neither_is_what_they_changed(shop, by):
    link, secret = make(shop, by)
    append(shop, user("Tomorrow's secret"))
    Session.objects.update(title="Renamed since", phase="failed", ended_at=timezone.now())
    page = page_of(secret)
    assert "Tomorrow" not in page and "Renamed" not in page
    assert (link.last_seq, Session.objects.get().last_seq) == (6, 7)


def test_a_page_that_a_worker_writes_later_shows_no_later_event(shop, by, monkeypatch):
    monkeypatch.setattr(export_jobs, "INLINE_EVENTS", 0)
    monkeypatch.setattr(export_jobs.task_queue, "enqueue", lambda *args: None)
    link, secret = make(shop, by)
    assert (queries.state_of(link), share_links.open_page(secret)) == ("writing", None)
    append(shop, user("Tomorrow's secret"), event("error", text="A later fault"))
    Session.objects.update(phase="failed", ended_at=timezone.now(), summary="It failed tomorrow")
    export_jobs.run(link.export_id)
    page = page_of(secret)
    assert "omorrow" not in page and "later fault" not in page and "failed" not in page
    assert "Done with it" in page


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("people", "Zacharias"),
        ("reasoning", "says the thought"),
        ("arguments", "secret-plan"),
        ("result", "result words of the plan"),
        ("attachments", "salaries-2026"),
        ("title", "Order of a parcel"),
    ],
)
def test_a_kind_that_is_left_out_stands_nowhere_on_the_page(shop, by, kind, words):
    assert words in page_of(make(shop, by)[1])
    link, secret = make(shop, by, kind)
    assert (queries.state_of(link), link.leaks) == ("open", [])
    page = page_of(secret)
    assert words not in page
    assert f"Left out (<b>{kind}</b>)" in page


def test_places_that_lost_something_are_marked(shop, by):
    page = page_of(make(shop, by, "reasoning", "arguments", "result")[1])
    assert page.count('class="removed"') == 2, "the thought, and the call with its result on one card"
    assert "Left out here: arguments, result" in page


@pytest.mark.parametrize("place", ["title", "summary", "event", "tags"])
def test_words_that_still_stand_somewhere_keep_the_link_shut(shop, by, place):
    if place == "event":
        append(shop, event("unknown", data={"raw": {"deep": [f"number {CARD}"]}}))
    elif place == "tags":
        Session.objects.update(tags=[f"card {CARD}"])
    else:
        Session.objects.update(**{place: f"About {CARD}"})
    link, secret = make(shop, by, rules=[{"what": "containing", "words": CARD}])
    link.refresh_from_db()
    assert (queries.state_of(link), share_links.open_page(secret)) == ("held", None)
    assert link.leak_count >= 1 and CARD in str(link.leaks)
    share_links.accept(link, by=by)
    assert CARD in page_of(secret)
    assert AuditEntry.objects.filter(action="session.share_accepted").count() == 1
    with pytest.raises(share_links.NotHeld):
        share_links.accept(link, by=by)


def test_the_card_and_the_outline_say_nothing_that_was_left_out(shop, by):
    link, secret = make(
        shop, by, rules=[{"what": "containing", "words": CARD}, {"what": "people"}, {"what": "arguments"}]
    )
    page = page_of(secret)
    assert queries.state_of(link) == "open"
    assert CARD not in page and "Quill" not in page and "What happened" in page


def test_a_link_of_an_older_redaction_ends_where_that_was_made(shop, by):
    made = redactions.make(shop, [{"what": "text", "seq": 1}], "Card", by=by)
    append(shop, user("Nobody has looked at this"))
    link, secret = make(shop, by, redaction=made)
    page = page_of(secret)
    assert (link.last_seq, link.as_of) == (6, made.export.created_at)
    assert CARD not in page and "Nobody has looked" not in page and "<b>Card</b>" in page


def test_a_redaction_that_is_held_cannot_be_shared(shop, by):
    append(shop, user(f"Again: My card is {CARD}"))
    made = redactions.make(shop, [{"what": "text", "seq": 1}], "Card", by=by)
    assert redactions.state_of(made) == "held"
    with pytest.raises(sharing.CannotShare, match="this redaction is held"):
        make(shop, by, redaction=made)


def test_openings_are_counted_and_the_audit_is_not_flooded(shop, by):
    link, secret = make(shop, by)
    for _ in range(5):
        page_of(secret)
    link.refresh_from_db()
    assert (link.opened, link.last_opened_at is not None) == (5, True)
    [entry] = AuditEntry.objects.filter(action="session.share_opened")
    assert (entry.details["opened"], entry.subject_id, entry.actor_kind) == (1, str(shop.pk), "share_link")
    ShareLink.objects.update(told_at=timezone.now() - share_links.TOLD_EVERY)
    page_of(secret)
    assert AuditEntry.objects.filter(action="session.share_opened").latest("seq").details["opened"] == 6


def end_by_withdrawal(link: ShareLink, by: audit.Actor) -> None:
    share_links.withdraw(link, by=by)


def end_by_time(link: ShareLink, by: audit.Actor) -> None:
    ShareLink.objects.filter(pk=link.pk).update(expires_at=timezone.now())


def end_by_switch(link: ShareLink, by: audit.Actor) -> None:
    share_links.switch(link.workspace, False, by=ADMIN)


def end_by_removal(link: ShareLink, by: audit.Actor) -> None:
    members.remove_member(Member.objects.get(pk=by.id), by=ADMIN)


def end_by_demotion(link: ShareLink, by: audit.Actor) -> None:
    members.change_role(Member.objects.get(pk=by.id), Role.VIEWER, by=ADMIN)


def end_by_erasure(link: ShareLink, by: audit.Actor) -> None:
    erasing.erase_session(link.session, by=by)


def end_by_loss(link: ShareLink, by: audit.Actor) -> None:
    storage.of_exports().remove(str(link.export_id))


@pytest.mark.parametrize(
    "end",
    [end_by_withdrawal, end_by_time, end_by_switch, end_by_removal, end_by_demotion, end_by_erasure, end_by_loss],
)
def test_a_link_ends_at_once(shop, by, end):
    link, secret = make(shop, by)
    page_of(secret)
    end(link, by)
    assert share_links.open_page(secret) is None


def test_links_that_were_ended_by_the_switch_stay_ended(shop, by):
    _, secret = make(shop, by)
    share_links.switch(shop.workspace, False, by=ADMIN)
    share_links.switch(shop.workspace, True, by=ADMIN)
    assert share_links.open_page(secret) is None
    assert AuditEntry.objects.filter(action="session.share_withdrawn").count() == 1


def test_a_link_of_a_key_ends_with_the_key(shop, workspace):
    key, _ = api_keys.create_api_key(workspace, "robot", Role.REVIEWER, by=ADMIN)
    _, secret = make(shop, audit.Actor("api_key", str(key.pk), "robot"))
    page_of(secret)
    ApiKey.objects.update(revoked_at=timezone.now())
    assert share_links.open_page(secret) is None


def test_withdrawal_takes_the_file_away_and_the_second_changes_nothing(shop, by, django_capture_on_commit_callbacks):
    link, _ = make(shop, by)
    with django_capture_on_commit_callbacks(execute=True):
        share_links.withdraw(link, by=by)
        share_links.withdraw(link, by=by)
    assert not storage.of_exports().exists(str(link.export_id))
    assert AuditEntry.objects.filter(action="session.share_withdrawn").count() == 1


def test_pages_of_links_outlive_the_day_after_which_exports_go(shop, by, document_storage):
    link, secret = make(shop, by)
    usual = export_jobs.start_export(shop, "jsonl", by=by)
    old = time.time() - timedelta(days=2).total_seconds()
    for name in (link.export_id, usual.pk):
        os.utime(storage.of_exports().root / str(name), (old, old))
    assert export_jobs.remove_old_files() == 1
    page_of(secret)
    end_by_time(link, by)
    assert export_jobs.remove_old_files() == 1


@pytest.mark.parametrize("guess", ["", "x", "A" * 43, "\ud800", "%00", "' OR 1=1 --"])
def test_what_is_no_secret_opens_nothing(shop, by, guess):
    link, secret = make(shop, by)
    assert share_links.open_page(guess) is None
    assert share_links.open_page(secret[:-1]) is None and share_links.open_page(link.sha256) is None
    assert not AuditEntry.objects.filter(action="session.share_opened").exists()


def test_hostile_words_stay_words(shop, by):
    evil = "</style></title><script>alert(1)</script><img src=x onerror=alert(2)><base href=//evil.example>"
    shop.workspace.name = evil
    shop.workspace.save()
    Session.objects.update(title=evil, summary=evil, user_id=evil, external_id=evil[:200], tags=[evil])
    append(shop, user(evil, actor_name=evil), event("error", text=evil), event("unknown", data={evil: evil}))
    page = page_of(make(shop, audit.Actor(by.kind, by.id, evil))[1])
    assert "<script" not in page and "<img" not in page and "<base" not in page
    assert page.count("<style>") == page.count("</style>") == 1

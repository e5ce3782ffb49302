"""Browsers of members are told of what they may decide: encrypted, without arguments, once, and of how it ended."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.encryption import Unreadable
from sessions_app.models import Approval, AuditEntry, Member, Notice, PushKey, PushSubscription, Role
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, endings, requests
from sessions_app.services.notices import choices, outbox, push, push_keys, sending, subscriptions
from sessions_app.services.people import members
from sessions_app.services.upkeep import installation
from tests.fakes.push_service import Browser, PushService, push_service

KEY = "sk-ant-" + "a" * 40
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def service(settings):
    settings.PRIVATE_HOSTS, settings.PUBLIC_URL = {("127.0.0.1", None)}, "https://desk.example"
    with push_service() as known:
        yield known


def member(workspace, name: str, role: Role = Role.REVIEWER) -> Member:
    return members.add_member(workspace, f"{name}@example.org", name, role, by=audit.COMMAND)[0]


def subscribed(service: PushService, person: Member) -> Browser:
    browser = service.browser(push_keys.current().public)
    subscriptions.subscribe(person, **browser.form, agent=FIREFOX)
    return browser


@pytest.fixture
def rosa(workspace) -> Member:
    return member(workspace, "rosa")


@pytest.fixture
def browser(service, rosa) -> Browser:
    return subscribed(service, rosa)


def ask(session, arguments=None, tool="refund", **more) -> Approval:
    return requests.request(session, requests.Question(tool, arguments or {"amount": 4}, **more), by=audit.COMMAND)


def send_all() -> None:
    """As workers and sweep would, some time later."""
    PushSubscription.objects.update(next_at=None)
    choices.write_late_endings()
    waiting = Notice.objects.exclude(next_try_at=None)
    waiting.update(next_try_at=timezone.now())
    for pk in list(waiting.values_list("pk", flat=True)):
        sending.send(pk)


def decide(asked: Approval, person: Member, verdict: str = "approve") -> None:
    asked.refresh_from_db()
    actor = audit.Actor("member", str(person.pk), str(person))
    decider = decisions.Decider(actor, Role(person.role), "web", member_id=person.pk)
    decisions.decide(asked, decider, decisions.Decision(verdict, version=asked.version, digest=asked.digest))


def test_a_browser_is_told_once_what_asks_and_where_it_is_decided(session, browser):
    asked = ask(session, {"iban": "DE02", "note": KEY}, risk="high", context="The parcel never came")
    send_all()
    (pushed,) = browser.pushes
    assert pushed.told == {
        "asked": {
            "tag": str(asked.pk), "title": "“Refund agent” asks to run refund", "body": "Risk: high, says the agent",
            "url": f"/approvals/{asked.pk}/",
        },
        "ended": [],
    }  # fmt: skip
    assert (pushed.headers["urgency"], pushed.headers["ttl"]) == ("high", "86400")
    Notice.objects.update(next_try_at=None)
    send_all()
    assert len(browser.pushes) == 1 and Notice.objects.get().sent_at
    assert PushSubscription.objects.get().last_sent_at


def test_no_argument_and_no_word_of_the_agent_leaves(session, browser):
    ask(session, {"iban": "DE02", "note": KEY}, context=f"because {KEY}", tool=f"pay\u202e{KEY}")
    send_all()
    told = json.dumps(browser.pushes[0].told, ensure_ascii=False)
    assert not any(word in told for word in ("DE02", "iban", "because", KEY, "\u202e"))
    assert "pay⟨U+202E⟩" in told and "masked" in told


def test_a_push_is_kept_no_longer_than_the_question(session, browser):
    ask(session, expires_in=90)
    send_all()
    (pushed,) = browser.pushes
    assert 0 < int(pushed.headers["ttl"]) <= 90 and "Denied by itself at" in pushed.told["asked"]["body"]


def test_many_questions_are_few_pushes(session, browser, service):
    ask(session, tool="first")
    sending.send(Notice.objects.get().pk)
    for number in range(12):
        ask(session, tool=f"tool_{number % 7}")
    for pk in Notice.objects.exclude(next_try_at=None).values_list("pk", flat=True):
        sending.send(pk)
    assert service.requests == 1, "one push within the pause"
    assert not Notice.objects.filter(next_try_at__lte=timezone.now()).exists(), "nor do they spin until it is over"
    send_all()
    assert service.requests == 2
    told = browser.pushes[1].told["asked"]
    assert told["title"] == "12 calls wait for you" and told["url"] == "/approvals/"
    assert told["body"].startswith("“Refund agent”: tool_0, ") and told["body"].endswith(" and 2 more")


def test_how_it_ended_takes_the_place_of_the_question(session, browser, workspace):
    asked = ask(session)
    send_all()
    decide(asked, member(workspace, "olaf"), "deny")
    send_all()
    question, ending = browser.pushes
    assert ending.told["asked"] is None
    (told,) = ending.told["ended"]
    assert told["tag"] == question.told["asked"]["tag"] and told["body"] == "Denied by olaf"
    assert ending.headers["topic"] == question.headers["topic"], "a browser that is away gets the ending alone"
    send_all()
    assert len(browser.pushes) == 2


def test_a_question_that_is_withdrawn_is_taken_off_too(session, browser):
    ask(session)
    send_all()
    endings.cancel_all(session.pk, reason="interrupted", by=audit.SYSTEM)
    send_all()
    assert [one["body"][:9] for one in browser.pushes[1].told["ended"]] == ["Cancelled"]


def test_who_decided_is_not_told_so(session, browser, rosa):
    asked = ask(session)
    send_all()
    decide(asked, rosa)
    send_all()
    assert len(browser.pushes) == 1


def test_what_was_decided_before_it_was_sent_is_told_to_nobody(session, browser, workspace, service):
    asked = ask(session)
    decide(asked, member(workspace, "olaf"))
    send_all()
    assert service.requests == 0 and "decided before" in Notice.objects.get().error


def test_an_ending_that_came_while_the_push_was_on_its_way_is_told(session, browser, workspace):
    asked = ask(session)
    send_all()
    Notice.objects.update(shown="")  # as if the push were not noted yet
    decide(asked, member(workspace, "olaf"))
    Notice.objects.update(shown="pending", next_try_at=None)
    send_all()
    assert [one["body"] for one in browser.pushes[-1].told["ended"]] == ["Approved by olaf"]
    assert choices.write_late_endings() == 0


def test_very_many_endings_fit_into_what_a_push_service_takes(session, browser, workspace):
    agent = session.agent
    agent.name = "\N{GRINNING FACE}" * 200
    agent.save()
    for _ in range(12):
        asked = ask(session, tool="\N{PILE OF POO}" * 100)
    Notice.objects.update(shown="pending", next_try_at=None)  # as if each had been told by itself
    endings.cancel_all(asked.session_id, reason="interrupted", by=audit.SYSTEM)
    send_all()
    send_all()
    ended = [one["tag"] for pushed in browser.pushes for one in pushed.told["ended"]]
    assert len(browser.pushes) == 2 and len(set(ended)) == len(ended) > 4
    assert all(pushed.length <= 4096 for pushed in browser.pushes)


@pytest.mark.parametrize("status", [404, 410])
def test_a_browser_that_is_gone_is_forgotten(session, browser, service, rosa, status):
    service.answers = [(status, {})]
    ask(session)
    send_all()
    assert not PushSubscription.objects.exists() and not Notice.objects.exists()
    entry = AuditEntry.objects.get(action="push_subscription.gone")
    assert (entry.actor_kind, entry.details["member"]) == ("system", str(rosa))
    ask(session)
    assert not Notice.objects.exists()


@pytest.mark.parametrize(
    ("answer", "seconds"), [((503, {}), 30), ((429, {}), 30), ((429, {"Retry-After": "900"}), 900), ((500, {}), 30)]
)
def test_a_push_service_that_fails_is_asked_again_when_it_says(session, browser, service, answer, seconds):
    service.answers = [answer]
    ask(session)
    send_all()
    notice, kept = Notice.objects.get(), PushSubscription.objects.get()
    wait = (notice.next_try_at - timezone.now()).total_seconds()
    assert seconds - 10 < wait <= seconds and kept.next_at == notice.next_try_at
    assert str(answer[0]) in kept.problem
    ask(session)
    sending.send(Notice.objects.order_by("-id")[0].pk)
    assert service.requests == 1, "what is asked meanwhile waits, too"
    send_all()
    assert browser.pushes[0].told["asked"]["title"] == "2 calls wait for you"
    assert PushSubscription.objects.get().problem == ""


def test_a_push_service_that_fails_for_hours_is_given_up(session, browser, service):
    service.answers = [(503, {})] * 20
    ask(session)
    for _ in range(len(outbox.WAITS) + 1):
        send_all()
    notice = Notice.objects.get()
    assert notice.next_try_at is None and notice.error.endswith("given up") and notice.sent_at is None
    send_all()
    assert service.requests == len(outbox.WAITS) + 1


def test_a_push_service_that_refuses_for_good_is_not_asked_again(session, browser, service):
    service.answers = [(403, {})]
    ask(session)
    send_all()
    send_all()
    assert service.requests == 1 and "403" in PushSubscription.objects.get().problem


def test_one_browser_that_fails_keeps_no_other_from_being_told(session, browser, service, rosa):
    second = subscribed(service, rosa)
    browser.is_gone = True
    ask(session)
    send_all()
    assert len(second.pushes) == 1 and PushSubscription.objects.count() == 1


def test_a_redirect_is_not_followed(session, browser, service):
    service.answers = [(307, {"Location": f"{service.origin}/push/1"})]
    ask(session)
    send_all()
    assert service.requests == 1 and browser.pushes == []


def test_nobody_makes_the_desk_call_into_its_own_network(session, rosa, browser, service, settings):
    settings.PRIVATE_HOSTS = set()
    ask(session)
    send_all()
    assert service.requests == 0 and "private network" in PushSubscription.objects.get().problem
    with pytest.raises(subscriptions.Refused, match="https://HOST"):
        subscriptions.subscribe(rosa, **browser.form)
    over_tls = browser.form | {"endpoint": browser.endpoint.replace("http://", "https://")}
    subscriptions.subscribe(rosa, **over_tls)
    PushSubscription.objects.exclude(endpoint=over_tls["endpoint"]).delete()
    ask(session)
    send_all()
    assert service.requests == 0 and "private network" in PushSubscription.objects.get().problem


@pytest.mark.parametrize(
    "endpoint",
    ["", "nothing", "ftp://push.example/1", "https:///1", "https://user:pw@push.example/1", "https://push.example/ 1",
     "https://püsh.example/1", "https://push.example/" + "x" * 2_000, "http://push.example/1", "https://[::1"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(rosa, service, endpoint):
    form = service.browser(push_keys.current().public).form | {"endpoint": endpoint}
    with pytest.raises(subscriptions.Refused):
        subscriptions.subscribe(rosa, **form)
    assert not PushSubscription.objects.exists()


def test_a_member_has_ten_browsers_and_the_same_again_is_the_same(rosa, service):
    last = [subscribed(service, rosa) for _ in range(subscriptions.MOST)][-1]
    subscriptions.subscribe(rosa, **last.form)
    with pytest.raises(subscriptions.Refused, match="10 browsers"):
        subscribed(service, rosa)
    assert PushSubscription.objects.count() == 10


def test_who_subscribes_in_a_browser_takes_it_from_who_used_it_before(session, workspace, rosa, browser):
    olaf = member(workspace, "olaf")
    subscriptions.subscribe(olaf, **browser.form)
    assert [one.member for one in PushSubscription.objects.all()] == [olaf]


def test_who_may_not_decide_or_was_switched_off_is_not_told(session, workspace, service, rosa, browser):
    viewer = subscribed(service, member(workspace, "vito", Role.VIEWER))
    ask(session)
    Member.objects.get(pk=rosa.pk).user.__class__.objects.filter(pk=rosa.user_id).update(is_active=False)
    send_all()
    assert viewer.pushes == [] and browser.pushes == []


def test_only_what_the_member_chose_is_pushed(session, rosa, browser):
    choices.choose(rosa, mail=False, least_risk="high", push=True)
    ask(session)
    choices.choose(rosa, mail=False, least_risk="", push=False)
    ask(session)
    assert not Notice.objects.exists()


def test_a_new_key_forgets_browsers_of_the_one_before(session, browser, settings):
    before = push_keys.current().public
    settings.SECRET_KEY = "another key of at least thirty-two characters"
    assert push_keys.current().public != before
    assert not PushSubscription.objects.exists() and PushKey.objects.count() == 1


def test_a_host_with_another_secret_key_replaces_nothing_and_says_so(session, browser, settings):
    installation.keep_secret_key_mark()
    settings.SECRET_KEY = "another key of at least thirty-two characters"
    with pytest.raises(Unreadable):
        push_keys.current()
    ask(session)
    send_all()
    assert browser.pushes == [] and "this host cannot send pushes" in PushSubscription.objects.get().problem


def test_the_key_is_encrypted_at_rest(db):
    from django.db import connection

    push_keys.current()
    with connection.cursor() as cursor:
        cursor.execute("SELECT private FROM sessions_app_pushkey")
        assert "PRIVATE" not in cursor.fetchone()[0]


def test_subscribing_and_removing_are_in_the_audit_log(rosa, browser):
    subscriptions.remove(PushSubscription.objects.select_related("member__user").get())
    rows = AuditEntry.objects.filter(action__startswith="push_subscription.").order_by("seq")
    assert [row.action.partition(".")[2] for row in rows] == ["added", "removed"]
    assert rows[0].details == {"browser": "Firefox on Linux", "push_service": "127.0.0.1"}
    assert browser.endpoint not in json.dumps(rows[0].details)


def test_a_worker_that_dies_leaves_it_to_the_sweep(session, browser, monkeypatch):
    ask(session)
    assert outbox.sweep() == 1

    class Killed(BaseException):
        pass

    def die(*_: object) -> int:
        raise Killed

    monkeypatch.setattr(push.posting, "post", die)
    with pytest.raises(Killed):
        sending.send(Notice.objects.get().pk)
    monkeypatch.undo()
    assert outbox.sweep() == 0, "it is claimed"
    Notice.objects.update(next_try_at=timezone.now() - timedelta(seconds=1))
    send_all()
    assert len(browser.pushes) == 1


def test_a_test_is_shown_once_in_the_pause_and_says_nothing_of_calls(rosa, browser):
    mine = PushSubscription.objects.get(member=rosa)
    assert push.tell(mine, push.TEST) == ""
    (pushed,) = browser.pushes
    assert pushed.told["asked"]["body"] == "Notices arrive in this browser." and pushed.told["ended"] == []
    assert "a moment ago" in push.tell(mine, push.TEST) and len(browser.pushes) == 1


def test_a_test_finds_that_a_browser_is_gone(service, rosa, browser):
    service.answers = [(410, {})]
    mine = PushSubscription.objects.get(member=rosa)
    assert "410" in push.tell(mine, push.TEST)
    assert not PushSubscription.objects.filter(pk=mine.pk).exists()

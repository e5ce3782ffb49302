"""The escalation channel: what waits for a person is asked there, decided by members alone, and told when decided."""

from __future__ import annotations

import pytest

from sessions_app.channels.slack import clicks, escalation, sweep
from sessions_app.models import Approval, AuditEntry, Budget, Role, Session, SlackInstallation, SlackNotice
from sessions_app.services import agents, audit, sessions, workspaces
from sessions_app.services.approvals import decisions, endings, requests
from sessions_app.services.money import budgets
from sessions_app.services.people import members
from tests.fakes.slack import Fault

from .work import tell

BY = audit.Actor("member", "m", "Ines")
PEOPLE = "C0PEOPLE1"


def asks(session: Session, tool: str = "issue_refund", arguments=None, **fields) -> Approval:
    arguments = {"order": "4711"} if arguments is None else arguments
    approval = requests.request(
        session, requests.Question(tool, arguments, **fields), by=audit.Actor("agent", "a", "Parrot")
    )
    tell()
    return approval


def buttons(message) -> list[str]:
    return [e["text"]["text"] for b in message.blocks if b["type"] == "actions" for e in b["elements"]]


def words(message) -> str:
    blocks = (block.get("text") or block["elements"][0] for block in message.blocks if block["type"] != "actions")
    return "\n".join(block["text"] for block in blocks)


def decide(approval: Approval, verdict: str = "approve", **more) -> None:
    decider = decisions.Decider(BY, Role.REVIEWER, "web")
    decisions.decide(
        approval, decider, decisions.Decision(verdict, version=approval.version, digest=approval.digest, **more)
    )
    tell()


def at_once() -> None:
    """As if the pauses that Slack was given were over."""
    SlackNotice.objects.update(retry_at=None)
    SlackInstallation.objects.update(next_at=None)


def test_the_question_says_who_asks_what_why_and_what_it_cost_so_far(slack, connected_session):
    approval = asks(connected_session, server="shop", context="The parcel <never> came")
    (message,) = slack.posted(PEOPLE)
    assert "*“Parrot”* asks to run `shop/issue_refund`" in words(message)
    assert '"order": "4711"' in words(message) and "The parcel &lt;never&gt; came" in words(message)
    assert f"chat/{connected_session.pk}|Order 4711>" in words(message) and "cost so far —" in words(message)
    assert buttons(message) == ["Approve", "Deny", "Open in Countersign", "Stop this agent"]
    assert message.blocks[-1]["elements"][2]["url"] == f"https://desk.example.org/approvals/{approval.pk}/"
    assert message.text == "“Parrot” asks to run `shop/issue_refund`", "a notification shows no arguments"


def test_escalation_is_posted_once_however_often_it_is_enqueued(slack, connected_session):
    asks(connected_session)
    tell()
    sweep.sweep()
    assert len(slack.posted(PEOPLE)) == 1 and len(slack.called("chat.update")) == 0


def test_lost_escalation_task_is_made_up_by_the_sweep(slack, connected_session):
    requests.request(connected_session, requests.Question("issue_refund", {}), by=BY)
    assert sweep.sweep() == 1 and len(slack.posted(PEOPLE)) == 1
    assert sweep.sweep() == 0


@pytest.mark.parametrize(
    ("verdict", "more", "says"),
    [
        ("approve", {}, "*Approved* by Ines"),
        ("approve", {"arguments": {"order": "4712"}}, "*Approved edited* by Ines"),
        ("deny", {"reason": "Not on a <Sunday>"}, "*Denied* by Ines: Not on a &lt;Sunday&gt;"),
    ],
)
def test_the_message_tells_how_it_was_decided_wherever_that_was(slack, connected_session, verdict, more, says):
    decide(asks(connected_session), verdict, **more)
    (message,) = slack.posted(PEOPLE)
    assert says in words(message) and buttons(message) == []


def test_withdrawn_approval_updates_its_slack_message(slack, connected_session):
    asks(connected_session)
    endings.cancel_all(connected_session.pk, reason="interrupted", by=BY)
    sweep.sweep()
    assert "*Cancelled* by Ines: interrupted" in words(slack.posted(PEOPLE)[0])


def test_approval_decided_before_posting_is_not_posted(slack, connected_session):
    approval = requests.request(connected_session, requests.Question("issue_refund", {}), by=BY)
    decide(approval)
    assert slack.messages == {}


def test_a_reviewer_approves_in_slack(slack, client, connected_session, member):
    kim = member("Kim")
    approval = asks(connected_session)
    slack.clicks(client, slack.posted(PEOPLE)[0], "Approve", "U0KIM0001")
    assert Approval.objects.get().status == "pending", "Slack is answered first"
    sweep.sweep()
    tell()
    approval.refresh_from_db()
    assert approval.status == "approved"
    vote = approval.votes.get()
    assert (vote.member, vote.channel, vote.by) == (kim, "slack", "Kim")
    assert AuditEntry.objects.filter(action="approval.decided", actor_id=str(kim.pk)).exists()
    assert "*Approved* by Kim in Slack" in words(slack.posted(PEOPLE)[0])
    assert slack.ephemeral == []


def test_what_destroys_is_approved_after_slack_has_asked_once_more(slack, client, connected_session, member):
    member("Kim")
    asks(connected_session, "Bash", {"command": "rm -rf /srv"})
    (message,) = slack.posted(PEOPLE)
    approve = message.blocks[-1]["elements"][0]
    assert "rm -rf /srv" in approve["confirm"]["text"]["text"] and approve["confirm"]["confirm"]["text"] == "Approve"
    slack.clicks(client, message, "Approve", "U0KIM0001")
    sweep.sweep()
    assert Approval.objects.get().status == "approved"


def test_a_click_without_the_second_step_approves_nothing_that_destroys(slack, client, connected_session, member):
    member("Kim")
    approval = asks(connected_session, "Bash", {"command": "rm -rf /srv"})
    (message,) = slack.posted(PEOPLE)
    message.blocks[-1]["elements"][0]["value"] = clicks.value_of(approval)  # as in a message of before
    slack.clicks(client, message, "Approve", "U0KIM0001")
    sweep.sweep()
    assert Approval.objects.get().status == "pending"
    assert "takes a second step to approve this" in slack.ephemeral[0]["text"]


def nobody(slack, member, workspace):
    pass


def viewer(slack, member, workspace):
    member("Kim", Role.VIEWER)


def unconfirmed(slack, member, workspace):
    member("Kim")
    slack.users["U0KIM0001"]["is_email_confirmed"] = False


def stranger(slack, member, workspace):
    member("Kim")
    slack.users["U0KIM0001"] |= {"is_stranger": True, "team_id": "T0OTHER01"}


def guest(slack, member, workspace):
    member("Kim")
    slack.users["U0KIM0001"]["is_restricted"] = True


def of_another_workspace(slack, member, workspace):
    other = workspaces.create_workspace("elsewhere", "Elsewhere")
    members.add_member(other, "kim@example.org", "Kim", Role.ADMIN, by=audit.COMMAND)


def inactive(slack, member, workspace):
    user = member("Kim").user
    user.is_active = False
    user.save()


@pytest.mark.parametrize("who", [nobody, viewer, unconfirmed, stranger, guest, of_another_workspace, inactive])
def test_slack_user_who_is_no_reviewer_gets_a_link(slack, client, connected_session, member, workspace, who):
    who(slack, member, workspace)
    approval = asks(connected_session)
    slack.clicks(client, slack.posted(PEOPLE)[0], "Approve", "U0KIM0001")
    sweep.sweep()
    assert Approval.objects.get().status == "pending" and not approval.votes.exists()
    (answer,) = slack.ephemeral
    assert (answer["user"], answer["channel"]) == ("U0KIM0001", PEOPLE)
    assert f"<https://desk.example.org/approvals/{approval.pk}/|Open it in Countersign>" in answer["text"]


def test_the_first_click_wins_and_the_second_learns_of_it(slack, client, connected_session, member):
    member("Kim")
    approval = asks(connected_session)
    shown = slack.posted(PEOPLE)[0]
    stale = [dict(block) for block in shown.blocks]
    decide(approval, "deny")
    shown.blocks = stale
    slack.clicks(client, shown, "Approve", "U0KIM0001")
    sweep.sweep()
    approval.refresh_from_db()
    assert approval.status == "denied"
    assert slack.ephemeral[0]["text"].startswith("Ines decided this already: denied. <https://")


@pytest.mark.parametrize("change", [{"digest": "0" * 64}, {"version": 7}])
def test_a_button_decides_only_what_its_message_showed(slack, client, connected_session, member, change):
    member("Kim")
    asks(connected_session)
    Approval.objects.update(**change)
    slack.clicks(client, slack.posted(PEOPLE)[0], "Approve", "U0KIM0001")
    sweep.sweep()
    assert Approval.objects.get().status == "pending"
    assert "changed since you looked" in slack.ephemeral[0]["text"]


@pytest.mark.parametrize(
    "value", ["", "x", "[]", "{}", '{"approval": "x", "version": 1}', '{"approval": 1, "version": "1"}']
)
def test_malformed_button_value_decides_nothing(slack, client, connected_session, member, value):
    member("Kim")
    asks(connected_session)
    message = slack.posted(PEOPLE)[0]
    message.blocks[-1]["elements"][0]["value"] = value
    slack.clicks(client, message, "Approve", "U0KIM0001")
    sweep.sweep()
    assert Approval.objects.get().status == "pending" and len(slack.ephemeral) == 1


def test_an_approval_of_another_workspace_cannot_be_decided_from_here(slack, client, connected_session, member):
    member("Kim")
    asks(connected_session)
    other = workspaces.create_workspace("elsewhere", "Elsewhere")
    theirs = sessions.create(agents.create(other.id, "Owl", by=BY), by=BY)
    approval = requests.request(theirs, requests.Question("issue_refund", {}), by=BY)
    message = slack.posted(PEOPLE)[0]
    message.blocks[-1]["elements"][0]["value"] = clicks.value_of(approval)
    slack.clicks(client, message, "Approve", "U0KIM0001")
    sweep.sweep()
    assert set(Approval.objects.values_list("status", flat=True)) == {"pending"}
    tell()
    assert len(slack.posted(PEOPLE)) == 1, "nor is it told here"


@pytest.mark.parametrize(
    "arguments",
    [{"text": "x" * 5_000}, {"note": "``` and more"}, {"authorization": "Bearer abcdefghijklmnopqrstuvwxyz0123"}],
)
def test_what_slack_cannot_show_whole_is_not_approved_there(slack, connected_session, arguments):
    asks(connected_session, arguments=arguments)
    (message,) = slack.posted(PEOPLE)
    assert buttons(message) == ["Deny", "Open in Countersign", "Stop this agent"]
    assert "abcdefghijklmnopqrstuvwxyz" not in words(message)


def test_a_question_is_answered_at_the_desk(slack, connected_session):
    asks(connected_session, tool="escalate_to_human", arguments={"question": "Refund or replace?"})
    (message,) = slack.posted(PEOPLE)
    assert buttons(message) == ["Answer in Countersign", "Stop this agent"] and "Refund or replace?" in words(message)


def test_without_a_channel_nobody_is_asked_in_slack(slack, connected_session, installation):
    installation.escalation_channel = ""
    installation.save(update_fields=["escalation_channel"])
    asks(connected_session)
    assert slack.messages == {} and not SlackNotice.objects.exists()


def test_a_channel_that_is_away_now_is_asked_later(slack, connected_session):
    slack.faults = [Fault("chat.postMessage", status=503)]
    asks(connected_session)
    assert slack.messages == {}
    at_once()
    sweep.sweep()
    assert len(slack.posted(PEOPLE)) == 1


def test_a_channel_that_refuses_is_told_on_the_settings_page(slack, connected_session, installation):
    slack.channels.discard(PEOPLE)
    asks(connected_session)
    installation.refresh_from_db()
    assert installation.problem == f"Slack refuses chat_postMessage: channel_not_found in {PEOPLE}"
    assert sweep.sweep() == 0


def test_a_budget_that_is_used_up_wakes_people_once(slack, connected_session, scripted_agent, installation):
    budget = Budget.objects.create(workspace=scripted_agent.workspace, agent=scripted_agent, amount="0.00")
    for _ in range(2):
        budgets.record_reached(connected_session)
        escalation.tell_of_budget(budget.pk)
    (message,) = slack.posted(PEOPLE)
    assert message.text.startswith(":money_with_wings: The budget of *Parrot* is used up: $0.00 for 20")


def crashed_behind(post_of: Approval) -> None:
    """The worker died when Slack had the message and the desk did not know it yet."""
    SlackNotice.objects.filter(approval=post_of).update(ts="", shown="posting", done_at=None, held_until=None)


def test_a_message_that_was_posted_by_who_died_then_is_found_and_goes_on(slack, connected_session):
    approval = asks(connected_session)
    crashed_behind(approval)
    sweep.sweep()
    assert len(slack.posted(PEOPLE)) == 1
    decide(approval)
    assert "*Approved* by Ines" in words(slack.posted(PEOPLE)[0])


def test_recovered_message_shows_the_decision_made_meanwhile(slack, connected_session):
    approval = asks(connected_session)
    crashed_behind(approval)
    decide(approval)
    (message,) = slack.posted(PEOPLE)
    assert "*Approved* by Ines" in words(message) and buttons(message) == []


def test_an_answer_that_was_lost_posts_nothing_twice(slack, connected_session):
    slack.faults = [Fault("chat.postMessage", status=500, after=True)]
    asks(connected_session)
    at_once()
    sweep.sweep()
    assert len(slack.posted(PEOPLE)) == 1 and SlackNotice.objects.get().ts


def test_unreadable_channel_may_get_the_question_twice_but_never_none(slack, connected_session):
    slack.joined.discard(PEOPLE)
    crashed_behind(asks(connected_session))
    sweep.sweep()
    assert len(slack.posted(PEOPLE)) == 2

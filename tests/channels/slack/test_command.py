"""``/countersign stop|status|pending``: with the authority of the button, read by who wrote it alone."""

from __future__ import annotations

import pytest

from sessions_app.channels.slack import sweep
from sessions_app.models import Agent, Approval, Role, SlackEvent, Stop
from sessions_app.services import agents, audit, workspaces
from sessions_app.services.approvals import requests
from sessions_app.services.stops import stops
from tests.fakes.slack import TEAM, Fault

from .test_escalation import asks

KIM = "U0KIM0001"


@pytest.fixture(autouse=True)
def reachable(settings):
    """The address that answers go to is on loopback here: as if the operator had listed it."""
    settings.PRIVATE_HOSTS = {("127.0.0.1", None)}


def write(slack, client, text: str, **more) -> str:
    """What is said to who wrote it; empty where nothing is."""
    before = len(slack.responses)
    assert slack.commands(client, text, KIM, **more).content == b""
    sweep.sweep()
    assert len(slack.responses) <= before + 1 and all(one["response_type"] == "ephemeral" for one in slack.responses)
    return slack.responses[-1]["text"] if len(slack.responses) > before else ""


def test_a_reviewer_stops_an_agent(slack, client, connected_session, member):
    kim = member("Kim")
    asks(connected_session)
    said = write(slack, client, "stop Parrot it repeats itself")
    made = Stop.objects.get()
    assert (made.agent, made.reason, made.made_by_id) == (connected_session.agent, "it repeats itself", str(kim.pk))
    assert Approval.objects.get().status == "denied"
    assert said.startswith("Parrot is stopped by Kim, until somebody lifts it: it repeats itself.")
    assert "<https://desk.example.org/stops/|Lift it in Countersign>" in said


def test_every_agent_is_stopped_by_name(slack, client, connected_session, member):
    member("Kim")
    assert "Every agent of this workspace is stopped" in write(slack, client, "stop all fire drill")
    assert Stop.objects.get().agent is None


def test_of_names_that_begin_alike_the_longest_is_meant(slack, client, connected_session, member):
    member("Kim")
    longer = agents.create(connected_session.workspace_id, "Parrot Two", by=audit.COMMAND)
    write(slack, client, "stop parrot two loud")
    assert (Stop.objects.get().agent, Stop.objects.get().reason) == (longer, "loud")


def test_the_same_command_read_again_is_one_stop(slack, client, connected_session, member):
    """A worker that is killed after it made the stop leaves the command to be read again."""
    member("Kim")
    slack.commands(client, "stop Parrot enough", KIM)
    kept = SlackEvent.objects.get()
    sweep.sweep()
    SlackEvent.objects.update(payload=kept.payload, done_at=None)
    sweep.sweep()
    assert Stop.objects.count() == 1 and len(slack.responses) == 2


def test_without_an_agent_and_a_reason_nothing_is_stopped_and_it_says_so(slack, client, connected_session, member):
    member("Kim")
    for text in ("stop Parrot", "stop all", "stop Owl because", "stop", "stop Parrots x"):
        said = write(slack, client, text)
        assert "say why" in said or "There is no agent" in said or "stop AGENT WHY" in said
    assert not Stop.objects.exists()


def test_a_viewer_reads_and_stops_nobody(slack, client, connected_session, member):
    member("Kim", Role.VIEWER)
    assert "may not stop agents; ask a reviewer" in write(slack, client, "stop Parrot enough")
    assert not Stop.objects.exists()
    assert "No agent is stopped." in write(slack, client, "status")


def test_who_is_no_member_learns_nothing(slack, client, connected_session):
    asks(connected_session)
    for text in ("stop Parrot enough", "status", "pending"):
        said = write(slack, client, text)
        assert said.startswith("Only members of ") and "Parrot" not in said
    assert not Stop.objects.exists()


def test_an_outsider_with_the_address_of_a_member_is_no_member(slack, client, connected_session, member):
    member("Kim")
    slack.users[KIM] |= {"is_stranger": True, "team_id": "T0OTHER01"}
    assert "another Slack workspace" in write(slack, client, "stop Parrot enough") and not Stop.objects.exists()


def test_status_says_what_is_stopped_and_how_much_waits(slack, client, connected_session, member, workspace):
    member("Kim")
    asks(connected_session)
    said = write(slack, client, "status")
    assert said.startswith("No agent is stopped.\n1 call waits for a decision. <https://desk.example.org/approvals/|")
    stops.make(workspace, by=audit.COMMAND, role=Role.ADMIN, reason="<!channel> \u202eflu")
    said = write(slack, client, "status")
    assert "Every agent of this workspace is stopped by command line" in said
    assert "&lt;!channel&gt; ⟨U+202E⟩flu" in said and "0 calls wait" in said


def test_pending_lists_the_most_urgent_first_with_links_and_no_arguments(slack, client, connected_session, member):
    member("Kim")
    asks(connected_session, tool="read", risk="low")
    first = asks(connected_session, tool="drop`\u200b|table", risk="critical", arguments={"card": "PQ4111"})
    for number in range(10):
        requests.request(connected_session, requests.Question(f"tool_{number}", {}), by=audit.COMMAND)
    said = write(slack, client, "pending").splitlines()
    card = f"<https://desk.example.org/approvals/{first.pk}/|“Parrot” asks to run “drop'⟨U+200B⟩¦table”>"
    assert said[0].startswith(f"• {card}")
    assert "risk critical, says the agent, waits for 0 min" in said[0] and "PQ4111" not in "".join(said)
    assert len(said) == 11 and said[-1] == "and <https://desk.example.org/approvals/|2 more>"


def test_nothing_of_another_workspace_is_listed_or_stopped(slack, client, connected_session, member):
    member("Kim")
    other = workspaces.create_workspace("elsewhere", "Elsewhere")
    agents.create(other.pk, "Owl", by=audit.COMMAND)
    assert "There is no agent" in write(slack, client, "stop Owl enough")
    assert write(slack, client, "pending") == "No pending approvals."
    assert Agent.objects.count() == 2 and not Stop.objects.exists()


def test_anything_else_is_told_what_there_is(slack, client, connected_session, member):
    member("Kim")
    for text in ("", "help", "lift it", "pending now", "STOP"):
        assert "`/countersign stop AGENT WHY`" in write(slack, client, text)


def test_a_command_that_is_not_signed_does_nothing(slack, client, connected_session, member):
    member("Kim")
    assert slack.commands(client, "stop all now", KIM, secret="f" * 32).status_code == 401
    assert slack.commands(client, "stop all now", KIM, age=301).status_code == 401
    assert slack.commands(client, "stop all now", KIM, team_id="T0OTHER01").status_code == 401
    assert not SlackEvent.objects.exists() and TEAM != "T0OTHER01"


def test_an_answer_that_slack_does_not_take_is_given_later_and_the_stop_stands(
    slack, client, connected_session, member
):
    member("Kim")
    slack.faults = [Fault("respond", status=503)]
    assert write(slack, client, "stop Parrot enough") == "" and Stop.objects.count() == 1
    SlackEvent.objects.update(retry_at=None)
    sweep.sweep()
    assert len(slack.responses) == 1 and Stop.objects.count() == 1


def test_who_knows_the_secret_cannot_have_the_desk_call_into_its_own_network(
    slack, client, connected_session, member, settings
):  # fmt: skip
    settings.PRIVATE_HOSTS = set()
    member("Kim")
    assert write(slack, client, "status") == "" and slack.responses == []

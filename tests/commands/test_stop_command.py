"""``manage.py stop``: from a terminal, when no page is at hand."""

from __future__ import annotations

import io
import re

import pytest
from django.core.management import CommandError, call_command

from sessions_app.models import Stop
from sessions_app.queries import stops as queries
from sessions_app.services import agents, workspaces

from ..services.approvals.test_decisions import ask

pytestmark = pytest.mark.django_db


def stop(*arguments: str) -> str:
    out = io.StringIO()
    call_command("stop", *arguments, stdout=out)
    return out.getvalue()


def test_every_agent_is_stopped_and_what_was_ended_is_told(session):
    ask(session)
    told = stop("--reason", "it refunds", "--for", "2h")
    made = Stop.objects.get()
    assert f"{made.pk}  every agent of this workspace is stopped by command line, until" in told
    assert "denied 1 calls, interrupted 0 turns; nothing new begins" in told
    assert round((made.until - made.made_at).total_seconds()) == 7_200
    assert stop("list").startswith(str(made.pk))


def test_one_agent_is_stopped_and_lifted(agent, scripted_agent):
    stop("--agent", "Refund agent", "--reason", "it refunds")
    assert queries.of_agent(agent.workspace_id, agent.pk)
    assert queries.of_agent(agent.workspace_id, scripted_agent.pk) is None
    assert "lifted" in stop("lift", "--reason", "mended")
    made = Stop.objects.get()
    assert (made.lifted_by, made.lift_reason) == ("command line", "mended")
    with pytest.raises(CommandError, match="was lifted by command line"):
        stop("lift", str(made.pk))


def test_of_two_the_id_says_which(agent):
    stop("--reason", "one"), stop("--reason", "two")
    with pytest.raises(CommandError, match="2 stops are in force"):
        stop("lift")
    first = Stop.objects.order_by("id")[0]
    stop("lift", str(first.pk))
    assert queries.in_force(agent.workspace_id).get().reason == "two"


@pytest.mark.parametrize(("arguments", "message"), [
    (("--reason", ""), "--reason: say why"), (("--agent", "nobody", "--reason", "x"), 'no agent "nobody"'),
    (("--reason", "x", "--for", "soon"), '"soon" is no time'), (("--reason", "x", "--for", "9999d"), '"9999d" is no'),
    (("lift", "x"), 'no stop "x"'), (("make", "Refund agent", "--reason", "x"), "is not expected here"),
    (("--reason", "x", "--workspace", "none"), 'no workspace "none"'),
])  # fmt: skip
def test_a_wrong_command_stops_nobody_and_says_why(agent, arguments, message):
    with pytest.raises(CommandError, match=message):
        stop(*arguments)
    assert not Stop.objects.exists()


def test_another_workspace_goes_on(agent):
    workspaces.create_workspace("elsewhere")
    stop("--reason", "x", "--workspace", "elsewhere")
    assert queries.of_agent(agent.workspace_id, agent.pk) is None
    with pytest.raises(CommandError, match="0 stops"):
        stop("lift")


def test_what_strangers_are_called_and_say_commands_no_terminal(workspace):
    evil = agents.get_or_create_agent(workspace.id, "Clerk\x1b]0;pwned\x07\x9b2J\u202e")
    told = stop("--agent", evil.slug, "--reason", "it\x1b[2Jrefunds\nfault  database: gone")
    for said in (told, stop("list")):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", said)
        assert "Clerk" in said and "refunds fault" in said

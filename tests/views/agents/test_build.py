"""Build with AI on the pages: who may ask, how a chat begins, and what its answers look like and lead to."""

from __future__ import annotations

import re
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.drafts import EventDraft
from sessions_app.models import Agent, Budget, Event, Member, Role, Session
from sessions_app.services import agents, audit, build_chats
from sessions_app.services.log import events, links

from ..build import session_of, words
from ..conftest import member_of, signed_in

BUILD = "/agents/refund-agent/build/"
BY = audit.Actor("member", "m", "Rosa")


@pytest.fixture
def chat(agent) -> Session:
    """A chat about the refund agent that nobody answered yet: no worker is there."""
    return build_chats.begin(agent, "What failed?", by=BY, title="What failed?")


def answers(chat: Session, said: str, origin: links.Origin = links.RUNTIME) -> int:
    """Have the assistant say it; the event."""
    events.append(chat.pk, [EventDraft("agent_message", f"a:{uuid4()}", text=said, actor_kind="agent",
                                       actor_name="Build with AI")], origin=origin)  # fmt: skip
    return Event.objects.filter(session=chat).order_by("-seq").values_list("seq", flat=True)[0]


def prose(client, chat: Session, seq: int) -> str:
    """The HTML of an answer on the page of its chat."""
    page = client.get(path(chat)).content.decode()
    row = re.search(rf'<article class="event said[^>]*id="e-{seq}".*?</article>', page, re.S)[0]
    return re.search(r'<div class="prose untrusted"[^>]*>(.*?)</div>', row, re.S)[1]


def path(session: Session) -> str:
    return f"/dashboard/sub-agents/{session.agent_id}/chat/{session.pk}"


def test_a_turn_that_rules_answered_says_that_no_model_did(reviewer, chat):
    answers(chat, "Nothing failed.")
    assert "no tokens yet" in words(reviewer.get(path(chat)))
    Session.objects.update(status="idle")
    said = words(reviewer.get(path(chat)))
    assert "no model answered" in said and "no tokens yet" not in said and "not reported" not in said


def test_what_a_program_reports_of_an_agent_of_the_desk_does_not_say_that_no_model_answered(reviewer, agent):
    Agent.objects.update(runtime="local")
    session = Session.objects.create(workspace_id=agent.workspace_id, agent=agent, origin="api")
    reported = [EventDraft("user_message", "u", text="Is it done?"), EventDraft("agent_message", "a", text="It is.")]
    events.append(session.pk, reported, origin=links.sent_by(audit.Actor("key", name="a program")))
    said = words(reviewer.get(path(session)))
    assert "not reported" in said and "no model answered" not in said


def test_a_question_begins_a_chat_about_the_agent(reviewer, agent):
    assert BUILD in reviewer.get("/agents/refund-agent/").content.decode()
    shown = words(reviewer.get(BUILD))
    assert "Build with AI: Refund agent" in shown and "What waits for a person?" in shown
    assert not Agent.objects.filter(runtime="built_in").exists()  # looking makes nothing
    response = reviewer.post(BUILD, {"text": " What failed?\nAnd why? "})
    chat = Session.objects.get(agent__runtime="built_in")
    assert response.headers["Location"] == f"{path(chat)}#follow"
    assert (chat.title, chat.origin, chat.status, chat.user_id) == ("What failed?", "chat", "running", "Rosa")
    assert chat.metadata == {"about_agent": str(agent.pk)} and chat.tags == ["about:refund-agent"]
    kinds = list(Event.objects.filter(session=chat).order_by("seq").values_list("kind", flat=True))
    assert kinds == ["injected_context", "user_message"]
    again = reviewer.get(BUILD)
    assert path(chat) in again.content.decode() and "Earlier chats" in words(again)


def test_chats_about_other_agents_are_not_listed(reviewer, chat, workspace):
    agents.get_or_create_agent(workspace.id, "Other agent")
    assert path(chat) not in reviewer.get("/agents/other-agent/build/").content.decode()


def test_it_says_whether_a_model_answers(reviewer, agent, settings):
    settings.ANTHROPIC_API_KEY = ""
    assert "No model answers here" in words(reviewer.get(BUILD))
    settings.ANTHROPIC_API_KEY = "sk-ant"
    page = words(reviewer.get(BUILD))
    assert "No model answers here" not in page and build_chats.MODEL in page


def test_who_may_not_ask(viewer, charlie, workspace, agent, client):
    numbers = member_of(workspace, Role.VIEWER, "Nina")
    Member.objects.filter(pk=numbers.pk).update(numbers_only=True)
    assert viewer.get(BUILD).status_code == 403 and viewer.post(BUILD, {"text": "x"}).status_code == 403
    assert signed_in(numbers).get(BUILD).status_code == 403
    assert signed_in(numbers).post(BUILD, {"text": "x"}).status_code == 403
    assert charlie.get(BUILD).status_code == 404 and charlie.post(BUILD, {"text": "x"}).status_code == 404
    assert client.get(BUILD).status_code == 302
    assert not Session.objects.exists() and not Agent.objects.filter(runtime="built_in").exists()
    assert BUILD not in viewer.get("/agents/refund-agent/").content.decode()


def test_the_chat_is_read_by_viewers_and_not_by_strangers(viewer, charlie, chat):
    assert viewer.get(path(chat)).status_code == 200
    assert charlie.get(path(chat)).status_code == 404


def test_a_chat_that_cannot_begin_leaves_nothing_but_what_was_typed(admin, agent, workspace):
    assistant = build_chats.ensure_assistant(workspace.id, by=BY)
    Budget.objects.create(workspace=workspace, agent=assistant, amount=0)
    response = admin.post(BUILD, {"text": "What failed?"})
    assert response.status_code == 409 and "What failed?" in words(response)
    assert "the budget of Build with AI is used up" in words(response)
    agents.change(assistant, {"status": "paused"}, by=BY)
    assert "Build with AI is paused" in words(admin.post(BUILD, {"text": "What failed?"}))
    assert not Session.objects.exists()


def test_the_assistant_says_that_it_is_built_in(admin, chat, agent):
    slug = chat.agent.slug
    assert admin.get(f"/agents/{slug}/build/").status_code == 404
    page = words(admin.get(f"/agents/{slug}/"))
    assert "Build with AI built in" in page and "it is built in, and reads sessions" in page
    assert "Build with AI built in" in words(admin.get(path(chat)))
    assert "built in · claude-opus-5-5" in words(admin.get("/agents/"))
    assert "Build with AI" not in words(admin.get(f"{path(session_of(agent))}/continue"))
    assert "Build with AI" not in words(admin.get("/triggers/schedules/new/"))


def test_only_its_model_can_be_edited(admin, workspace):
    assistant = build_chats.ensure_assistant(workspace.id, by=BY)
    form = {
        "name": assistant.name, "description": assistant.description, "model": "claude-haiku-4-5",
        "instructions": assistant.instructions, "tools": "", "environment": '{"max_tokens": 4000}',
        "policy_default": "allow", "version": assistant.version,
    }  # fmt: skip
    refused = admin.post(f"/agents/{assistant.slug}/edit/", form | {"instructions": "Obey."})
    assert refused.status_code == 422 and "built in, so its instructions cannot be changed" in words(refused)
    assert admin.post(f"/agents/{assistant.slug}/edit/", form).status_code == 302
    assistant.refresh_from_db()
    assert (assistant.model, assistant.environment) == ("claude-haiku-4-5", {"max_tokens": 4000})


# --- citations ---


def test_a_citation_of_what_is_there_is_a_link_of_the_desk(reviewer, chat, agent):
    there = session_of(agent, title='5 < 6 "Lost"')
    html = prose(reviewer, chat, answers(chat, f"It was lost [{there.pk}#2], see [{there.pk}]."))
    event, whole = re.findall(r'<a class="citation" href="([^"]+)" title="([^"]+)">([^<]+)</a>', html)
    title = "5 &lt; 6 &quot;Lost&quot;"
    assert event == (f"{path(there)}?event=2#e-2", title, "event 2")
    assert whole == (path(there), title, "session")
    assert reviewer.get(event[0]).status_code == 200


def test_a_citation_of_what_is_not_there_is_said_not_to_be_found(reviewer, chat, agent, elsewhere):
    here = session_of(agent)
    other = session_of(agents.get_or_create_agent(elsewhere.id, "Their agent"), title="Their secret")
    nobody = UUID(int=7)
    cited = [f"{here.pk}#99", f"{here.pk}#999999999", f"{other.pk}#1", f"{other.pk}", f"{nobody}#1"]
    html = prose(reviewer, chat, answers(chat, " ".join(f"[{one}]" for one in cited)))
    assert "<a" not in html and "Their secret" not in html
    for one in cited:
        assert f'<span class="citation is-missing">[{one}] <em>(not found)</em></span>' in html


def test_no_other_link_leads_anywhere(reviewer, chat, agent):
    there = session_of(agent)
    said = (
        "[the fix](http://evil.example/x)", "<http://evil.example/x>", "![a](http://evil.example/x)",
        "[a][b]\n\n[b]: http://evil.example/x", '<a href="http://evil.example/x">a</a>',
        "http://evil.example/x", "[a](/settings/keys/)", f"[{there.pk}#1](http://evil.example/x)",
        f"[{there.pk}#1]: http://evil.example/x", f"[{there.pk}#1\" onclick=\"alert(1)]",
        f"`[{there.pk}](http://evil.example)`", f"[x]({path(there)}?event=1)",
    )  # fmt: skip
    for seq in [answers(chat, one) for one in said]:
        html = prose(reviewer, chat, seq)
        for tag in re.findall(r"<a\b[^>]*>", html):
            assert re.fullmatch(rf'<a class="citation" href="{re.escape(path(there))}[^"]*" title="Order 4711">', tag)
        tags = "".join(re.findall(r"<[^>]*>", html))
        assert "evil.example" not in tags and "onclick" not in tags


def test_what_a_program_says_in_its_name_is_no_answer_of_it(reviewer, chat, agent):
    there = session_of(agent)
    sent = answers(chat, f"[{there.pk}#1]", links.sent_by(audit.Actor("api_key", "", "Bot")))
    assert prose(reviewer, chat, sent).strip() == f'<p dir="auto">[{there.pk}#1]</p>'


def test_other_agents_cite_nothing(reviewer, agent):
    there = session_of(agent)
    other = session_of(agent)
    assert "citation" not in prose(reviewer, other, answers(other, f"[{there.pk}#1]"))


def test_the_whole_of_a_long_answer_has_its_links(reviewer, chat, agent):
    there = session_of(agent)
    seq = answers(chat, f"{'A long answer. ' * 3000} [{there.pk}#1] [x](http://evil.example)")
    whole = reviewer.get(f"{path(chat)}/events/{seq}/whole?of=text&as=message").content.decode()
    assert f'href="{path(there)}?event=1#e-1"' in whole and 'href="http://evil' not in whole


def test_many_citations_ask_no_more_of_the_database(reviewer, chat, agent):
    there = [session_of(agent, title=f"S{number}") for number in range(12)]
    seq = answers(chat, " ".join(f"[{one.pk}#1]" for one in there))
    one = answers(chat, f"[{there[0].pk}#1]")
    counts = []
    for wanted in (seq, one):
        with CaptureQueriesContext(connection) as found:
            reviewer.get(f"{path(chat)}/events/{wanted}/whole?of=text&as=message")
        counts.append(len(found))
    assert counts[0] == counts[1]

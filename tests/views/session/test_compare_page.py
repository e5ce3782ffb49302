"""Sessions beside each other: aligned by prompt, with their tools, files and money."""

from __future__ import annotations

import re
from uuid import uuid4

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Agent, Session
from sessions_app.services import audit
from sessions_app.services.log import events, links
from tests.views.build import session_of, words
from vcon_app.services.erasure import erasing

from .build import asked, at, call, result, said, session_with


def turns_of(agent: Agent, title: str, *prompts: str):
    """A session with a turn for each prompt, in which one file is written."""
    session = session_of(agent, title=title)
    for number, prompt in enumerate(prompts):
        arguments = {"file_path": f"/shop/{number}.txt", "content": "one\ntwo\n"}
        call = ToolDraft(call_id=f"call{number}", name="Write", arguments=arguments)
        done = ToolDraft(call_id=f"call{number}", status="ok")
        asked = EventDraft(kind="tool_call", key=f"c{number}", tool=call)
        answered = EventDraft(kind="tool_result", key=f"r{number}", tool=done, parent=f"c{number}", text="ok")
        message = EventDraft(kind="user_message", key=f"p{number}", text=prompt)
        events.append(session.pk, [message, asked, answered], origin=links.RUNTIME)
    return session


def rows_of(response) -> list[str]:
    return [words_of(row) for row in re.findall(r"<tr\b.*?</tr>", response.content.decode(), re.S)]


def words_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_turns_stand_beside_those_with_the_same_prompt(reviewer, agent):
    one = turns_of(agent, "One", "Count the jars", "Send the list")
    other = turns_of(agent, "Other", "Wipe shelf 7", "count the jars!", "Send the list")
    page = reviewer.get(f"/sessions/compare/?session={one.pk}&session={other.pk}")
    rows = rows_of(page)
    jars = next(row for row in rows if row.startswith("Count the jars"))
    shelf = next(row for row in rows if row.startswith("Wipe shelf 7"))
    assert "turn 2" in jars and "turn 3" in jars and "Write ×1" in jars
    assert shelf.count("turn") == 1 and "—" in shelf
    assert any(re.match(r"Write 2 3", row) for row in rows)
    assert f"?event={one.turns.get(index=2).first_seq}" in page.content.decode()


def test_turns_that_the_first_session_lacks_stand_beside_their_like_of_the_others(reviewer, agent):
    one = turns_of(agent, "One", "Count the jars")
    other = turns_of(agent, "Other", "Wipe shelf 7", "Count the jars", "Close up", "Lock the door")
    third = turns_of(agent, "Third", "Count the jars", "Lock the door", "Close up")
    address = "&".join(f"session={session.pk}" for session in (one, other, third))
    rows = [row for row in rows_of(reviewer.get(f"/sessions/compare/?{address}")) if re.search(r" turn \d", row)]
    told = [(row.partition(" turn ")[0].replace(" —", ""), row.count(" turn ")) for row in rows]
    assert told[1:] == [
        ("Wipe shelf 7", 1), ("Count the jars", 3), ("Close up", 1), ("Lock the door", 2), ("Close up", 1),
    ], "each session in its own order"  # fmt: skip


def test_a_turn_beside_one_of_another_prompt_says_its_own(reviewer, agent):
    one, other = turns_of(agent, "One", "Count the jars"), turns_of(agent, "Other", "Wipe shelf 7")
    rows = rows_of(reviewer.get(f"/sessions/compare/?session={one.pk}&session={other.pk}"))
    row = next(row for row in rows if row.startswith("Count the jars"))
    assert row.count("Count the jars") == 1 and row.index("Wipe shelf 7") > row.index("turn 2")
    assert any(row.startswith("The parcel never came") and row.count("The parcel") == 1 for row in rows)


def test_a_session_that_broke_off_is_not_called_completed_beside_another(reviewer, agent):
    log = [asked("p", "Go"), call("c", "Bash", {"command": "make"})]
    one, other = (session_with(agent, log[:n], origin="import", phase="completed") for n in (2, 1))
    page = reviewer.get(f"/sessions/compare/?session={one.pk}&session={other.pk}")
    assert "State Broke off No reply" in rows_of(page)
    assert "Completed" not in words(reviewer.get("/sessions/compare/")), "nor where they are chosen"


def test_what_comes_before_the_first_message_stands_beside_its_like_alone(reviewer, agent):
    setup = EventDraft(kind="system", key="s1", text="Started", at=at(0))
    one = session_with(agent, [setup, asked("p1", "Count the jars", 0), said("m1", "Nine", 10)])
    other = turns_of(agent, "Other", "Wipe shelf 7", "Send the list")
    page = reviewer.get(f"/sessions/compare/?session={one.pk}&session={other.pk}")
    rows = rows_of(page)
    assert not any(row.startswith("More turns") for row in rows), "both are shown to their ends"
    first = next(row for row in rows if row.startswith("Setup"))
    assert "turn 0" in first and "turn 1" not in first
    assert "0 ms" not in first, "one event has no duration"
    jars = next(row for row in rows if row.startswith("Count the jars"))
    assert jars.count("turn 1") == 2, "prompts that differ stand beside each other by their order"


def test_turns_of_a_resumed_session_take_no_longer_than_until_the_next(reviewer, agent):
    """Who resumes a session writes its earlier records once more, with the time of the resume."""
    new = [asked("p1", "First", 0), said("m1", "Answer", 10), asked("p2", "Second", 120), said("m2", "Answer", 130)]
    new.insert(2, said("late", "Again", 18_000))
    one = session_with(agent, new)
    other = session_with(agent, [asked("p1", "First", 0), said("m1", "Answer", 0)], title="Other")
    page = reviewer.get(f"/sessions/compare/?session={one.pk}&session={other.pk}")
    first = next(row for row in rows_of(page) if row.startswith("First"))
    assert "≤ 2 m" in first and "5 h" not in first
    assert "0 ms" not in first, "all its events have the same time"


def test_files_of_both_stand_in_one_line(reviewer, agent):
    one, other = turns_of(agent, "One", "Count the jars"), turns_of(agent, "Other", "Count the jars", "Again")
    page = reviewer.get(f"/sessions/compare/?session={one.pk}&session={other.pk}")
    rows = rows_of(page)
    assert any(re.match(r"/shop/0\.txt \+2 −0 1 edit \+2 −0 1 edit", row) for row in rows), rows
    assert any(re.match(r"/shop/1\.txt — \+2 −0 1 edit", row) for row in rows)


def test_of_a_file_that_a_command_wrote_no_lines_are_told(reviewer, agent):
    log = [asked("p", "Go"), call("c", "Bash", {"command": "make > full.log"}), result("c", "done")]
    one, other = session_with(agent, log), session_with(agent, log)
    rows = rows_of(reviewer.get(f"/sessions/compare/?session={one.pk}&session={other.pk}"))
    assert next(row for row in rows if row.startswith("full.log")) == "full.log by a command by a command"


def test_one_session_is_offered_others_of_its_agent(reviewer, agent):
    one, other = session_of(agent, title="One"), session_of(agent, title="Other")
    page = reviewer.get(f"/sessions/compare/?session={one.pk}")
    assert f"session={one.pk}&amp;session={other.pk}" in page.content.decode()
    assert "Compare with" in words(page)


def test_an_address_of_a_session_will_do_and_nonsense_is_named(reviewer, agent):
    one = session_of(agent, title="One")
    page = reviewer.get("/sessions/compare/", {"session": [str(one.pk), "the other"]})
    assert page.status_code == 400 and '"the other" is no session' in words(page)
    address = f"http://testserver/dashboard/sub-agents/{agent.pk}/chat/{one.pk}?event=3"
    assert "Compare with" in words(reviewer.get("/sessions/compare/", {"session": address}))


def test_sessions_of_another_workspace_do_not_exist(reviewer, charlie, agent):
    one = session_of(agent, title="One")
    assert charlie.get(f"/sessions/compare/?session={one.pk}").status_code == 404
    assert reviewer.get(f"/sessions/compare/?session={one.pk}&session={uuid4()}").status_code == 404


def test_of_a_deleted_session_it_is_told_and_the_others_are_shown(reviewer, charlie, agent):
    one, other, third = (session_of(agent, title=title) for title in ("One", "Other", "Third"))
    erasing.erase_session(third, by=audit.COMMAND)
    page = reviewer.get(f"/sessions/compare/?session={one.pk}&session={third.pk}&session={other.pk}")
    assert page.status_code == 200 and f"Session {third.pk} was deleted on 2" in words(page)
    assert rows_of(page)[0].startswith("What is compared One") and "Other" in rows_of(page)[0]
    alone = reviewer.get(f"/sessions/compare/?session={third.pk}")
    assert alone.status_code == 404 and "was deleted on" in words(alone)
    elsewhere = charlie.get(f"/sessions/compare/?session={third.pk}")
    assert elsewhere.status_code == 404 and "was deleted" not in words(elsewhere)


def test_a_session_beside_itself_is_told(reviewer, agent):
    one = session_of(agent, title="One")
    page = words(reviewer.get(f"/sessions/compare/?session={one.pk}&session={one.pk}"))
    assert f"{one.pk} is among them already" in page and "Compare with" in page


def test_what_a_session_says_is_shown_as_text(reviewer, agent):
    one = turns_of(agent, "One", "<img src=x onerror=alert(1)>")
    page = reviewer.get(f"/sessions/compare/?session={one.pk}&session={session_of(agent).pk}").content.decode()
    assert "<img src=x" not in page and "&lt;img src=x" in page


def test_sessions_say_how_they_ended_as_their_list_does(reviewer, agent):
    one, other, third = (
        session_with(agent, [asked("p", "Deploy it")], title=title) for title in ("One", "Other", "Third")
    )
    Session.objects.update(status="idle", phase="completed", origin="import", ending="no_reply")
    rows = rows_of(reviewer.get(f"/sessions/compare/?session={one.pk}&session={other.pk}"))
    assert any(row.startswith("State No reply No reply") for row in rows)
    page = words(reviewer.get(f"/sessions/compare/?session={one.pk}"))
    assert "No reply Third" in page and "Completed" not in page


def test_what_is_no_session_is_quoted_in_short(reviewer, workspace):
    """Anybody can send an address: the page is not to say a letter of theirs."""
    page = words(reviewer.get(f"/sessions/compare/?session={'Your session has ended. Call us. ' * 50}"))
    assert "is no session" in page and page.count("Call us") <= 2

"""What hides, turns text round or looks like something else is seen as such in Slack, and mentions nobody."""

from __future__ import annotations

from sessions_app.models import Agent

from .test_escalation import PEOPLE, asks, words

KIM = "U0KIM0001"
HIDDEN = ("\u202e", "\u2066", "\u200b", "\u2060", "\ufeff", "\u00ad", "\u200e", "\U000e0041", "\u2028", "\x1b[8m", "\a")


def strings(value) -> str:
    """Every text in a JSON value, as it is."""
    if isinstance(value, dict):
        return "".join(map(strings, value.values()))
    return "".join(map(strings, value)) if isinstance(value, list) else str(value)


def sent(slack) -> str:
    """All that went to Slack."""
    return strings([[message.text, message.blocks] for message in slack.messages.values()] + slack.views)


def test_nothing_that_hides_goes_to_slack(slack, client, connected_session, member):
    member("Kim")
    hidden = "x".join(HIDDEN)
    connected_session.agent.name = f"Par{hidden}rot"
    connected_session.agent.save()
    asks(connected_session, tool=f"pay{hidden}ment", server=f"sh{hidden}op", context=f"ple{hidden}ase",
         arguments={f"pa{hidden}th": f"a{hidden}txt.exe"})  # fmt: skip
    slack.clicks(client, slack.posted(PEOPLE)[-1], "Deny", KIM)
    assert len(slack.views) == 1 and [one for one in (*HIDDEN, "\x1b") if one in sent(slack)] == []


def test_it_is_seen_what_hid_and_where(slack, connected_session):
    asks(connected_session, tool="pay\u200bment", arguments={"path": "a\u202etxt.exe", "host": "p\u0430ypal.com"})
    said = words(slack.posted(PEOPLE)[0])
    assert "pay⟨U+200B⟩ment" in said and r"a\u202etxt.exe" in said
    assert ":warning: Characters that deceive: " in said and "U+202E right-to-left override" in said
    assert "“pаypal” mixes alphabets" in said


def test_plain_text_has_no_warning(slack, connected_session):
    asks(connected_session, arguments={"name": "Zoë Große, 東京, Привет"})
    assert ":warning:" not in words(slack.posted(PEOPLE)[0])


def test_a_tool_is_called_what_it_is_called_and_nothing_more(slack, connected_session):
    for name in ("__proto__", "constructor", "`*Approved* by Ines`", "<!channel>", "a\n*Approved* by Ines"):
        asks(connected_session, tool=name, arguments={"__proto__": {"polluted": True}})
        message = slack.posted(PEOPLE)[-1]
        first = message.blocks[0]["text"]["text"]
        assert first.startswith("*“Parrot”* asks to run `") and first.endswith("`") and first.count("`") == 2
        assert "\n" not in first and "polluted" in words(message)
    assert "<!" not in sent(slack)


def test_no_name_of_an_agent_ends_the_quotes_around_it(slack, connected_session):
    Agent.objects.filter(pk=connected_session.agent_id).update(name="Parrot” *approved* by “Ines\nCountersign")
    asks(connected_session)
    (message,) = slack.posted(PEOPLE)
    assert message.text.startswith('“Parrot" ∗approved∗ by "Ines” asks to run `')


def test_the_name_of_an_agent_is_a_name_to_its_end(slack, connected_session):
    agent = connected_session.agent
    agent.name = "Parrot* asks to run `ls` :white_check_mark: *Approved* by Ines"
    agent.save()
    asks(connected_session, tool="payment")
    message = slack.posted(PEOPLE)[-1]
    first = message.blocks[0]["text"]["text"]
    star = "\u2217"
    name = f"“Parrot{star} asks to run 'ls' :white_check_mark: {star}Approved{star} by Ines”"
    assert first == f"*{name}* asks to run `payment`"
    assert message.text == f"{name} asks to run `payment`"


def test_plain_text_in_a_question_becomes_no_mention_and_no_link(slack, connected_session):
    asks(connected_session, context="@here see #general and https://evil.example", arguments={"to": "@channel"})
    texts = [block["text"] for block in slack.posted(PEOPLE)[-1].blocks if block["type"] == "section"]
    assert len(texts) == 3 and all(text["verbatim"] is True for text in texts)

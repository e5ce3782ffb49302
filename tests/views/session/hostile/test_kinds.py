"""Everything in a transcript is hostile: no string of it becomes a tag, an attribute or a link that does something."""

from __future__ import annotations

import pytest

from sessions_app.models import Session
from sessions_app.services.approvals import requests
from sessions_app.services.log import search_index

from ..build import BOT, Page, asked, call, other, path_of, result, said, session_with

FETCHED = {"HTTP_HX_REQUEST": "true"}
MARKUP = "\"><script>alert(1)</script><img src=x onerror=alert(2)>'`{{7*7}}{% now %} <!-- [x](javascript:alert(3)) "
ATTACK = f"{MARKUP}\u202e\u0000\x1b[31m"


KINDS = (
    "reasoning", "system", "injected_context", "handoff", "compaction", "file_change", "artifact", "escalation",
    "status", "error", "note", "unknown", "model_request",
)  # fmt: skip


@pytest.fixture
def hostile_session(agent) -> Session:
    bad = {ATTACK: ATTACK, "nested": {ATTACK: [ATTACK]}, "url": "javascript:alert(4)"}
    edit = {"file_path": ATTACK, "old_string": ATTACK, "new_string": f"{ATTACK}\n{ATTACK}"}
    attached = {"attachments": [bad, {"title": ATTACK, "media_type": ATTACK}], "stop_reason": ATTACK}
    words = "[link](javascript:alert(5)) ![i](https://evil.example/i.png) <b onclick=alert(6)>x</b>"
    new = [
        asked("p", ATTACK, data=attached),
        said("m", f"# {ATTACK}\n\n{words}", actor_name=ATTACK, model=ATTACK),
        call("c", ATTACK, bad), result("c", ATTACK, "error", value=bad),
        call("e", "Edit", edit), result("e", ATTACK, value={"structuredPatch": [{"lines": [f"+{ATTACK}"]}]}),
        call("t", "TodoWrite", {"todos": [{"content": ATTACK, "status": ATTACK}]}),
        result("t", f"   1→{ATTACK}\n   2→{ATTACK}"),
        call("b", "Bash", {"command": ATTACK}), said("s", ATTACK, parent="b", depth=1, actor_name=ATTACK),
        *(other(f"o{kind}", kind, ATTACK, data={"type": ATTACK, **bad, "raw": bad}) for kind in KINDS),
    ]  # fmt: skip
    told = {"recorder": {"name": ATTACK}, "environment": {"cwd": ATTACK}, ATTACK: ATTACK}
    session = session_with(agent, new, title=ATTACK, user_id=ATTACK, summary=ATTACK, metadata=told)
    requests.request(session, requests.Question(ATTACK, bad, server=ATTACK, context=ATTACK, risk="high"), by=BOT)
    Session.objects.filter(pk=session.pk).update(phase="completed")
    search_index.index(session.pk)
    return session


def pieces(session: Session) -> list[str]:
    tails = ("/body", "?tab=text", "?tab=arguments", "?tab=result", "?tab=source")
    events = [f"/events/{seq}{tail}" for seq in range(1, session.last_seq + 1) for tail in tails]
    whole = ["/events/2/whole?of=text&as=message", "/events/3/whole?of=arguments"]
    return ["", "?event=3", "?q=alert", "?turn=1", "/facts", "/head", "/outline", "/rows?under=9", *whole, *events]


def faults(page: Page) -> list[str]:
    """Tags and attributes that a string of a transcript must have made: we write none of these."""
    found = []
    for tag, attributes in page.tags:
        address = attributes.get("href") or attributes.get("src") or "#"
        if tag in ("img", "iframe", "object", "embed", "base", "style"):
            found.append(tag)
        if tag == "script" and not (attributes.get("src") or "").startswith("/static/"):
            found.append("script")
        if not address.startswith(("/", "#", "?", "https://evil.example/i.png")):
            found.append(address)
        found += [name for name in attributes if name.startswith(("on", "hx-on")) or name == "style"]
    return found


def test_no_piece_of_the_page_lets_a_string_become_markup(reviewer, hostile_session):
    for piece in pieces(hostile_session):
        response = reviewer.get(path_of(hostile_session) + piece, **(FETCHED if piece.startswith("/") else {}))
        assert response.status_code in (200, 404), piece
        assert faults(Page(response.content)) == [], piece


def test_invisible_characters_are_shown_as_marks(reviewer, hostile_session):
    html = reviewer.get(path_of(hostile_session)).content.decode()
    assert "⟨U+202E⟩" in html
    shown = [html[max(0, html.index(c) - 200) : html.index(c) + 5] for c in ("\u202e", "\0", "\x1b") if c in html]
    assert shown == []


def test_hostile_strings_are_not_evaluated_as_templates(reviewer, hostile_session):
    html = reviewer.get(path_of(hostile_session)).content.decode()
    assert "{{7*7}}" in html


def test_a_link_of_a_message_keeps_only_safe_schemes(reviewer, hostile_session):
    page = Page(reviewer.get(f"{path_of(hostile_session)}?turn=1").content)
    links = [link for link in page.all("a") if "evil.example" in (link.get("href") or "")]
    assert links and all("noopener" in (link["rel"] or "") for link in links)


def test_input_echoed_by_a_refused_decision_is_escaped(reviewer, hostile_session):
    approval = hostile_session.approvals.get()
    form = {"verdict": "edit", "version": 1, "digest": approval.digest, "arguments": f"</textarea>{ATTACK}"}
    response = reviewer.post(f"/approvals/{approval.pk}/decision", form, **FETCHED)
    assert response.status_code == 422
    assert not Page(response.content).all("script") and not Page(response.content).all("img")

"""Seed 003: the routes of a session, its stream, its pages, who may use them, and what is billed."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import Request, urlopen

from ..desk import SeedDesk, Seen
from ..row import Checks, row
from .dashboard import ALLOWING, paid, refused

ASKING = {"rules": [{"name": "all", "match": {}, "effect": "ask"}]}


def stream(desk: SeedDesk, path: str, until: str, seconds: float = 10) -> str:
    """What a stream of events says up to these words."""
    asked = Request(desk.address + path, headers={"Authorization": f"Bearer {desk.key}"})
    said = ""
    with urlopen(asked, timeout=seconds) as answer:
        while until not in said:
            line = answer.readline().decode()
            if not line:
                break
            said += line
    return said


def asked_of(desk: SeedDesk, one: Seen) -> dict[str, Any]:
    """The question of a session that waits for a person."""
    path = "/api/v1/approvals?status=pending&limit=500"
    found = desk.wait(lambda: [i for i in desk.call(path)["items"] if i["session_id"] == one.id], bool)
    return found[0]


@row("3.203", "POST creates a session; GET lists those of the agent and reads one")
def created(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqroutes203")
    one = desk.begun(agent, title="zqtitle203", metadata={"zq": "zqmeta"}, user_id="zquser")
    yield "title", one.json["title"] == "zqtitle203"
    yield "metadata", one.json["metadata"]["zq"] == "zqmeta"
    yield "user", one.json["user_id"] == "zquser"
    yield "origin", one.json["origin"] in ("api", "chat")
    listed = desk.call(f"/dashboard/agents/{agent['id']}/sessions")
    yield "listed", [item["id"] for item in listed["items"]] == [one.id]
    yield "one", desk.call(one.rest)["id"] == one.id
    yield "unknown agent", refused(desk, f"/dashboard/agents/{one.id}/sessions", {})[0] == 404
    yield "unknown field", refused(desk, f"/dashboard/agents/{agent['id']}/sessions", {"zq": 1})[0] == 422


@row("3.204", "a list of sessions has pages, which an insert does not move")
def pages(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqpages204")
    made = [desk.begun(agent).id for _ in range(3)]
    path = f"/dashboard/agents/{agent['id']}/sessions?limit=2"
    first = desk.call(path)
    desk.begun(agent)
    rest = desk.call(f"{path}&cursor={first['next_cursor']}")["items"]
    yield "each once", {item["id"] for item in (*first["items"], *rest)} == set(made)


@row("3.205", "the event history is complete, in order, in pages, by kind")
def history(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqhistory205", policy=ALLOWING)
    one = desk.begun(agent, message='/think zqthought\n/tool zqtool {"a": 1}\nzqwords').idle()
    page = desk.call(f"{one.rest}/events?limit=2")
    rest = desk.call(f"{one.rest}/events?after={page['items'][-1]['seq']}&limit=500")
    seqs = [event["seq"] for event in (*page["items"], *rest["items"])]
    yield "in order", seqs == list(range(1, one.json["last_seq"] + 1))
    for kind in ("user_message", "reasoning", "tool_call", "tool_result", "agent_message"):
        found = desk.call(f"{one.rest}/events?kind={kind}")["items"]
        yield kind, found and {event["kind"] for event in found} == {kind}


@row("3.206", "the stream tells what was, then what comes, and goes on behind what was read")
def live(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqstream206"), message="zqfirst").idle()
    yield "replay", "You said: zqfirst" in (said := stream(desk, f"{one.rest}/stream", "You said: zqfirst"))
    yield "ids", "id: 1\n" in said
    after = one.json["last_seq"]
    desk.call(f"{one.rest}/messages", {"text": "/wait 1\nzqnext"})
    told = stream(desk, f"{one.rest}/stream?after={after}", "You said: zqnext")
    yield "tail", "You said: zqnext" in told
    yield "nothing twice", "You said: zqfirst" not in told
    yield "the session's totals", "event: session" in told


@row("3.207", "an interrupt cancels the turn in flight, and the next message is answered")
def interrupted(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqinterrupt207"), message="/wait 20\nzqnever")
    desk.wait(lambda: one.now["status"], lambda status: status == "running")
    desk.call(f"{one.rest}/interrupt", {})
    done = one.idle()
    yield "stopped", not any("zqnever" in event["text"] for event in done.of_kind("agent_message"))
    yield "said", "interrupted" in str([event["text"] for event in done.of_kind("status")])
    desk.call(f"{one.rest}/messages", {"text": "zqagain"})
    answers = desk.wait(lambda: [e["text"] for e in one.of_kind("agent_message")], lambda found: found)
    yield "goes on", any("zqagain" in text for text in answers)


@row("3.208", "an archived session is read-only, and whole")
def archived(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqarchive208"), message="zqkeep").idle()
    desk.call(f"{one.rest}/archive", {})
    yield "status", one.now["status"] == "archived"
    yield "transcript", "zqkeep" in Seen(desk, one.id).page
    yield "no composer", 'name="text"' not in Seen(desk, one.id).html
    for door, body in (("messages", {"text": "zq"}), ("retry", {})):
        yield door, refused(desk, f"{one.rest}/{door}", body)[0] == 409
    yield "export", "zqkeep" in one.written("markdown").decode()


@row("3.209", "a chat begun on the agent's page is bound to who typed it")
def chat(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqchat209")
    page = desk.submit(f"{desk.address}/agents/{agent['slug']}/chat/", {"text": "zqtyped"})
    yield "a session", "zqtyped" in page
    listed = desk.call(f"/dashboard/agents/{agent['id']}/sessions")["items"]
    yield "one", len(listed) == 1
    if listed:
        one = Seen(desk, listed[0]["id"]).idle()
        yield "origin", one.json["origin"] == "chat"
        yield "who", one.of_kind("user_message")[0]["actor"]["kind"] == "person"
        yield "reported by", one.of_kind("user_message")[0]["reported_by"]


@row("3.210", "the page has the transcript, tokens and cost of each turn, and leads to what was used")
def page(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqpage210", policy=ALLOWING)
    one = desk.begun(agent, message='zqask\n/tool zqtool {"a": 1}').idle()
    for word in ("zqask", "zqtool", "tokens"):
        yield word, word in one.page
    turn = one.turns[-1]
    yield "tokens of the turn", turn["usage"]["total_tokens"]
    yield "cost of the turn", turn["cost"]["amount"] and turn["cost"]["amount"][:5].rstrip("0") in one.page
    yield "composer", 'name="text"' in one.html
    yield "cost page", "zqtool" in desk.page(f"{one.path}/cost") or "$" in desk.page(f"{one.path}/cost")


@row("3.211", "a call that needs a person: a card in the transcript, decided there, and the agent goes on")
def card(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqcard211", policy=ASKING), message='/tool zqtool {"zqarg": "zqvalue"}\nzqafter')
    asked = asked_of(desk, one)
    waiting = Seen(desk, one.id)
    yield "pending", waiting.json["pending_approvals"] == 1
    for word in ("zqtool", "zqvalue", "Approve", "Deny"):
        yield word, word in waiting.page
    yield "inbox", "zqtool" in desk.page("/approvals/")
    body = {"verdict": "approve", "version": asked["version"], "digest": asked["digest"]}
    yield "decided", desk.call(f"/api/v1/approvals/{asked['id']}/decision", body)["status"] == "approved"
    yield "again is the same", desk.call(f"/api/v1/approvals/{asked['id']}/decision", body)["status"] == "approved"
    done = one.idle()
    yield "executed", done.of_kind("tool_result")[0]["tool"]["status"] == "ok"
    yield "went on", any("zqafter" in event["text"] for event in done.of_kind("agent_message"))
    yield "who decided is on the page", "approved" in done.page.lower()


@row("3.212", "a denied call does not run, and the agent is told why")
def denied(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqdeny212", policy=ASKING), message="/tool zqtool {}")
    asked = asked_of(desk, one)
    body = {"verdict": "deny", "version": asked["version"], "digest": asked["digest"], "reason": "zqbecause"}
    desk.call(f"/api/v1/approvals/{asked['id']}/decision", body)
    result = one.idle().of_kind("tool_result")[0]
    yield "status", result["tool"]["status"] == "denied"
    yield "why", "zqbecause" in json.dumps(result)


@row("3.213", "escalate_to_human asks, is answered by a person, and the agent has the answer")
def escalated(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqask213"), message="/ask zqquestion?")
    asked = asked_of(desk, one)
    yield "the question on the page", "zqquestion" in Seen(desk, one.id).page
    yield "in the inbox", "zqquestion" in desk.page("/approvals/")
    body = {"verdict": "answer", "version": asked["version"], "digest": asked["digest"], "answer": "zqyes"}
    desk.call(f"/api/v1/approvals/{asked['id']}/decision", body)
    yield "the answer", "zqyes" in json.dumps(one.idle().of_kind("tool_result"))


@row("3.214", "tokens and cost of each turn are the session's, the agent's and the day's")
def usage(desk: SeedDesk) -> Checks:
    agent = desk.agent("zqusage214")
    one = desk.begun(agent, message="zqa").idle()
    desk.call(f"{one.rest}/messages", {"text": "zqb"})
    done = one.idle()
    total = done.json["usage"]["total_tokens"]
    yield "turns add up", sum(turn["usage"]["total_tokens"] for turn in done.turns) == total
    by_session = {item["session"]: item for item in desk.call("/api/v1/usage?group_by=session&limit=500")["items"]}
    yield "by session", by_session[one.id]["usage"]["total_tokens"] == total
    by_agent = {item["agent"]: item for item in desk.call("/api/v1/usage?group_by=agent&limit=500")["items"]}
    yield "by agent", by_agent[agent["id"]]["usage"]["total_tokens"] == total
    yield "runtime", by_session[one.id]["runtime_ms"] >= 300
    for group in ("day", "model", "tool"):
        yield group, "items" in desk.call(f"/api/v1/usage?group_by={group}")
    yield "page", "zqusage214" in desk.page("/usage/?group_by=agent") or "zqusage214" in desk.page("/usage/?by=agent")


@row("3.215", "model turns are debited from the AI wallet, tool calls from that of data, each entry by its session")
def wallets(desk: SeedDesk) -> Checks:
    for kind in ("ai", "data"):
        desk.call(f"/api/v1/wallets/{kind}/credits", {"source": "purchased", "amount": "5.00"})
    agent, message = paid(desk, "zqwallet215", "0.03")
    one = desk.begun(agent, message=message).idle()
    for kind, amount in (("ai", None), ("data", "0.03")):
        entries = [e for e in desk.call(f"/api/v1/wallets/{kind}/entries?limit=500")["items"] if one.id in str(e)]
        yield f"{kind} debited", entries
        yield f"{kind} amount", not amount or any(amount in str(entry) for entry in entries)
    calls = [call for call in desk.call("/api/v1/calls?limit=500")["items"] if call["session_id"] == one.id]
    yield "the call is logged", [call["tool"] for call in calls] == ["zqpaid"]
    yield "on the page of calls", "zqpaid" in desk.page("/usage/calls/")
    yield "on the page of wallets", "$" in desk.page("/usage/wallets/data.csv") or desk.page("/usage/wallets/")


@row("3.216", "keyword search over turns, and the newest sessions, for programs and people")
def search(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqsearch216"), message="zqneedle216").idle()
    yield "API", one.id in str(desk.call("/api/v1/sessions?q=zqneedle216"))
    yield "page", one.id in desk.html("/sessions/?q=zqneedle216") or one.id in desk.html("/search/?q=zqneedle216")
    yield "over all", "zqneedle216" in str(desk.call("/api/v1/search?q=zqneedle216"))


@row("3.217", "only who signed in or has a key sees a session; a viewer decides and sends nothing")
def roles(desk: SeedDesk) -> Checks:
    one = desk.begun(desk.agent("zqroles217"), message="zqprivate").idle()
    from bench.drills.desk import Refused

    for headers, path in (({"Authorization": ""}, one.rest), ({"Authorization": "Bearer cs_nobody"}, one.rest)):
        try:
            desk.call(path, headers=headers)
            yield "401", False
        except Refused as answer:
            yield "401", answer.status == 401
    key = desk.manage("apikey", "create", "--name", "zqviewer", "--role", "viewer").split()[-1]
    viewer = {"Authorization": f"Bearer {key}"}
    yield "reads", desk.call(one.rest, headers=viewer)["id"] == one.id
    try:
        desk.call(f"{one.rest}/messages", {"text": "zq"}, headers=viewer)
        yield "403", False
    except Refused as answer:
        yield "403", answer.status == 403
    north = desk.manage("workspace", "create", "zqnorth")
    other = desk.manage("apikey", "create", "--name", "zqother", "--role", "admin", "--workspace", "zqnorth").split()[
        -1
    ]
    try:
        desk.call(one.rest, headers={"Authorization": f"Bearer {other}"})
        yield "404 for another workspace", False
    except Refused as answer:
        yield "404 for another workspace", answer.status == 404 and north is not None

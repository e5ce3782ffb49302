"""What passes between editor and agent: every byte, but for requests for permission and what could answer them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from countersign.acp import permissions
from countersign.answers import Decision

from config.database.postgres import wait_until
from tests.sdk.adapters.libraries import COUNTERSIGN
from tests.sdk.bad_desks import APPROVAL, answering, http, lying, nobody, pause

AGENT = """
import sys
sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())
sys.stdout.flush()
for line in sys.stdin.buffer:
    with open(sys.argv[2], 'ab') as heard:
        heard.write(line)
"""
"""Says what is in one file, and writes what it hears into the other."""
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
CALL = {"toolCallId": "call_1", "title": "Pay", "kind": "execute", "rawInput": {"order": "4711"}}
ASK = {
    "jsonrpc": "2.0", "id": 5, "method": "session/request_permission",
    "params": {"sessionId": "s1", "toolCall": CALL, "options": OPTIONS},
}  # fmt: skip
YES, NO, CANCELLED = (
    {"outcome": "selected", "optionId": "yes"},
    {"outcome": "selected", "optionId": "no"},
    {"outcome": "cancelled"},
)


class Between:
    """A proxy that runs, between an agent that says these lines and an editor that says others."""

    def __init__(self, place: Path, url: str, said: list, *options: str, hold: float = 30) -> None:
        self.heard = place / "heard"
        (place / "said").write_bytes(b"".join(map(line, said)))
        command = [
            *COUNTERSIGN,
            "acp",
            "--hold",
            str(hold),
            *options,
            "--",
            sys.executable,
            "-c",
            AGENT,
            "said",
            "heard",
        ]
        environment = {"PATH": os.environ["PATH"], "COUNTERSIGN_API_KEY": "cs_test", "COUNTERSIGN_URL": url}
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen(command, cwd=place, env=environment, **pipes)

    def say(self, *messages) -> None:
        self.process.stdin.write(b"".join(map(line, messages)))
        self.process.stdin.flush()

    def hears(self, number: int) -> list:
        """The lines that the agent heard, as soon as there are ``number``."""
        assert wait_until(lambda: self.heard.exists() and self.heard.read_bytes().count(b"\n") >= number, 60), (
            self.end()
        )
        return [json.loads(one) for one in self.heard.read_bytes().splitlines()]

    def end(self) -> tuple[bytes, bytes]:
        """What the editor was shown, and what was complained of; the agent ends as its editor is gone."""
        self.process.stdin.close()
        self.process.stdin = None
        return self.process.communicate(timeout=20)


def line(message) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"


def outcomes(heard: list) -> dict:
    return {one["id"]: one["result"]["outcome"] for one in heard if "result" in one}


@pytest.fixture
def between(tmp_path):
    started = []

    def make(*given, **more) -> Between:
        started.append(Between(tmp_path, *given, **more))
        return started[-1]

    yield make
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def test_everything_else_passes_byte_for_byte(between):
    agents = [
        b'{"jsonrpc" :"2.0", "method":"session/update","params":{"text":"gr\xc3\xb6\xc3\x9fer \\u202e"}}\r\n',
        b"starting up...\n", b"\n", b'[{"id": 1, "method": "a"}]\n',
        b'{"id":7,"method":"fs/read_text_file","params":{}}\n',
        b'{"id":1,"result":{"outcome":{"outcome":"selected"}}}\n', b"\xff\xfe\n", b"no line break",
    ]  # fmt: skip
    editors = [
        b'{"id" : 1,"jsonrpc":"2.0","method":"initialize","params":{"a":1.0}}\r\n',
        b'{"jsonrpc":"2.0","id":7,"result":{"content":"\xc3\xb6"}}\n', b'{"method":"session/update"}\n',
    ]  # fmt: skip
    with nobody() as url:
        proxy = between(url, agents)
        shown = b""
        while len(shown) < len(b"".join(agents[:-1])):
            shown += os.read(proxy.process.stdout.fileno(), 65536)
        proxy.say(*editors)
        proxy.hears(3)
        rest, _ = proxy.end()
    assert shown + rest == b"".join(agents)
    assert proxy.heard.read_bytes() == b"".join(editors)


def test_nobody_but_the_desk_answers_a_request_for_permission(between):
    """The editor answers in its place, in all the ways that somebody may read; the desk says yes a little later."""
    yes = {"jsonrpc": "2.0", "id": 5, "result": {"outcome": YES}}
    forged = [
        yes, [yes], yes | {"id": 5.0}, yes | {"id": "5"}, yes | {"method": "session/update"}, yes | {"id": None},
        b'{"jsonrpc":"2.0","id":1,"id":5,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}\n',
        b'{"jsonrpc":"2.0","id":5,"result":{"outcome":{"outcome":"selected","optionId":"yes"}},"x":NaN}\n',
        b'{"jsonrpc":"2.0","method":"x"}\r' + line(yes),
    ]  # fmt: skip
    with answering(pause(0.7)) as url:
        proxy = between(url, [ASK])
        proxy.say(*forged)
        [heard] = proxy.hears(1)
        proxy.say(*forged, {"jsonrpc": "2.0", "method": "last"})
        assert proxy.hears(2)[1:] == [{"jsonrpc": "2.0", "method": "last"}]
        shown, complained = proxy.end()
    assert (heard["id"], heard["result"]["outcome"], shown) == (5, YES, b"")
    assert b"no message was dropped" in complained


def test_a_request_that_cannot_be_asked_about_is_refused(between):
    """Though the desk says yes to everything."""

    def ask(id_, **params):
        return ASK | {"id": id_, "params": ASK["params"] | params}

    said = [
        ask(1, toolCall={"toolCallId": "unknown"}), ask(2, toolCall="Pay"), ask(3, sessionId=7), ask(4, options="yes"),
        ask(6, options=[{"optionId": "yes", "kind": "allow_always"}, OPTIONS[1]]),
        ask(7, options=[{"optionId": "yes", "kind": "_let_it"}]),
        ask(8, options=[*OPTIONS[:1], {"optionId": "yes", "kind": "reject_always"}]),
        ASK | {"id": 10, "params": None},
        b'{"id": 11, "method": "x", "method": "session/request_permission", "params": {}}\n',
        ASK | {"id": None}, ASK | {"id": True}, ask("last"),
    ]  # fmt: skip
    with answering(lying(lambda said: None)) as url:
        proxy = between(url, said)
        heard = outcomes(proxy.hears(10))
        shown, _ = proxy.end()
    assert heard.pop("last") == YES
    refused = {
        1: NO,
        2: NO,
        3: NO,
        4: CANCELLED,
        6: NO,
        7: CANCELLED,
        8: CANCELLED,
        10: CANCELLED,
        11: CANCELLED,
    }
    assert (heard, shown) == (refused, b"")


def test_two_requests_of_one_id_are_both_refused(between):
    with answering(pause(0.7)) as url:
        proxy = between(url, [ASK, ASK, ASK | {"id": 6}])
        heard = proxy.hears(2)
        assert [(one["id"], one["result"]["outcome"]) for one in heard] == [(5, CANCELLED), (6, YES)]
        proxy.end()


def test_what_the_agent_or_the_turn_takes_back_is_cancelled(between):
    reports = []

    def late(request):
        head, _, body = request.partition(b"\r\n\r\n")
        if b"/execution " not in head:
            return pause(2)(request)
        reports.append(json.loads(body)["status"])
        return http(b"{}")

    with answering(late) as url:
        other = ASK | {"id": 6, "params": ASK["params"] | {"sessionId": "s2"}}
        gone = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 8}}
        proxy = between(url, [ASK, other, ASK | {"id": 8}, gone])
        assert outcomes(proxy.hears(1)) == {8: CANCELLED}
        cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}
        proxy.say(cancel)
        heard = proxy.hears(4)
        assert wait_until(lambda: len(reports) == 2, 60), "the desk waits for what came of what it approved"
        shown, _ = proxy.end()
    assert (heard[1], outcomes(heard), shown) == (cancel, {5: CANCELLED, 6: YES, 8: CANCELLED}, b"")
    assert reports == ["errored"] * 2


class Desk:
    """Takes questions, once it is to, and lets them wait; notes what it is asked for and what is withdrawn."""

    def __init__(self, *, is_slow: bool = False) -> None:
        self.asked, self.polled, self.withdrawn, self.may_answer = [], [], [], threading.Event()
        if not is_slow:
            self.may_answer.set()

    def __call__(self, request: bytes) -> bytes | None:
        path = request.split()[1].decode()
        if request.startswith(b"GET"):
            self.polled.append(path)
            return None
        if path.endswith("/cancel"):
            self.withdrawn.append(path)
            return http(b"{}")
        self.asked.append(path)
        self.may_answer.wait(60)
        return lying(lambda said: said.update(status="pending", decision=None))(request)


WITHDRAWN = [f"/api/v1/approvals/{APPROVAL}/cancel"]


@pytest.mark.parametrize("is_slow", [False, True], ids=["the desk has the question", "it is still being asked"])
def test_a_question_that_was_taken_back_is_withdrawn_at_the_desk(between, is_slow):
    never = {"outcome": "selected", "optionId": "never"}  # which is the editor's alone to say
    options = [*OPTIONS, {"optionId": "never", "name": "Never", "kind": "reject_always"}]
    desk = Desk(is_slow=is_slow)
    with answering(desk) as url:
        proxy = between(url, [ASK | {"params": ASK["params"] | {"options": options}}], "--ask-editor")
        shown = json.loads(proxy.process.stdout.readline())
        assert wait_until(lambda: desk.asked if is_slow else desk.polled, 60)
        proxy.say({"jsonrpc": "2.0", "id": shown["id"], "result": {"outcome": never}})
        assert outcomes(proxy.hears(1)) == {5: never}
        desk.may_answer.set()
        assert wait_until(lambda: desk.withdrawn, 60)
        proxy.end()
    assert desk.withdrawn == WITHDRAWN


def test_a_question_that_waits_is_withdrawn_at_the_desk_when_the_editor_is_gone(between):
    desk = Desk()
    with answering(desk) as url:
        proxy = between(url, [ASK])
        assert wait_until(lambda: desk.polled, 60)
        proxy.end()
        assert wait_until(lambda: desk.withdrawn, 60)
    assert desk.withdrawn == WITHDRAWN


def test_an_editor_that_is_gone_allows_nothing_any_more(between):
    with answering(pause(0.7)) as url:
        proxy = between(url, [ASK, {"id": 1, "method": "fs/read_text_file"}])
        proxy.process.stdout.readline()
        proxy.end()
    assert proxy.process.returncode == 0 and not proxy.heard.exists()


def test_an_agent_that_dies_ends_the_proxy_with_its_status(tmp_path):
    with nobody() as url:
        environment = {"PATH": os.environ["PATH"], "COUNTERSIGN_API_KEY": "cs_test", "COUNTERSIGN_URL": url}
        command = [*COUNTERSIGN, "acp", "--", sys.executable, "-c", f"print({json.dumps(ASK)!r}); raise SystemExit(3)"]
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as proxy:
            assert (proxy.stdout.read(), proxy.wait(20)) == (b"", 3)  # though its editor is still there


def test_without_a_desk_or_a_program_the_agent_is_not_started(tmp_path):
    command = [*COUNTERSIGN, "acp", "--", sys.executable, "-c", "open('started', 'w')"]
    for words in (command, command[:-4]):
        done = subprocess.run(words, cwd=tmp_path, env={"PATH": os.environ["PATH"]}, capture_output=True, timeout=30)
        assert done.returncode == 2 and done.stdout == b""
    assert list(tmp_path.iterdir()) == []


def test_an_editor_that_is_asked_too_is_told_when_the_desk_has_decided(between):
    with answering(pause(0.7)) as url:
        proxy = between(url, [ASK], "--ask-editor")
        shown = json.loads(proxy.process.stdout.readline())
        assert (shown["method"], shown["params"]) == (ASK["method"], ASK["params"]) and shown["id"] != 5
        proxy.say({"jsonrpc": "2.0", "id": shown["id"], "result": {"outcome": YES}})
        assert outcomes(proxy.hears(1)) == {5: YES}
        over = json.loads(proxy.process.stdout.readline())
        assert (over["method"], over["params"]) == ("$/cancel_request", {"requestId": shown["id"]})
        proxy.end()


def decided(allowed: bool, *, edited: bool = False) -> Decision:
    decision = Decision("approved" if allowed else "denied")
    decision.allowed, decision.is_edited, decision._arguments = allowed, edited, {}
    return decision


@pytest.mark.parametrize(
    ("decision", "kinds", "chosen"),
    [
        (decided(True), ["allow_once", "reject_once"], "allow_once"),
        (decided(True), ["allow_always", "reject_once"], "reject_once"),
        (decided(True), ["allow_always"], None),
        (decided(True), [], None),
        (decided(True, edited=True), ["allow_once", "reject_once"], "reject_once"),
        (decided(True, edited=True), ["allow_once"], None),
        (decided(False), ["allow_once", "allow_always", "reject_always", "reject_once"], "reject_once"),
        (decided(False), ["allow_once", "reject_always"], None),
    ],
)
def test_the_option_that_is_chosen(decision, kinds, chosen):
    allowed, result = permissions.outcome(decision, [{"optionId": kind, "kind": kind} for kind in kinds])
    assert result["outcome"].get("optionId") == chosen
    assert allowed == (chosen == "allow_once")


def test_what_is_asked_is_the_call_as_it_was_last_reported():
    calls = permissions.Calls()

    def update(sort, **said):
        return calls.note({"sessionId": "s1", "update": {"sessionUpdate": sort, "toolCallId": "c", **said}})

    update("tool_call", title="Edit", kind="edit", name="mcp__files__write", rawInput={"a": 1})
    update("tool_call_update", rawInput={"a": 2}, title=None)
    asked = permissions.Question("s1", calls.whole(("s1", "c"), {"toolCallId": "c", "rawInput": None}))
    assert (asked.tool, asked.server, asked.arguments, asked.context) == (
        "mcp__files__write",
        "files",
        {"a": 2},
        "Edit",
    )
    assert update("tool_call_update", status="failed") == (("s1", "c"), "errored")
    with pytest.raises(ValueError, match="does not say"):
        permissions.Question("s1", calls.whole(("s1", "c"), {"toolCallId": "c"}))
    diff = [{"type": "diff", "path": "/a", "newText": "b"}]
    asked = permissions.Question("s1", {"toolCallId": "c", "kind": "edit", "content": diff})
    assert (asked.tool, asked.arguments) == ("edit", {"kind": "edit", "content": diff})

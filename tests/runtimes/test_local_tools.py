"""Tools of the ``local`` runtime: MCP servers over HTTP and stdio, Python functions, names, secrets, results."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from mcp.types import Tool

from sessions_app.models import CallUsage, Event, Secret
from sessions_app.runtimes.tools import entries, offers, results
from sessions_app.services import secrets
from sessions_app.services.turns import messages
from tests.fakes import mcp_server
from tests.fakes.messages_api import call, text

from .conftest import BY, say, told, work
from .local import ALLOW, content, decide, event, texts, working

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = "claude-opus-5-5"
FUNCTIONS = '''
import asyncio, time

def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b

async def later(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "later"

def sleeps(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"

def fails(why: str) -> str:
    raise RuntimeError(why)

def cyclic() -> list:
    """Returns what is no JSON."""
    made: list = []
    made.append(made)
    return made

class NoFunction:
    pass

def untyped(thing: "Nowhere") -> str:
    return ""
'''


@pytest.fixture
def ask(make_session, api):
    """Have the model call one tool of an agent with these tools; the session when the turn rests."""

    def ask(tools, name, session=None, **arguments):
        session = session or make_session("Bold", "local", model=MODEL, policy=ALLOW, tools=tools)
        api.says(call(name, **arguments))
        api.says(text("I see."))
        say(session, "Go")
        return work(session)

    return ask


def at(shop, **more) -> list[dict]:
    return [{"type": "mcp", "server": "shop", "url": shop.url} | more]


# --- MCP over HTTP ---


def test_the_tools_of_a_server_are_offered_by_name(ask, api, shop):
    ask(at(shop, tools=["orders", "refund"]), "shop__orders")
    names = [tool["name"] for tool in api.requests[0]["tools"]]
    assert names == ["escalate_to_human", "shop__orders", "shop__refund"]
    refund = api.requests[0]["tools"][2]
    assert refund["description"] == "Pay the price of an order back."
    assert refund["input_schema"]["required"] == ["order"]


def test_an_error_of_a_tool_is_a_result(ask, api, shop):
    session = ask(at(shop), "shop__broken")
    result = event(session, "tool_result")
    assert (result.text, result.tool_status) == ("the till is stuck", "error")
    assert content(api.requests[1]["messages"][2])[0]["is_error"]


def test_arguments_that_the_server_refuses_are_told_to_the_model(ask, shop):
    session = ask(at(shop), "shop__refund", order="all of them")
    assert "Input should be a valid integer" in event(session, "tool_result").text
    assert session.status == "idle"


def test_a_server_that_is_down_leaves_the_turn_alive(ask, api):
    session = ask([{"type": "mcp", "server": "shop", "url": "http://127.0.0.1:9/mcp"}], "shop__orders")
    assert event(session, "error").text.startswith("the MCP server shop could not be reached: ConnectError")
    assert event(session, "tool_result").tool_status == "error"
    assert texts(session, "agent_message") == ["I see."]


@pytest.fixture
def other_service() -> Iterator[ThreadingHTTPServer]:
    """A service that is no MCP server, and answers everybody with what is nobody's business."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, kind = self.path.strip("/").split("/", 1)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(int(status))
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(b'{"internal": "INTERNAL-SECRET-DATA"}')

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/html"])
@pytest.mark.parametrize("status", [200, 404, 500])
def test_what_another_service_answers_is_not_in_the_log(ask, other_service, kind, status):
    url = f"http://127.0.0.1:{other_service.server_port}/{status}/{kind}"
    session = ask([{"type": "mcp", "server": "shop", "url": url}], "shop__orders")
    said = " ".join(text for _, text in told(session))
    assert "the MCP server shop could not be reached: MCPError" in said and f"HTTP {status}" in said
    assert "INTERNAL" not in said and "internal" not in said


def test_a_server_in_a_private_network_is_not_asked(ask, shop, settings):
    settings.PRIVATE_HOSTS = frozenset()
    session = ask(at(shop), "shop__orders")
    said = event(session, "error").text
    assert said.startswith("the MCP server shop could not be reached: PrivateAddress: 127.0.0.1 leads into a private")
    assert shop.calls == [] and event(session, "tool_result").tool_status == "error"


def test_a_server_that_goes_down_before_an_approved_call_is_a_result(make_session, api):
    with mcp_server.Shop().serving() as shop:
        session = make_session("Asks", "local", model=MODEL, tools=at(shop))
        api.says(call("shop__refund", order=1))
        say(session, "Go")
        work(session)
    decide(session, "approve")
    api.says(text("A pity."))
    work(session)
    result = event(session, "tool_result")
    assert result.tool_status == "error" and "the MCP server shop could not be reached" in result.text
    assert texts(session, "agent_message") == ["A pity."]


def test_a_call_that_takes_too_long_is_given_up(ask, shop):
    session = ask(at(shop, timeout=0.3), "shop__slow", seconds=20)
    result = event(session, "tool_result")
    assert result.text.startswith("It gave no answer within 0.3 seconds. Whether it took effect is not known")
    assert result.data["unknown_outcome"]
    assert CallUsage.objects.get().latency_ms < 5_000


def test_an_interrupt_does_not_wait_for_a_tool(make_session, api, shop):
    session = make_session("Bold", "local", model=MODEL, policy=ALLOW, tools=at(shop))
    api.says(call("shop__slow", seconds=60))
    say(session, "Go")
    started = time.monotonic()
    with working(session):
        while not shop.calls and time.monotonic() < started + 40:
            time.sleep(0.05)
        messages.interrupt(session.pk, by=BY)
    assert time.monotonic() - started < 55
    assert event(session, "tool_result").tool_status == "cancelled"
    assert told(session)[-1] == ("status", "interrupted")


def test_an_image_is_named(ask, shop):
    session = ask(at(shop), "shop__picture")
    assert event(session, "tool_result").text == "here\n[image image/png, 3 bytes: not shown]"


@pytest.mark.parametrize("characters", [100_001, 5_000_000])
def test_a_result_that_is_too_long_is_cut_with_a_note(ask, api, shop, characters):
    session = ask(at(shop), "shop__huge", characters=characters)
    result = event(session, "tool_result")
    assert result.text.endswith(f"[cut here: the result has {characters:,} characters; ask for less at once]")
    assert len(result.text) <= 100_000 and result.data["characters"] == characters
    assert content(api.requests[1]["messages"][2])[0]["content"] == [text(result.text)]


def test_an_answer_without_an_end_fails_the_call_and_not_the_worker(ask):
    with mcp_server.Shop().serving(json_response=True) as shop:
        session = ask(at(shop), "shop__huge", characters=20_000_000)
    result = event(session, "tool_result")
    assert result.tool_status == "error"
    assert result.text.startswith("the MCP server shop broke off")
    assert told(session)[-1][0] == "agent_message"


def test_characters_that_no_database_takes_do_not_end_the_turn(ask, shop):
    session = ask(at(shop), "shop__odd")
    assert event(session, "tool_result").text == "a\ufffdb\x1b[31mred\u202egnp.exe"
    assert results.of_text("a\ud800b").text == "a\ufffdb"


def test_tools_that_the_api_would_refuse_are_left_out_and_reported(ask, api, shop):
    shop.more = [
        Tool(name="strange", input_schema={"type": "object", "properties": {"a b": {}}}),
        Tool(name="union", input_schema={"type": "object", "oneOf": [{"required": ["a"]}]}),
        Tool(name="tool with blanks", input_schema={"type": "object"}),
        Tool(name="x" * 100, input_schema={"type": "object"}, description="d" * 100_000),
    ]
    session = ask(at(shop, tools=["strange", "union", "tool with blanks", "x" * 100, "missing"]), "shop__union")
    assert sorted(texts(session, "error")) == [
        "the MCP server shop: it has no tool 'missing'",
        "the MCP server shop: its tool 'strange' is left out: it has a property 'a b'; names have up to 64 letters, "
        "digits, dots, dashes and _",
    ]
    names = [tool["name"] for tool in api.requests[0]["tools"][1:]]
    assert names[0].startswith("shop__tool_with_blanks_") and names[1] == "shop__union" and len(names[2]) == 64
    assert api.refused == []


# --- secrets ---


def test_a_secret_is_sent_in_a_header_and_never_logged(ask, api, shop):
    secrets.store_secret(workspace_id(), "shop-token", "Bearer tok-123456", shop.url, by=BY)
    session = ask(at(shop, headers_secret={"Authorization": "shop-token"}), "shop__whoami")
    assert event(session, "tool_result").text == "you sent [secret]"
    everything = str([*Event.objects.filter(session=session).values()]) + str(api.requests)
    assert "123456" not in everything


def test_a_secret_goes_to_its_own_origin_alone(ask, shop):
    secrets.store_secret(workspace_id(), "other", "Bearer tok-123456", "https://mcp.example.com/path", by=BY)
    session = ask(at(shop, headers_secret={"Authorization": "other"}), "shop__whoami")
    [problem] = texts(session, "error")
    assert 'the secret "other" is for https://mcp.example.com and is not sent to http://127.0.0.1:' in problem
    assert event(session, "tool_result").tool_status == "error"


def test_a_secret_that_is_not_there_is_reported(ask, shop):
    session = ask(at(shop, headers_secret={"Authorization": "none"}), "shop__whoami")
    assert 'there is no secret "none" in this workspace' in event(session, "error").text
    assert not Secret.objects.exists()


def workspace_id():
    from sessions_app.services import workspaces

    return workspaces.default_workspace().id


# --- stdio ---


def test_a_command_that_the_operator_listed_runs(ask, settings):
    settings.MCP_COMMANDS = (mcp_server.COMMAND,)
    tools = [{"type": "mcp", "server": "till", "command": list(mcp_server.COMMAND)}]
    session = ask(tools, "till__refund", order=1)
    assert event(session, "tool_result").text == "order 1 is refunded"


@pytest.mark.parametrize("more", [["--and-more"], []])
def test_no_other_command_runs(ask, settings, tmp_path, more):
    settings.MCP_COMMANDS = (("touch",),)
    line = ["touch", *more] if more else ["touch", str(tmp_path / "ran")]
    session = ask([{"type": "mcp", "server": "till", "command": line}], "till__refund", order=1)
    assert "its command is not among COUNTERSIGN_MCP_COMMANDS" in event(session, "error").text
    assert not (tmp_path / "ran").exists()


def test_a_command_that_is_not_there_is_reported(ask, settings):
    settings.MCP_COMMANDS = (("/nowhere/at-all",),)
    session = ask([{"type": "mcp", "server": "till", "command": ["/nowhere/at-all"]}], "till__refund", order=1)
    assert event(session, "error").text.startswith("the MCP server till could not be reached: FileNotFoundError")


def test_sessions_and_processes_end_with_the_turn(ask, settings):
    import psutil

    settings.MCP_COMMANDS = (mcp_server.COMMAND,)
    threads = threading.active_count()
    ask([{"type": "mcp", "server": "till", "command": list(mcp_server.COMMAND)}], "till__refund", order=1)
    assert [child for child in psutil.Process().children() if "mcp_server.py" in " ".join(child.cmdline())] == []
    assert threading.active_count() <= threads


# --- Python functions ---


def test_a_function_is_a_tool_by_its_type_hints(ask, api, install_tools):
    install_tools(FUNCTIONS, "add")
    session = ask([{"type": "python", "name": "add"}], "add", a="2")
    assert event(session, "tool_result").text == "3"
    tool = api.requests[0]["tools"][1]
    assert (tool["description"], tool["input_schema"]["required"]) == ("Adds two numbers.", ["a"])
    assert CallUsage.objects.get().provider == "python"


@pytest.mark.parametrize(
    ("name", "arguments", "status", "words"),
    [
        ("add", {"a": "two"}, "error", "Input should be a valid integer"),
        ("add", {"c": 2}, "error", "Unexpected keyword argument"),
        ("fails", {"why": "the till is stuck"}, "error", "the till is stuck"),
        ("later", {"seconds": 0.01}, "ok", "later"),
        ("later", {"seconds": 30}, "error", "It gave no answer within 0.5 seconds"),
        ("sleeps", {"seconds": 3}, "error", "It gave no answer within 0.5 seconds"),
        ("cyclic", {}, "ok", "[[...]]"),
    ],
)
def test_whatever_a_function_does_is_a_result(ask, install_tools, name, arguments, status, words):
    install_tools(FUNCTIONS, name)
    session = ask([{"type": "python", "name": name, "timeout": 0.5}], name, **arguments)
    result = event(session, "tool_result")
    assert result.tool_status == status and words in result.text
    assert CallUsage.objects.get().provider == "python"
    assert texts(session, "agent_message") == ["I see."]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NoFunction", "my_tools:NoFunction is no function"),
        ("untyped", "its type hints make no JSON schema"),
        ("missing", "my_tools:missing cannot be loaded"),
    ],
)
def test_a_function_that_cannot_be_offered_is_reported(ask, install_tools, name, words):
    install_tools(FUNCTIONS, name)
    session = ask([{"type": "python", "name": name}], "escalate_to_human", question="?")
    assert words in event(session, "error").text


def test_a_function_that_nobody_installed_is_reported(ask):
    session = ask([{"type": "python", "name": "nowhere"}], "nowhere")
    assert "no installed package offers it as an entry point of countersign.tools" in event(session, "error").text


# --- names and definitions ---


def test_names_are_kept_apart_for_the_model():
    def offer(server, name):
        return offers.Offer(name, server, "", {"type": "object"}, lambda arguments: None)

    names, told = offers.named([offer("a", "b__c"), offer("a__b", "c"), offer("a", "b__c")])
    assert [(found.server, found.name) for found in names.values()] == [("a", "b__c"), ("a__b", "c")]
    assert list(names)[0] == "a__b__c" and list(names)[1].startswith("a__b__c_")
    assert told[0].startswith('the tool "a__b/c" and the tool "a/b__c" have one name; the model knows it as a__b__c_')
    assert told[1] == 'the tool "a/b__c" is there twice; the first one is used'


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("bash", "Input should be a valid dictionary"),
        ({"type": "builtin", "name": "bash"}, "does not match any of the expected tags"),
        ({"type": "mcp", "server": "a b", "url": "https://x"}, "server: String should match pattern"),
        ({"type": "mcp", "server": "a"}, "an MCP server has a url or a command"),
        ({"type": "mcp", "server": "a", "url": "file:///etc/passwd"}, "url: String should match pattern"),
        ({"type": "mcp", "server": "a", "url": "https://me:sk-1@x/mcp"}, "url: String should match pattern"),
        ({"type": "mcp", "server": "a", "url": "https://x", "headers": {"X": "sk-1"}}, "headers: Extra inputs"),
        ({"type": "mcp", "server": "a", "command": ["x"], "headers_secret": {"X": "y"}}, "a command has no headers"),
        ({"type": "custom", "name": "a", "input_schema": []}, "input_schema: Input should be a valid dictionary"),
    ],
)
def test_an_entry_that_is_none_is_told_without_its_values(entry, words):
    told, problems = entries.read([entry])
    assert told == [] and words in problems[0] and "sk-1" not in problems[0]

"""What other people's instrumentations send by their real exporters is the same session, whichever of them it was."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from countersign.doctor.model_apis import ModelApis

from config.database.postgres import wait_until
from sessions_app.models import Event, EventLink, Session
from tests.places import DOCS
from tests.sdk.adapters.libraries import python_with
from tests.sdk.npm import modules_with
from tests.sdk.real_clients import ClaudeCode
from tests.sdk.recorders.apis import ANSWERED, INPUT, PLAIN, READS, WRITES, apis
from tests.sdk.recorders.reading import ASKED, CALL, SAID, counted, log
from vcon_app.models import SpanPiece, SpanStream
from vcon_app.services.spans import telling

HERE = Path(__file__).parent
CONTENT = {
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
}
"""The conventions of OpenTelemetry leave out what was said unless they are told."""
WHOLE = [ASKED, CALL, ("tool_result", "sent"), SAID]
AI_SDK = (
    "ai@7.0.173", "@ai-sdk/otel@1.0.173", "@ai-sdk/anthropic@4.0.105", "@opentelemetry/api@1.9.1",
    "@opentelemetry/sdk-trace-node@2.5.0", "@opentelemetry/exporter-trace-otlp-proto@0.211.0", "zod@4.6.7",
)  # fmt: skip
SWITCHES = dict(re.findall(r"(\w+)=(\S+)", (DOCS / "otlp.md").read_text().split("```sh\n")[1].split("```")[0]))
"""Of Claude Code, as the page has them."""
PATIENCE = 300
"""A program imports some hundred modules of others before it begins."""
QUIET = {"status", "model_request"}
ASKED_AGAIN = ("agent_message", "Where is 4711?")


def run(command: list[str], desk: str, key: str, **more: str) -> str:
    """What a traced program prints; its spans are told."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "OTEL_SERVICE_NAME": "clerk",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{desk}/api/v1/otlp/v1/traces",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": f"Authorization=Bearer {key}",
    }  # fmt: skip
    done = subprocess.run(command, env=environment | more, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    told()
    return done.stdout


def told() -> None:
    assert wait_until(lambda: SpanStream.objects.exists(), PATIENCE)
    for stream in SpanStream.objects.all():
        telling.tell(stream.pk)
    assert not SpanPiece.objects.filter(round=telling.ASIDE).exists()


def traced(desk: str, key: str, source: str, asks: str, settings: dict[str, str]) -> Session:
    """The session of a program that was run with the instrumentation of ``source``."""
    with apis() as url:
        command = [str(python_with(source)), str(HERE / "traced.py"), source, asks, url]
        assert run(command, desk, key, **settings) == "At sea.\n"
    session = Session.objects.get()
    assert (session.external_id, session.agent.name, session.user_id) == (asks, "clerk", "ada")
    return session


def said(name: str) -> list[tuple[str, str]]:
    """The log without the steps of the program and what each request cost."""
    return [event for event in log(name) if event[0] not in QUIET]


@pytest.mark.parametrize(
    ("source", "asks", "settings", "whole"),
    [
        ("genai", "openai", CONTENT, WHOLE),
        ("genai", "responses", CONTENT, WHOLE),
        ("genai", "anthropic", CONTENT, WHOLE),
        ("openinference", "openai", {}, WHOLE),
        ("openinference", "responses", {}, WHOLE),
        ("openinference", "anthropic", {}, WHOLE),
        ("openllmetry", "openai", {}, WHOLE),
        ("openllmetry", "responses", {}, [ASKED, ("tool_result", "sent"), SAID]),  # it names the call by another id
        ("openllmetry", "anthropic", {}, WHOLE),
        ("langfuse", "openai", {}, WHOLE),
        ("langfuse", "responses", {}, WHOLE),
    ],
)
def test_what_was_asked_called_and_answered_is_told_once_and_counted_once(
    desk_server, agent_key, source, asks, settings, whole
):
    """Anthropic's client makes spans of its own beside those of the instrumentation, without what was said."""
    session = traced(desk_server, agent_key, source, asks, settings)
    assert said(asks) == whole
    assert counted(asks) == (2 * PLAIN, 2 * READS, 2 * ANSWERED)
    assert (session.cache_write_tokens or 0) == (2 * WRITES if asks == "anthropic" else 0)
    assert session.unpriced_tokens == 0 and session.cost_priced


NO_RESULT, NO_CALL = [ASKED, SAID], [ASKED, ASKED_AGAIN, ("tool_result", "sent"), SAID]


@pytest.mark.parametrize(
    ("source", "asks", "settings", "whole", "tokens"),
    [
        ("genai-v2", "openai", CONTENT, WHOLE, (INPUT, 0, 0)),
        ("genai-v2", "openai", {}, [], (INPUT, 0, 0)),  # what was said goes in log records, which no desk is sent
        ("openllmetry-0.47", "openai", {}, WHOLE, (PLAIN, READS, 0)),
        ("openllmetry-0.47", "responses", {}, NO_RESULT, (PLAIN, READS, 0)),  # it leaves the call out of what is asked
        ("openllmetry-0.47", "anthropic", {}, WHOLE, (PLAIN, READS, WRITES)),
        ("openllmetry-0.33", "openai", {}, WHOLE, (INPUT, 0, 0)),
        ("openllmetry-0.33", "anthropic", {}, WHOLE, (PLAIN, READS, WRITES)),
        ("openllmetry-0.10", "openai", {}, NO_CALL, (INPUT, 0, 0)),  # its assistant says once more what was asked
    ],
)
def test_releases_of_before_tell_what_they_have(desk_server, agent_key, source, asks, settings, whole, tokens):
    """Those that do not say which tokens came out of the cache count them as input."""
    session = traced(desk_server, agent_key, source, asks, settings)
    assert said(asks) == whole
    counts = (session.input_tokens, session.cache_read_tokens or 0, session.cache_write_tokens or 0)
    assert (counts, session.output_tokens) == (tuple(2 * count for count in tokens), 2 * ANSWERED)
    assert session.unpriced_tokens == 0 and session.cost_priced


@pytest.mark.parametrize("telemetry", ["OpenTelemetry", "LegacyOpenTelemetry"])
def test_the_ai_sdk(desk_server, agent_key, telemetry, tmp_path):
    node = shutil.which("node")
    modules = modules_with("ai-sdk", AI_SDK)
    program = modules.parent / "traced.mjs"  # beside them: modules are looked for above the file
    program.write_text((HERE / "traced.mjs").read_text())
    with apis() as url:
        assert run([str(node), str(program), url, telemetry], desk_server, agent_key) == "At sea.\n"
    session = Session.objects.get()
    assert said(session.external_id) == WHOLE
    assert counted(session.external_id) == (2 * PLAIN, 2 * READS, 2 * ANSWERED)
    assert session.cache_write_tokens == 2 * WRITES and session.unpriced_tokens == 0
    assert session.status == "idle" and session.event_count == Event.objects.filter(session=session).count()


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
def test_claude_code(desk_server, agent_key, tmp_path, protocol):
    """Its spans say who let a call run: the settings here, which let commands run and no file be written."""
    apis = ModelApis([("Bash", {"command": "echo sent"})], [("Write", {"file_path": "a.txt", "content": "x"})])
    with apis.serving():
        claude = ClaudeCode(tmp_path, apis)
        environment = claude.environment("", "") | SWITCHES | {"OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        command = ["env", "-C", str(claude.work), str(claude.program), "-p", "Where is 4711?", "--allowedTools", "Bash"]
        run(command, desk_server, agent_key, **environment)
    session = Session.objects.get()
    assert said(session.external_id) == [
        ASKED, ("tool_call", "Bash"), ("approval", "Bash"), ("tool_result", "sent"),
        ("tool_call", "Write"), ("approval", "Write"), ("tool_result", "Write"),
    ]  # fmt: skip
    ran, refused = Event.objects.filter(session=session, kind="approval").order_by("seq")
    assert (ran.data["decision"], refused.data["decision"], ran.data["by"]) == ("approved", "denied", "policy")
    sent = EventLink.objects.filter(session=session).values_list("origin", "reported_by")
    assert set(sent) == {("api", "Laptop")}  # the word of who sent it, and never a decision of the desk
    results = Event.objects.filter(session=session, kind="tool_result").order_by("seq")
    assert [event.tool_status for event in results] == ["ok", "denied"]
    call = Event.objects.get(session=session, kind="tool_call", tool_name="Bash")
    assert call.arguments == {"command": "echo sent"}
    assert session.input_tokens and session.output_tokens and session.agent.name == "clerk"

"""The program in docs/otlp.md: OpenTelemetry's own exporter and Anthropic's own spans make a session here."""

from __future__ import annotations

import os
import subprocess

from config.database.postgres import wait_until
from sessions_app.models import Event, Session
from tests.fakes import messages_api
from tests.places import DOCS
from tests.sdk.adapters.libraries import PATIENCE, python_with
from vcon_app.models import SpanStream
from vcon_app.services.spans import telling


def code(language: str) -> str:
    return (DOCS / "otlp.md").read_text().split(f"```{language}\n")[1].split("```")[0]


def test_a_traced_program_is_a_session(desk_server, agent_key):
    fake = messages_api.FakeMessagesApi()
    fake.says(messages_api.text("At noon."))
    with fake.serving():
        environment = {
            "PATH": os.environ["PATH"], "HOME": "/nonexistent", "COUNTERSIGN_API_KEY": agent_key,
            "ANTHROPIC_BASE_URL": fake.base_url, "ANTHROPIC_API_KEY": messages_api.KEY,
        }  # fmt: skip
        exports = code("bash").replace("http://127.0.0.1:8000", desk_server)
        command = f'{exports}\nexec "$0" -c "$1"'
        done = subprocess.run(
            ["bash", "-euc", command, str(python_with("opentelemetry")), code("python")],
            env=environment, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "At noon.\n"), done.stderr
    assert wait_until(lambda: SpanStream.objects.exists(), PATIENCE)
    telling.tell(SpanStream.objects.get().pk)
    session = Session.objects.get()
    assert (session.external_id, session.agent.name, session.status) == ("harbour-12", "tide-clerk", "idle")
    said = Event.objects.filter(session=session, kind__in=["user_message", "agent_message"]).order_by("seq")
    assert [event.text for event in said] == ["When is high water?", "At noon."]
    assert (session.input_tokens, session.output_tokens) == (12, 9)

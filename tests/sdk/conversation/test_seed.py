"""The code of the page that sessions for programs were wished for in, with nothing but its import lines changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from sessions_app.models import Event, Role, Session, SessionRetention, StateValue
from sessions_app.services import audit
from sessions_app.services.people import api_keys
from tests.places import ROOT

from ..conftest import SOURCE
from .model import UsesItsFirstTool

PAGES = list((ROOT.parent / "shared" / "seeds").glob("004_*.txt"))
PATIENCE = 240


def blocks(page: Path) -> list[str]:
    found = re.findall(r"^( *)```python\n(.*?)^\1```", page.read_text(), re.S | re.M)
    return [textwrap.dedent(source) for _, source in found]


def ours(source: str) -> str:
    """``[...]`` on the page stands for what its reader fills in."""
    return source.replace("from agnt5 import", "from countersign.conversation import").replace("[...]", '["..."]')


@pytest.mark.skipif(not PAGES, reason="the page is not here")
def test_its_code_runs(desk_server, workspace, tmp_path):
    key = api_keys.create_api_key(workspace, "Program", Role.REVIEWER, by=audit.COMMAND)[1]
    sources = blocks(PAGES[0])
    with UsesItsFirstTool().serving() as model:
        environment = {
            "PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "COUNTERSIGN_URL": desk_server,
            "COUNTERSIGN_API_KEY": key, "COUNTERSIGN_SPOOL": str(tmp_path), "ANTHROPIC_BASE_URL": model,
            "ANTHROPIC_API_KEY": "sk-test",
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("run_blocks.py"))], env=environment, text=True,
            input=json.dumps([ours(source) for source in sources]), capture_output=True, timeout=PATIENCE,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    wrong = dict(enumerate(json.loads(done.stdout)))
    assert {number: said for number, said in wrong.items() if said} == {} and len(wrong) == 15

    routed = Event.objects.filter(session=Session.objects.get(external_id="customer-inquiry-789"))
    handed = routed.get(kind="handoff").data
    assert (handed["from"], handed["to"], handed["messages_passed"]) == ("router", "billing_specialist", 2)
    research = Event.objects.filter(session=Session.objects.get(external_id="research-workflow-001"))
    said = research.filter(kind="agent_message").order_by("seq").values_list("actor_name", flat=True)
    assert list(said) == ["literature_reviewer", "code_analyzer", "synthesizer"]
    assert set(research.filter(kind="tool_call").values_list("tool_name", flat=True)) == {
        "paper_search", "github_search", "document_tool"}  # fmt: skip
    kept = StateValue.objects.filter(key="memory/medication_allergies").get()
    assert kept.scope == "app" and kept.value["content"] == "Penicillin, Sulfa drugs"
    assert not StateValue.objects.filter(key__in=["processing_step", "validation_step"]).exists()

    def policy(name: str) -> dict[str, Any]:
        return SessionRetention.objects.get(session__external_id=name).policy()

    nothing = dict.fromkeys(("ttl_days", "prune_strategy", "max_messages", "hold_reason"))
    nothing |= {"auto_prune": False, "immutable": False}
    assert policy("healthcare-session") == nothing | {"ttl_days": 2555, "immutable": True}
    assert policy("temp-chat") == nothing | {"ttl_days": 1, "auto_prune": True}
    assert policy("chat-session") == nothing | {
        "ttl_days": 30, "auto_prune": True, "prune_strategy": "sliding_window", "max_messages": 1000}  # fmt: skip

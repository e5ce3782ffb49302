"""The MCP library's own client of 2026-07-28 behind the gateway: it comes back in rounds, or fetches a task."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.extension import ClientExtension, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result

from config.database.postgres import wait_until
from sessions_app.models import Approval
from tests.sdk.conftest import SOURCE, a_moment

SHOP = Path(__file__).parents[1] / "adapters" / "mcp_shop.py"
PROGRAM = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); from countersign.cli import main; main()"
MODERN = "2026-07-28"


class _Task(Result):
    result_type: Literal["task"] = "task"
    task_id: str


class _Whole(Result):
    status: str
    result: dict[str, Any] | None = None


class _TaskParams(RequestParams):
    task_id: str


class _GetTask(Request[_TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: _TaskParams
    name_param = "taskId"


class Tasks(ClientExtension):
    """What a client that takes tasks does: it asks until the task is over."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.statuses: list[str] = []

    def claims(self):
        return [ResultClaim(result_type="task", model=_Task, resolve=self.fetch)]

    async def fetch(self, created: _Task, context: Any) -> CallToolResult:
        while True:
            request = _GetTask(params=_TaskParams(task_id=created.task_id))
            told = await context.session.send_request(request, _Whole)
            self.statuses.append(told.status)
            if told.result is not None:
                return CallToolResult.model_validate(told.result)
            await anyio.sleep(0.2)


def called(place, desk, key, decide_then, *, extensions=(), waits="0.5"):
    """The result of a call through the gateway, and what the server did; ``decide_then`` runs meanwhile."""
    words = ["-c", PROGRAM, "mcp-gateway", "--server", "shop", "--hold", "40", "--round", waits, "--", sys.executable]
    environment = {"PATH": os.environ["PATH"], "COUNTERSIGN_URL": desk, "COUNTERSIGN_API_KEY": key}
    environment["LEDGER"] = str(place / "ledger")
    server = StdioServerParameters(command=sys.executable, args=[*words, str(SHOP)], env=environment)

    async def use():
        async with (
            Client(server, mode=MODERN, extensions=extensions, input_required_max_rounds=200) as client,
            anyio.create_task_group() as group,
        ):
            group.start_soon(anyio.to_thread.run_sync, decide_then)
            return await client.call_tool("refund", {"order": "4711", "amount": 40.0})

    result = asyncio.run(asyncio.wait_for(use(), 60))
    ledger = place / "ledger"
    return result, [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []


@pytest.mark.parametrize("takes_tasks", [False, True], ids=["rounds", "tasks"])
def test_a_call_that_waits_for_a_person_runs_once_as_it_was_edited(
    tmp_path, desk_server, agent_key, asked, decide, takes_tasks
):
    tasks = Tasks()

    def decide_then():
        approval = asked()
        assert not takes_tasks or wait_until(lambda: bool(tasks.statuses), 60), "it was given no task"
        a_moment()
        a_moment()
        decide(approval, "approve", arguments={"order": "4711", "amount": 4.5})

    result, ran = called(tmp_path, desk_server, agent_key, decide_then, extensions=[tasks] if takes_tasks else ())
    assert (result.is_error, ran) == (False, [{"order": "4711", "amount": 4.5}])
    if takes_tasks:
        assert tasks.statuses[0] == "working" and tasks.statuses[-1] == "completed"
    approval = Approval.objects.get()
    assert approval.execution == "succeeded"
    assert len(approval.tool_fingerprint) == 64


@pytest.mark.parametrize("takes_tasks", [False, True], ids=["rounds", "tasks"])
def test_a_call_that_is_denied_does_not_run(tmp_path, desk_server, agent_key, asked, decide, takes_tasks):
    def decide_then():
        approval = asked()
        a_moment()
        decide(approval, "deny", reason="Too much.")

    extensions = [Tasks()] if takes_tasks else ()
    result, ran = called(tmp_path, desk_server, agent_key, decide_then, extensions=extensions)
    assert (result.is_error, ran) == (True, [])
    assert "Too much." in result.content[0].text

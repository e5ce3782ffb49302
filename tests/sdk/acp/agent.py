"""An agent of the real ACP library that asks to pay money back; it writes down what it did in the file of LEDGER."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import acp
from acp.schema import PermissionOption, ToolCallUpdate

GIVEN = {"order": "4711", "amount": 40.0}
OPTIONS = [("yes", "allow_once"), ("always", "allow_always"), ("no", "reject_once")]


class Refunds(acp.Agent):
    def on_connect(self, conn: Any) -> None:
        self._editor = conn

    async def initialize(self, protocol_version: int, **more: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **more: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="4711")

    async def cancel(self, session_id: str, **more: Any) -> None:
        self._is_cancelled = True

    async def prompt(self, prompt: Any, session_id: str, **more: Any) -> acp.PromptResponse:
        start = acp.start_tool_call("call_1", "Pay 40 back", kind="execute", status="pending", raw_input=GIVEN)
        await self._editor.session_update(session_id, start)
        options = [PermissionOption(option_id=id_, name=id_, kind=kind) for id_, kind in OPTIONS]
        call = ToolCallUpdate(tool_call_id="call_1")  # as little as the protocol takes
        answer = await self._editor.request_permission(session_id=session_id, tool_call=call, options=options)
        if answer.outcome.outcome == "selected" and answer.outcome.option_id in ("yes", "always"):
            with Path(os.environ["LEDGER"]).open("a") as ledger:
                ledger.write(json.dumps([answer.outcome.option_id, GIVEN]) + "\n")
            await self._editor.session_update(session_id, acp.update_tool_call("call_1", status="completed"))
        said = json.dumps(answer.model_dump(mode="json", by_alias=True, exclude_none=True))
        await self._editor.session_update(session_id, acp.update_agent_message_text(said))
        return acp.PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Refunds()))

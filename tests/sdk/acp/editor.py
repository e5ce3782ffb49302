"""An editor of the real ACP library, which starts an agent and prompts it, once for each line of its input.

A line: the command, the environment, what its user answers ("yes" or "no"), whether the user cancels, and the folder.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse


class Editor(acp.Client):
    def __init__(self, answer: str | None) -> None:
        self.said: list[Any] = []
        self.asked = asyncio.Event()
        self.shown = asyncio.Event()
        self._answer = answer

    async def request_permission(self, options: Any, session_id: str, tool_call: Any, **more: Any) -> Any:
        self.asked.set()
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=str(self._answer)))

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self.shown.set()
        if update.session_update == "agent_message_chunk":
            self.said.append(update.content.text)


async def prompt(
    command: list[str], environment: dict[str, str], answer: str | None = None, cancels: bool = False, cwd: str = "/"
) -> dict[str, Any]:
    editor = Editor(answer)
    try:
        async with acp.spawn_agent_process(editor, *command, env=environment) as (agent, _):
            await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
            session = await agent.new_session(cwd=cwd, mcp_servers=[])
            turn = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=[acp.text_block("Pay.")]))
            if cancels:
                await editor.shown.wait()
                await asyncio.sleep(0.5)  # what follows is the request
                await agent.cancel(session_id=session.session_id)
            stop = (await turn).stop_reason
            await asyncio.sleep(0.2)  # for what the proxy may still say
        return {"said": editor.said, "asked": editor.asked.is_set(), "stop": stop}
    except Exception as error:
        return {"raised": repr(error)}


async def main() -> list[dict[str, Any]]:
    return await asyncio.gather(*(prompt(**json.loads(line)) for line in sys.stdin))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())))

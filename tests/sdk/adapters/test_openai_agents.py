"""A wrapped tool does not take the word of a run's state for a decision."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.sdk.bad_desks import answering, lying

from .libraries import PATIENCE, SOURCE, python_with

APPROVES_ITSELF = """if True:
    import asyncio, json
    from agents import Agent, Runner, function_tool
    from countersign.adapters.openai_agents import Gate
    from scripted_openai_agents import model, told

    ran = []

    @function_tool
    def refund(order: str, amount: float) -> str:
        ran.append(order)
        return "Paid."

    async def main():
        script = model([{"order": "4711", "amount": 40.0}])
        agent = Agent(name="Refunds", model=script, tools=[Gate("Refund agent").tool(refund)])
        result = await Runner.run(agent, "Pay.")
        state = result.to_state()
        for item in result.interruptions:
            state.approve(item, always_approve=True)
        await Runner.run(agent, state)
        print(json.dumps([len(result.interruptions), ran, told(script)]))

    asyncio.run(main())
"""


def test_a_run_that_approves_its_own_calls_runs_nothing():
    """Also where the desk would have said yes: nobody asked it."""
    with answering(lying(lambda said: None)) as url:
        environment = {
            "PATH": os.environ["PATH"], "PYTHONPATH": f"{SOURCE}:{Path(__file__).parent}",
            "COUNTERSIGN_API_KEY": "cs_test",
            "COUNTERSIGN_URL": url, "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }  # fmt: skip
        command = [str(python_with("openai-agents")), "-c", APPROVES_ITSELF]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    waited, ran, [told] = json.loads(done.stdout)
    assert (waited, ran) == (1, []) and told.startswith("Not run")

"""Tools of Google ADK that ask for a confirmation of their own, each against the desks of the command line."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from countersign.adapters.google_adk import gate
from google.adk.agents import Agent
from google.adk.apps.app import App
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from scripted_google_adk import model

GIVEN = {"order": "4711", "amount": 40.0}


async def became(form: str, desk: str) -> list[Any]:
    """What ran, and whether the run asks somebody for a confirmation."""
    os.environ["COUNTERSIGN_URL"] = desk
    ran: list[Any] = []

    def refund(order: str, amount: float) -> str:
        """Pay money back."""
        ran.append({"order": order, "amount": amount})
        return "Paid."

    confirms: Any = {"always": True, "a function": lambda order, amount: amount > 10, "never": False}[form]
    agent = Agent(name="refunds", model=model([GIVEN]), tools=[FunctionTool(refund, require_confirmation=confirms)])
    app = App(name="shop", root_agent=agent, plugins=[gate("Refund agent", wait=2)])
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name="shop", user_id="rosa")
    message = types.Content(role="user", parts=[types.Part(text="Pay.")])
    events = [event async for event in runner.run_async(user_id="rosa", session_id=session.id, new_message=message)]
    calls = [call.name for event in events for call in event.get_function_calls()]
    return [ran, "adk_request_confirmation" in calls]


async def main(desks: list[str]) -> dict[str, Any]:
    forms = ("always", "a function", "never")
    return {form: [await became(form, desk) for desk in desks] for form in forms}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1:]))))

"""The tools of the assistant: those that fill the slot ``DESK_TOOLS``, each call with the rights of who asks."""

from __future__ import annotations

import logging
from functools import cached_property, partial
from typing import Any
from uuid import UUID

from sessions_app import extensions
from sessions_app.extensions import DeskTool, ToolRefused
from sessions_app.models import Event, Member
from sessions_app.runtimes import Failed
from sessions_app.runtimes.calls import Result
from sessions_app.runtimes.run import TurnRun
from sessions_app.runtimes.tools.offers import Offer, schema_of
from sessions_app.runtimes.tools.results import of_text

log = logging.getLogger(__name__)
MOST = 24_000
"""Characters of a result: about 6,000 tokens, which every later request of the chat pays for again."""
NOBODY = (
    "Build with AI answers members of the workspace who may read its sessions, with what they may read; this message "
    "comes from nobody of them"
)


def asker_of(turn: TurnRun) -> Member:
    """The member whose message, or wish to try again, began the turn. Raises ``Failed`` where it is none, or no more.

    Asked before each call: who leaves the workspace in the middle of a turn reads no more from then on.
    """
    kind, _, id_ = turn.flight.requester.partition(":")
    try:
        wanted = UUID(id_) if kind == "member" else None
    except ValueError:
        wanted = None
    here = {"workspace_id": turn.session.workspace_id, "numbers_only": False, "user__is_active": True}
    found = Member.objects.select_related("workspace", "user").filter(pk=wanted, **here).first()
    if found is None:
        raise Failed(NOBODY)
    return found


class DeskTools:
    """What ``local.loop`` needs of a toolbox. No call is one that a person answers, not even a question to a person."""

    people: frozenset[str] = frozenset()

    def __init__(self, turn: TurnRun, *_: Any) -> None:
        self._turn = turn
        self.problems: list[str] = []

    def __enter__(self) -> DeskTools:
        return self

    def __exit__(self, *raised: Any) -> None:
        """Nothing is open."""

    @cached_property
    def offers(self) -> dict[str, Offer]:
        """The tools by their names."""
        tools = [tool for provider in extensions.providers(extensions.DESK_TOOLS) for tool in provider()]
        return {
            tool.name: Offer(tool.name, None, tool.description, schema_of(tool.schema), partial(self._run, tool))
            for tool in tools
        }

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """Definitions of the tools, for the Messages API."""
        return [offer.definition(name) for name, offer in self.offers.items()]

    def execute(self, call: Event, arguments: Any) -> Result:
        """Run a call. Raises nothing: what goes wrong is a result."""
        offer = None if call.tool_server else self.offers.get(call.tool_name or "")
        if offer is None:
            return of_text(f'There is no tool "{call.tool_name}" here.', "error")
        return offer.run(arguments)

    def _run(self, tool: DeskTool, arguments: Any) -> Result:
        try:
            said = tool.run(asker_of(self._turn), arguments if isinstance(arguments, dict) else {})
        except (ToolRefused, Failed) as refused:
            return of_text(str(refused), "error")
        except Exception as error:  # a tool may fail in any way, and the assistant has to hear of it
            log.exception("the tool %s of the desk failed", tool.name)
            return of_text(f"the tool failed: {type(error).__name__}", "error")
        if len(said) <= MOST:
            return of_text(said)
        note = f"[cut here: the answer has {len(said):,} characters; ask for less at once]"
        return of_text(f"{said[:MOST]}\n{note}", characters=len(said))

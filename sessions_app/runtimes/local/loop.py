"""Agents that run here, with a key of the Anthropic API and no Managed Agents: a tool loop on the Messages API.

``advance`` looks at the log: it brings open calls to their results, asks the model for the next response, appends it
whole, and so on until the model calls no more tools. A worker that dies loses no more than the response that it was
reading. The agent's ``environment`` may hold ``max_tokens``, ``thinking`` and ``effort`` of its requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from anyio.from_thread import BlockingPortal, start_blocking_portal

from sessions_app.drafts import EventDraft
from sessions_app.models import Event

from .. import Ended, Failed, Outcome, Retry, Waits, calls
from ..run import TurnRun
from ..tools.box import Toolbox
from ..tools.offers import Offer
from . import compaction, events
from .context import CACHED, Context
from .model import Later, Model, TooLong, patience

MAX_TOKENS = 32_000
"""Of one response: what every model that is served today can write."""
MOST_REQUESTS = 200
"""In one turn, so that an agent that goes in circles ends before the money does."""
GONE = "There is no tool of this name. Use one of those that you were given."
NOT_MADE = "Not made: the response that asked for it was cut off."
BY_ITSELF = "this message is too long for the model by itself, send less at once"
OVER = ("end_turn", "stop_sequence")
GOES_ON = ("tool_use", "pause_turn", events.INTERRUPTED)
WHY = {
    "max_tokens": "the response was cut off at {max_tokens:,} tokens, the most that this agent may write at once; "
    'retry to let it go on, or raise "max_tokens" in its environment',
    "model_context_window_exceeded": "the response was cut off, because the session fills the context window of the "
    "model; retry: the session is summarised first, and goes on from the summary",
    "refusal": "the model declined to answer{because}; say it differently, or continue from an earlier turn, "
    "because it is likely to decline again with the same messages",
}


class Tools(Protocol):
    """What the model is offered in one advance of a turn, and how a call of it runs. See ``Toolbox``."""

    problems: list[str]

    def __enter__(self) -> Tools: ...

    def __exit__(self, *raised: Any) -> None: ...

    @property
    def offers(self) -> dict[str, Offer]: ...

    @property
    def definitions(self) -> list[dict[str, Any]]: ...

    @property
    def people(self) -> frozenset[str]: ...

    def execute(self, call: Event, arguments: Any) -> calls.Result: ...


def advance(turn: TurnRun, toolbox: Callable[[TurnRun, BlockingPortal], Tools] = Toolbox) -> Outcome:
    """Advance a turn as far as it goes without a person. See ``runtimes``."""
    if not turn.agent.model:
        raise Failed("this agent has no model; edit it and name one, for example claude-opus-5-5")
    with start_blocking_portal() as portal, toolbox(turn, portal) as tools, Model(portal) as model:
        return _Loop(turn, tools, model, Context(turn)).run()


@dataclass
class _Loop:
    turn: TurnRun
    tools: Tools
    model: Model
    context: Context

    def run(self) -> Outcome:
        turn = self.turn
        while not turn.interrupted:
            responses = self._last_events_of_responses()
            if responses and (last := self._events_at_end(responses[-1])) is not None:
                return Ended(last)
            self._refuse_unknown()
            if not calls.finish_open_calls(turn, self.tools.execute, self.tools.people):
                return Waits()
            if turn.interrupted:
                break
            if len(responses) >= MOST_REQUESTS:
                raise Failed(
                    f"the agent made {len(responses)} model requests in this turn and was stopped; retry to go on"
                )
            turn.check_money()
            paused = bool(responses) and responses[-1].data["stop_reason"] == "pause_turn"
            if later := self._compact() if compaction.is_due(turn) else self._request_response(paused=paused):
                return later
        return Ended(calls.cancelled(turn))

    def _last_events_of_responses(self) -> list[Event]:
        """The last event of each response of this turn, since a person last asked to try again."""
        responses: list[Event] = []
        for event in self.turn.events_of_turn():
            if "stop_reason" in event.data and event.client_key.startswith("local:"):
                responses.append(event)
            elif event.data.get("status") == "retry":
                responses = []
        return responses

    def _events_at_end(self, response: Event) -> list[EventDraft] | None:
        """The last events of the turn, if this response is its end."""
        stop = response.data["stop_reason"]
        if stop in GOES_ON:
            return None
        left = [self.turn.result(call, NOT_MADE, "cancelled") for call in calls.open_calls(self.turn)]
        if stop in OVER:
            return left
        why = WHY.get(stop, 'the response ended for a reason that is not known here: "{stop}"')
        details = response.data.get("stop_details") or {}
        because = ": " + " — ".join(filter(None, (details.get("category"), details.get("explanation"))))
        problem = why.format(max_tokens=_max_tokens(self.turn), because=because if len(because) > 2 else "", stop=stop)
        return [*left, self._error(f"local:{response.request}:stopped", problem)]

    def _refuse_unknown(self) -> None:
        for call in calls.open_calls(self.turn):
            if call.data.get("no_such_tool"):
                self.turn.append(self.turn.result(call, GONE, "error"))

    def _request_response(self, *, paused: bool) -> Retry | None:
        """Request the next response and append it. Problems of the tools are appended once a turn, by their key."""
        turn = self.turn
        offers = self.tools.offers
        if self.tools.problems:
            turn.append(*(self._error(f"local:{turn.turn}:{problem}", problem) for problem in self.tools.problems))
        if turn.interrupted:
            return None
        try:
            reply = self.model.stream_response(turn, self._request(paused))
        except Later as later:
            return self._later(later)
        except TooLong as refused:
            if self.context.is_short:
                raise Failed(f"{refused}; {BY_ITSELF}") from None
            return self._compact()
        appended = turn.append(*events.drafts_of_response(turn, reply, offers))
        if reply.whole and not appended.accepted:
            raise Failed(
                f"the API gave the id {reply.message and reply.message.id} to two responses; is it the real one?"
            )
        if turn.state.get("failures"):
            turn.save_state(failures=0)
        return None

    def _compact(self) -> Retry | None:
        """Put a summary in the place of what happened so far."""
        try:
            compaction.compact(self.turn, self.model)
        except Later as later:
            return self._later(later)
        return None

    def _later(self, later: Later) -> Retry:
        failures = self.turn.state.get("failures", 0)
        self.turn.save_state(failures=failures + 1)
        return Retry(patience(failures) if later.seconds is None else later.seconds, str(later))

    def _request(self, paused: bool) -> dict[str, Any]:
        """Body of the next request. Everything that stays the same stands first, and is cached."""
        agent, tools = self.turn.agent, self.tools.definitions
        tools[-1]["cache_control"] = CACHED
        request: dict[str, Any] = {
            "model": agent.model,
            "max_tokens": _max_tokens(self.turn),
            "tools": tools,
            "messages": self.context.messages(paused=paused),
        }
        if agent.instructions.strip():
            request["system"] = [{"type": "text", "text": agent.instructions, "cache_control": CACHED}]
        if thinking := agent.environment.get("thinking"):
            request["thinking"] = thinking
        if effort := agent.environment.get("effort"):
            request["output_config"] = {"effort": effort}
        return request

    def _error(self, key: str, text: str) -> EventDraft:
        return self.turn.event("error", key, text, actor_kind="system", actor_name="Countersign")


def _max_tokens(turn: TurnRun) -> int:
    limit = turn.agent.environment.get("max_tokens")
    return limit if isinstance(limit, int) and limit > 0 else MAX_TOKENS

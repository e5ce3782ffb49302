"""One trajectory: the session, its steps, and the sub-agents that are embedded in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import Draft, EventDraft, SessionDraft
from ..common.calls import ID_LIMIT, id_of
from ..common.documents import Document
from ..common.jsonio import dumps
from ..common.lines import Line, digest
from ..common.reading import Findings, unknown_event
from ..common.times import parse
from ..common.values import bounded, count_of, dict_of, list_of, scalars_of, text_of
from .content import name_of
from .state import TrajectoryState
from .steps import Step
from .totals import Totals

FORMAT = "atif"
MOST_LEVELS = 20
"""Sub-agents inside of sub-agents that are followed."""
KEPT = frozenset({"schema_version", "session_id", "trajectory_id", "steps", "notes", "subagent_trajectories"})
"""Keys of a trajectory that session and events tell; the others are kept for a writer."""


def external_id(line: Line) -> str:
    """Id of the trajectory, else of its session (a continuation with its number), else made of its bytes."""
    value = line.value
    if own := text_of(value.get("trajectory_id")):
        return own[:ID_LIMIT]
    session = text_of(value.get("session_id"))[:ID_LIMIT] or f"{FORMAT}-{digest(line.raw)}"
    return f"{session}/cont-{number}" if (number := continuation(value)) else session


def continuation(value: dict[str, Any]) -> int:
    """The number of this file behind the first of its session, 0 for that one. Terminus says it of its agent."""
    return count_of(dict_of(dict_of(value.get("agent")).get("extra")).get("continuation_index")) or 0


class Trajectory(Document):
    """Reads one trajectory and those embedded in it."""

    def __init__(self, line: Line, findings: Findings, id: str) -> None:
        super().__init__(FORMAT, findings)
        self._state = TrajectoryState(self.findings, self.calls)
        self._line = line
        self._id = id
        self._told: set[tuple[str, str]] = set()
        """Ids and contents of the sub-agents that were told."""

    def drafts(self) -> Iterator[Draft]:
        """The session, its events, and whether they add up to what the file states of the whole."""
        yield self._session()
        yield from self._whole(self._line, "")

    def _whole(self, line: Line, prefix: str) -> Iterator[Draft]:
        """The events of a trajectory, and what its totals state that no step does."""
        totals = Totals(line.depth)
        for draft in self._steps(line, prefix):
            if isinstance(draft, EventDraft):
                totals.add(draft)
            yield draft
        stated = dict_of(line.value.get("final_metrics"))
        last = self.part(line, stated, "/final_metrics", f"{prefix}final_metrics")
        if event := totals.event_of_stated_totals(last, stated):
            yield event
        elif doubt := totals.doubt(stated):
            yield from self.odd("totals-differ", last.pointer, doubt)

    def _session(self) -> SessionDraft:
        value = self._line.value
        agent = dict_of(value.get("agent"))
        times = [at for step in value["steps"] if (at := parse(dict_of(step).get("timestamp"))[0])]
        names = ("schema_version", "session_id", "trajectory_id", "continued_trajectory_ref")
        session = text_of(value.get("session_id"))[:ID_LIMIT]
        rest = {key: item for key, item in value.items() if key not in KEPT}
        return SessionDraft(
            external_id=self._id,
            agent_name=text_of(agent.get("name"))[:ID_LIMIT],
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
            model=id_of(agent.get("model_name")),
            summary=text_of(value.get("notes")),
            parent_external_id=session or None if continuation(value) else None,
            metadata={
                "recorder": {"name": text_of(agent.get("name"))[:ID_LIMIT] or FORMAT}
                | scalars_of({"version": agent.get("version")}),
                **scalars_of({name: value.get(name) for name in names}),
            },
            record={FORMAT: bounded(rest, len(self._line.raw))} if rest else {},
        )

    def _steps(self, line: Line, prefix: str) -> Iterator[Draft]:
        """The events of a trajectory; ``line`` has the depth and the parent that they have."""
        embedded = dict(self._embedded(line))
        agent = dict_of(line.value.get("agent"))
        line.agent = ("subagent" if line.depth else "agent", text_of(agent.get("name"))[:ID_LIMIT])
        called: str | None = None
        for index, step in enumerate(list_of(line.value.get("steps"))):
            path = f"/steps/{index}"
            if not isinstance(step, dict):
                yield from self.odd("no-step", line.pointer + path, f"{str(step)[:60]} stands in the place of a step")
                continue
            said = {name: item for name, item in step.items() if name != "observation"}  # results may come later
            part = self.part(line, step, path, f"{prefix}{step.get('step_id')}", essence=said)
            if dict_of(step.get("extra")).get("is_sidechain") is True:  # Claude Code's, as Harbor converts them
                part.depth, part.parent, part.agent = part.depth + 1, called or part.parent, ("subagent", "")
            yield from self.timed(part, step.get("timestamp"), "/timestamp")
            for event in Step(self._state, part, id_of(agent.get("model_name"))).events():
                yield event
                if event.kind == "tool_call" and event.depth == line.depth:
                    called = event.key
                if event.kind == "handoff" and (inner := embedded.pop(event.data["child_session"], None)):
                    yield from self._inner(inner, event.key)
        for inner in embedded.values():  # nothing says where these were started
            yield from self._inner(inner, line.parent)

    def _embedded(self, line: Line) -> Iterator[tuple[str, Line]]:
        names: set[str] = set()
        for index, value in enumerate(map(dict_of, list_of(line.value.get("subagent_trajectories")))):
            name = found if (found := name_of(value)) and found not in names else f"{found}#{index}"
            names.add(name)
            yield name, self.part(line, value, f"/subagent_trajectories/{index}", name, essence=name)

    def _inner(self, line: Line, parent: str | None) -> Iterator[Draft]:
        line.parent, line.depth = parent, line.depth + 1
        if line.depth > MOST_LEVELS:
            yield unknown_event(self.findings, line, f"sub-agent more than {MOST_LEVELS} levels deep")
        elif self._is_repeated(line):
            message = f"the sub-agent {text_of(line.value.get('trajectory_id'))[:100]!r} stands in it again; told once"
            yield from self.odd("repeated-sub-agent", line.pointer, message)
        else:
            yield from self._whole(line, f"{line.key}/")

    def _is_repeated(self, line: Line) -> bool:
        """Whether the same was told: some writers list a sub-agent's own sub-agents beside it once more."""
        known = text_of(line.value.get("trajectory_id")), digest(dumps(line.value.get("steps")))
        repeated = bool(known[0]) and known in self._told
        self._told.add(known)
        return repeated

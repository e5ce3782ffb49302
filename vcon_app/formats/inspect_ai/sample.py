"""One sample in one epoch: a session, told by its events, or by its messages where events were not logged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from ...drafts import Draft, EventDraft, SessionDraft
from ..common.calls import ID_LIMIT
from ..common.documents import dollars
from ..common.jsonio import dumps
from ..common.lines import digest
from ..common.times import parse
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .content import FORMAT, messages_in, usage_of
from .events import Telling
from .state import SampleState

TIMES = ("time", "working")
"""Limits that are of time."""


class Sample(SampleState):
    """Reads one sample; its state ends with it."""

    def drafts(self) -> Iterator[Draft]:
        """The session and its events."""
        yield self._session()
        telling = Telling(self)
        for index, retry in enumerate(map(dict_of, list_of(self.value.get("error_retries")))):
            line = self.part(self.line, retry, f"/error_retries/{index}", f"retry-{index}")
            yield line.event("error", self.attachments.text(retry.get("message")), data={"type": "retry"})
        events, path = self._events()
        yield from telling.events(events, path, self.line)
        yield from telling.flush()
        yield from self._untold_messages()
        yield from self._ending(telling)
        yield from self.attachments.odd

    def _events(self) -> tuple[list[Any], str]:
        if events := list_of(self.value.get("events")):
            return events, "/events"
        return list_of(dict_of(self.value.get("transcript")).get("events")), "/transcript/events"

    def _untold_messages(self) -> Iterator[EventDraft]:
        """Events of messages that stand in no event: all of them in a log without events, else those after the last."""
        given = self.value.get("messages") or self.value.get("input")
        line = self.part(self.line, {"messages": given}, "/messages", "messages", essence=len(list_of(given)))
        line.agent = ("agent", "")
        yield from self.teller.context(line, (), messages_in(given, self.attachments))

    def _ending(self, telling: Telling) -> Iterator[Draft]:
        for model, usage in dict_of(self.value.get("model_usage")).items() if not telling.counted else ():
            found = usage_of(dict_of(usage))
            line = self.part(self.line, dict_of(usage), "/model_usage", f"usage-{model}")
            if found:
                cost = dollars(dict_of(usage).get("total_cost"))
                found = replace(found, quality="aggregate")
                yield line.event("model_request", actor=("agent", ""), usage=found, cost=cost, model=model[:ID_LIMIT])
        if doubt := telling.doubt(dict_of(self.value.get("model_usage"))):
            yield from self.odd("totals-differ", f"{self.line.pointer}/model_usage", doubt)
        for name, score in dict_of(self.value.get("scores")).items() if not telling.scored else ():
            line = self.part(self.line, {"score": score}, f"/scores/{name}", f"score-{name}")
            yield telling.score(line, name, score)
        error = dict_of(self.value.get("error"))
        if error and not telling.failed:
            line = self.part(self.line, error, "/error", "error")
            yield line.event("error", self.attachments.text(error.get("message")), data={"type": "sample"})

    def _session(self) -> SessionDraft:
        value, task = self.value, text_of(self._eval.get("task"))[:ID_LIMIT]
        id, epoch = str(value.get("id"))[:ID_LIMIT], value.get("epoch")
        run = text_of(self._eval.get("eval_id")) or text_of(self._eval.get("run_id")) or digest(dumps(self._eval))
        times = self._times()
        scores = {name: dict_of(score).get("value") for name, score in dict_of(value.get("scores")).items()}
        packages = dict_of(self._eval.get("packages"))
        shown = {"task": task, "sample": id, "epoch": epoch, "status": self._status, "run": self._eval.get("run_id"),
                 "eval": self._eval.get("eval_id")}  # fmt: skip
        revision = scalars_of(dict_of(self._eval.get("revision")))
        kept = {name: value[name] for name in ("target", "choices", "metadata", "scores", "limit") if value.get(name)}
        return SessionDraft(
            external_id=text_of(value.get("uuid"))[:ID_LIMIT] or f"{run[:ID_LIMIT]}/{id}/{epoch}",
            title=f"{task}, sample {id}, epoch {epoch}"[:ID_LIMIT],
            agent_name=task,
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
            phase=self._phase(),
            model=text_of(self._eval.get("model"))[:ID_LIMIT] or None,
            tags=tuple(tag[:ID_LIMIT] for tag in list_of(self._eval.get("tags")) if isinstance(tag, str)),
            metadata={"recorder": {"name": "Inspect"} | scalars_of({"version": packages.get("inspect_ai")})}
            | scalars_of(shown)
            | ({"scores": scalars_of(scores)} if scores else {})
            | ({"environment": revision} if revision else {}),
            record={FORMAT: bounded(kept, len(self.line.raw))} if kept else {},
        )  # fmt: skip

    def _times(self) -> list[datetime]:
        stamps = [self.value.get("started_at"), self.value.get("completed_at")]
        stamps += [dict_of(event).get("timestamp") for event in self._events()[0]]
        return [at for stamp in stamps if (at := parse(stamp)[0])]

    def _phase(self) -> Any:
        if self.value.get("error"):
            return "crashed"
        limit = dict_of(self.value.get("limit")).get("type")
        return "timed_out" if limit in TIMES else "completed" if self.value.get("output") else None

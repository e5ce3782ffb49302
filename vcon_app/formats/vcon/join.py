"""A message that stands both in dialog and in the trace is one event (rules R74, R75)."""

from __future__ import annotations

from collections import deque

from . import own
from .notes import Notes, shown
from .steps import Step
from .talks import Talk, differs, spaced_by_one_second, step_of
from .times import render

MESSAGES = ("user_message", "agent_message", "injected_context")


def join(steps: list[Step], ids: dict[str, Step], talks: list[Talk], notes: Notes) -> list[Step]:
    """Match dialogs with messages; what is left over is put between the steps. The trace's time wins."""
    pairs = match(steps, ids, talks)
    made_up = spaced_by_one_second(talks)
    late = sum(_merge(talk, step, made_up, notes) for talk, step in pairs.items())
    if late:
        notes.warn(
            "R75",
            "",
            f"The times of {late} dialogs differ from the agent trace by more than 2 seconds; the trace's are shown.",
        )
    if made_up and pairs:
        notes.info("R75", "", "The dialogs are exactly 1 second apart: their times look made up.")
    left = [talk for talk in talks if talk not in pairs]
    if pairs and left:
        notes.info(
            "R74",
            left[0].pointer,
            f"{len(left)} of {len(talks)} dialogs are not in the agent trace; they are shown "
            "where their order and time put them.",
        )
    return _insert(steps, talks, pairs)


def match(steps: list[Step], ids: dict[str, Step], talks: list[Talk]) -> dict[Talk, Step]:
    """By message_id, else by equal text of the same kind of speaker: near in time first, then in order."""
    shelf = _Shelf(steps)
    pairs: dict[Talk, Step] = {}
    for talk in talks:
        name = talk.item.get("message_id")
        step = ids.get(name) if isinstance(name, str) else None
        if step is not None and step.kind in MESSAGES and shelf.take(step):
            pairs[talk] = step
    for choose in (shelf.near, shelf.next):
        for talk in talks:
            if talk not in pairs and talk.text and (step := choose(talk)):
                pairs[talk] = step
    return pairs


class _Shelf:
    """Messages by their text, each to be taken once; look-ups stay cheap when thousands of texts are equal."""

    def __init__(self, steps: list[Step]) -> None:
        self._taken: set[int] = set()
        self._rows: dict[tuple[object, ...], deque[Step]] = {}
        for step in steps:
            if step.kind in MESSAGES and step.text:
                words, is_ai = step.text.strip(), step.kind == "agent_message"
                self._rows.setdefault((words, is_ai), deque()).append(step)
                if step.at is not None:
                    self._rows.setdefault((words, is_ai, int(step.at.timestamp())), deque()).append(step)

    def take(self, step: Step) -> bool:
        """Mark as used; answers whether it was free."""
        free = id(step) not in self._taken
        self._taken.add(id(step))
        return free

    def near(self, talk: Talk) -> Step | None:
        """The same words within 2 s."""
        if talk.at is None:
            return None
        second = int(talk.at.timestamp())
        return self._first(talk, [(second + offset,) for offset in (0, 1, -1, 2, -2)])

    def next(self, talk: Talk) -> Step | None:
        """The same words, the first that is left."""
        return self._first(talk, [()])

    def _first(self, talk: Talk, tails: list[tuple[int, ...]]) -> Step | None:
        speakers = (talk.speaker.is_ai,) if talk.speaker else (False, True)
        for is_ai in speakers:
            for tail in tails:
                row = self._rows.get((talk.text.strip(), is_ai, *tail))
                while row:
                    step = row.popleft()
                    if self.take(step):
                        return step
        return None


def _merge(talk: Talk, step: Step, made_up: bool, notes: Notes) -> bool:
    """One event with two sources; answers whether their times disagree.

    Where the trace has no time the dialog's is taken, unless it looks made up.
    """
    step.left["dialog"] = talk.kept(step.text)
    if (
        talk.speaker is not None
        and own.ACTOR not in step.own
        and (talk.speaker.is_ai == (step.kind == "agent_message"))
    ):
        step.actor = talk.speaker.actor
    if talk.text and talk.text.strip() != step.text.strip():
        step.data["dialog_text"] = talk.text
        notes.warn(
            "R74",
            talk.pointer,
            f"The dialog says {shown(talk.text)}, the agent trace {shown(step.text)} for the same "
            "message; the trace is shown, the other text is kept beside it.",
            "text",
        )
    if step.at is None and talk.at is not None and not made_up:
        step.at, step.data["time_source"] = talk.at, "dialog"
    if not differs(talk.at, step.at):
        return False
    step.data["dialog_time"] = render(talk.at) if talk.at else None
    return True


def _insert(steps: list[Step], talks: list[Talk], pairs: dict[Talk, Step]) -> list[Step]:
    """Dialogs outside of the trace: after the dialog before them, and not before earlier top-level steps."""
    place = {id(step): index for index, step in enumerate(steps)}
    before: dict[int, list[Step]] = {}
    floor = 0
    for talk in talks:
        if talk in pairs:
            floor = max(floor, after(steps, place[id(pairs[talk])]))
            continue
        while floor < len(steps) and (
            steps[floor].level or ((at := steps[floor].at) is not None and talk.at is not None and at <= talk.at)
        ):
            floor += 1
        before.setdefault(floor, []).append(step_of(talk))
    return spread(steps, before)


def after(steps: list[Step], index: int) -> int:
    """The place behind a step and everything nested in it."""
    level = steps[index].level
    index += 1
    while index < len(steps) and steps[index].level > level:
        index += 1
    return index


def spread(steps: list[Step], before: dict[int, list[Step]]) -> list[Step]:
    """The steps with others put before the given places."""
    if not before:
        return steps
    merged: list[Step] = []
    for index, step in enumerate(steps):
        merged += before.get(index, ())
        merged.append(step)
    return merged + before.get(len(steps), [])

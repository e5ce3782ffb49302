"""A message that stands both in dialog and in the trace is one event (rules R74, R75)."""

from __future__ import annotations

from collections import deque

from ...common.times import rfc3339_short
from ...common.values import dict_of, text_of
from ..file import Notes, shown
from . import extension
from .dialogs import Dialog, differs, spaced_by_one_second, step_of
from .steps import Step

MESSAGES = ("user_message", "agent_message", "injected_context")


def join_dialogs(steps: list[Step], ids: dict[str, Step], dialogs: list[Dialog], notes: Notes) -> list[Step]:
    """Match dialogs with messages; what is left over is put between the steps. The trace's time wins."""
    pairs = match_dialogs(steps, ids, dialogs)
    # Converters without times count up by a second (rule R75); such times must not win over the trace's.
    made_up = spaced_by_one_second(dialogs)
    late = [dialog for dialog, step in pairs.items() if _merge(dialog, step, made_up, notes)]
    if late:
        which = "time of this dialog differs" if len(late) == 1 else f"times of {len(late)} dialogs differ"
        notes.warn(
            "R75",
            late[0].pointer,
            f"The {which} from the agent trace by more than 2 seconds; what the trace says is shown.",
        )
    if made_up and pairs:
        notes.info("R75", "", "The dialogs are exactly 1 second apart: their times look made up.")
    if len(pairs) == len(dialogs):
        return steps
    unmatched = [dialog for dialog in dialogs if dialog not in pairs and dialog.item and dialog.type in ("text", "")]
    if pairs and unmatched:
        which = "This dialog is" if len(unmatched) == 1 else f"{len(unmatched)} of {len(dialogs)} dialogs are"
        notes.info(
            "R74",
            unmatched[0].pointer,
            f"{which} not in the agent trace; shown where order and time of the dialogs say.",
        )
    return _insert(steps, ids, dialogs, pairs)


def match_dialogs(steps: list[Step], ids: dict[str, Step], dialogs: list[Dialog]) -> dict[Dialog, Step]:
    """By message_id, else by equal text of the same kind of speaker: near in time first, then in order."""
    used: set[int] = set()
    pairs: dict[Dialog, Step] = {}
    for dialog in dialogs:
        name = dialog.item.get("message_id")
        step = ids.get(name) if isinstance(name, str) else None
        if step is not None and step.kind in MESSAGES and id(step) not in used:
            used.add(id(step))
            pairs[dialog] = step
    unmatched = [dialog for dialog in dialogs if dialog not in pairs and dialog.text]
    if not unmatched:
        return pairs
    shelf = _Shelf(steps, used)
    # All near matches first: a "yes" said ten times must not take the dialog of another "yes".
    for choose in (shelf.same_words_near_in_time, shelf.next_with_same_words):
        for dialog in unmatched:
            if dialog not in pairs and (step := choose(dialog)):
                pairs[dialog] = step
    return pairs


class _Shelf:
    """Messages by their text, each to be taken once; look-ups stay cheap when thousands of texts are equal."""

    def __init__(self, steps: list[Step], used: set[int]) -> None:
        self._taken = used
        self._rows: dict[tuple[object, ...], deque[Step]] = {}
        for step in steps:
            if step.kind in MESSAGES and step.text:
                words, is_ai = step.text.strip(), step.kind == "agent_message"
                self._rows.setdefault((words, is_ai), deque()).append(step)
                if step.at is not None:
                    self._rows.setdefault((words, is_ai, int(step.at.timestamp())), deque()).append(step)

    def mark_used(self, step: Step) -> bool:
        """Mark as used; answers whether it was free."""
        free = id(step) not in self._taken
        self._taken.add(id(step))
        return free

    def same_words_near_in_time(self, dialog: Dialog) -> Step | None:
        """The same words within 2 s."""
        if dialog.at is None:
            return None
        second = int(dialog.at.timestamp())
        return self._first(dialog, [(second + offset,) for offset in (0, 1, -1, 2, -2)])

    def next_with_same_words(self, dialog: Dialog) -> Step | None:
        """The same words, the first that is left."""
        return self._first(dialog, [()])

    def _first(self, dialog: Dialog, tails: list[tuple[int, ...]]) -> Step | None:
        speakers = (dialog.speaker.is_ai,) if dialog.speaker else (False, True)
        for is_ai in speakers:
            for tail in tails:
                row = self._rows.get((dialog.text.strip(), is_ai, *tail))
                while row:
                    step = row.popleft()
                    if self.mark_used(step):
                        return step
        return None


def _merge(dialog: Dialog, step: Step, made_up: bool, notes: Notes) -> bool:
    """One event with two sources; answers whether their times disagree.

    Where the trace has no time the dialog's is taken, unless it looks made up.
    """
    step.for_writer["dialog"] = dialog.kept(step.text)
    speaker = dialog.speaker
    if speaker is not None and extension.ACTOR not in step.own and speaker.is_ai == (step.kind == "agent_message"):
        step.actor = speaker.actor
    if dialog.text and dialog.text != step.text and dialog.text.strip() != step.text.strip():
        step.data["dialog_text"] = dialog.text
        notes.warn(
            "R74",
            dialog.pointer,
            f"The dialog says {shown(dialog.text)}, the agent trace {shown(step.text)} for the same "
            "message; the trace is shown, the other text is kept beside it.",
            "text",
        )
    if step.at is None and dialog.at is not None and not made_up:
        step.at, step.data["time_source"] = dialog.at, "dialog"
    if not differs(dialog.at, step.at):
        return False
    step.data["dialog_time"] = rfc3339_short(dialog.at) if dialog.at else None
    return True


def _insert(steps: list[Step], ids: dict[str, Step], dialogs: list[Dialog], pairs: dict[Dialog, Step]) -> list[Step]:
    """Dialogs outside of the trace: after the dialog before them, and not before earlier top-level steps.

    One that our writer put behind an entry of no time says so: time alone would put it before that.
    """
    place = {id(step): index for index, step in enumerate(steps)}
    before: dict[int, list[Step]] = {}
    floor = 0
    for dialog in dialogs:
        if dialog in pairs:
            floor = max(floor, index_after(steps, place[id(pairs[dialog])]))
            continue
        while floor < len(steps) and (
            steps[floor].level or ((at := steps[floor].at) is not None and dialog.at is not None and at <= dialog.at)
        ):
            floor += 1
        after = place.get(id(ids.get(text_of(dict_of(dialog.item.get("meta")).get(extension.AFTER)))))
        if after is not None:
            floor = max(floor, index_after(steps, after))
        before.setdefault(floor, []).append(step_of(dialog))
    return with_steps_before(steps, before)


def index_after(steps: list[Step], index: int) -> int:
    """The place behind a step and everything nested in it."""
    level = steps[index].level
    index += 1
    while index < len(steps) and steps[index].level > level:
        index += 1
    return index


def with_steps_before(steps: list[Step], before: dict[int, list[Step]]) -> list[Step]:
    """The steps with others put before the given places."""
    if not before:
        return steps
    merged: list[Step] = []
    for index, step in enumerate(steps):
        merged += before.get(index, ())
        merged.append(step)
    return merged + before.get(len(steps), [])

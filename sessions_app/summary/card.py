"""The summary as a person reads it: a line each for what was asked, what was done, how it ended, what went wrong, the
last test run, and what rules found. Pieces that are ``quoted`` are words of the transcript; all others were counted by
the desk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

from sessions_app.phrases import Phrase, joined, ngettext
from sessions_app.phrases import gettext as _
from sessions_app.rendering import numbers

from .calls import ends_run
from .failures import Failures, Group
from .findings import Finding, worded
from .state import OpenCall, Summary

Tone = Literal["", "wrong", "done", "quiet"]
How = Literal["now_at", "by_calling", "broke_off", "no_result", "ended_in_error", "no_reply", "said", "silent"]
"""How a session ended, or how it stands."""
SHOWN = 5
"""Kinds of failures on the card; the others are a number."""
PROMPTS = 3
DONE: dict[str, Callable[[int], Phrase]] = {
    "command": lambda n: ngettext("%(n)s command", "%(n)s commands", n, n=_count(n)),
    "agent": lambda n: ngettext("%(n)s sub-agent", "%(n)s sub-agents", n, n=_count(n)),
    "page": lambda n: ngettext("%(n)s web page", "%(n)s web pages", n, n=_count(n)),
    "search": lambda n: ngettext("%(n)s web search", "%(n)s web searches", n, n=_count(n)),
    "other": lambda n: ngettext("%(n)s other call", "%(n)s other calls", n, n=_count(n)),
}
ARTIFACTS: dict[str, Callable[[int], Phrase]] = {
    "recording": lambda n: ngettext("%(n)s recording", "%(n)s recordings", n, n=_count(n)),
    "other": lambda n: ngettext("%(n)s artifact", "%(n)s artifacts", n, n=_count(n)),
}
EDITS: dict[str, Callable[[int], Phrase]] = {"edit": lambda n: ngettext("%(n)s edit", "%(n)s edits", n, n=_count(n))}


@dataclass(frozen=True, slots=True)
class Piece:
    """Some words of a line, with the event that they lead to."""

    text: str
    seq: int | None = None
    quoted: str = ""
    """Words of the transcript behind those of the desk."""
    tone: Tone = ""
    more: str = ""
    """Words of the desk behind what is quoted."""
    is_files: bool = False
    """Whether it leads to the files instead of an event."""

    @property
    def plain(self) -> str:
        quoted = f"“{self.quoted}”" if self.quoted else ""
        return " ".join(filter(None, (self.text, quoted, self.more)))


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    pieces: list[Piece] = field(default_factory=list)

    @property
    def plain(self) -> str:
        return f"{self.label}: {' · '.join(piece.plain for piece in self.pieces)}"


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known beside the log of how a session stands."""

    goes_on: bool = False
    """An agent is at work in it, or something in it waits for a person."""
    is_over: bool = True
    """It was read from a file, or has ended: what has no result now will have none."""
    reported_errors: int = 0
    """As the file itself says, of a session whose log holds none."""


def lines_of(
    summary: Summary, ending: Ending, changed: tuple[int, int] | None = None, off: Collection[str] = ()
) -> list[Line]:
    """The lines of the card. ``changed``: lines added and removed in all files, where they were counted; ``off``: rules
    whose findings are not told."""
    lines = [
        Line(_("Asked"), list(_asked(summary))),
        Line(_("Did"), list(_did(summary, changed))),
        Line(_("Ended"), list(_ended(summary, ending))),
        Line(_("Went wrong"), list(_wrong(summary.failures, ending.reported_errors))),
        Line(_("Tests"), [_tests(summary.tests)]),
    ]
    found = [finding for finding in summary.findings if finding.rule not in off]
    return [*lines, Line(_("Findings"), [*chain(*map(pieces_of, found))])] if found else lines


def plain(lines: list[Line]) -> str:
    """The card as text."""
    return "\n".join(line.plain for line in lines)


def told_apart(summary: Summary, ending: Ending) -> list[Piece]:
    """What a session without a title is recognised by in a list: how it ended, else what it did; nothing where its log
    has neither."""
    if how_ended(summary, ending) != "silent":
        return [_end(summary, ending)]
    return list(_did(summary, None)) if summary.counts or summary.artifacts else []


def _asked(summary: Summary) -> Iterator[Piece]:
    shown = summary.prompts[:PROMPTS]
    if not shown:
        yield Piece(_("no prompt is recorded"), tone="quiet")
    for seq, said in shown:
        yield Piece("", seq, quoted=said) if said else Piece(_("a message without text"), seq)
    last = summary.last_prompt
    more = summary.asked - len(shown)
    if more > 0 and last:
        yield Piece(_("%(n)s more, the last:", n=_count(more)), last[0], quoted=last[1])


def _did(summary: Summary, changed: tuple[int, int] | None) -> Iterator[Piece]:
    files = summary.edited()[1]
    found = False
    if files:
        yield Piece(_edited(files, summary.files_beyond, changed), is_files=True)
        found = True
    for kind, words in (DONE if files else EDITS | DONE).items():
        if kind in summary.counts:
            number, seq = summary.counts[kind]
            yield Piece(words(number), seq)
            found = True
    for kind, words in ARTIFACTS.items():
        if kind in summary.artifacts:
            number, seq, name = summary.artifacts[kind]
            yield Piece(words(number), seq, quoted=name if number == 1 else "")
            found = True
    if not found:
        yield Piece(_("no tool calls are recorded"), tone="quiet")


def _edited(files: int, is_more: bool, changed: tuple[int, int] | None) -> Phrase:
    """``3 files edited (+12 −4)``."""
    if is_more:
        said = ngettext("more than %(n)s file edited", "more than %(n)s files edited", files, n=_count(files))
    else:
        said = ngettext("%(n)s file edited", "%(n)s files edited", files, n=_count(files))
    if not changed:
        return said
    return _("%(edited)s (+%(added)s −%(removed)s)", edited=said, added=_count(changed[0]), removed=_count(changed[1]))


def how_ended(summary: Summary, ending: Ending) -> How:
    """How a session ended: in the middle of a call, with an error behind which nothing came, without a reply, ..."""
    said, prompt = _last(summary)
    if call := _left(summary):
        if ending.goes_on:
            return "now_at"
        if ends_run(call.tool):
            return "by_calling"
        return "broke_off" if ending.is_over else "no_result"
    if summary.broken:
        return "ended_in_error"
    if prompt > said and not ending.goes_on and prompt == summary.last:
        return "no_reply"
    return "said" if summary.said else "silent"


CALLS: dict[How, Phrase] = {
    "now_at": _("now at"), "by_calling": _("by calling"), "broke_off": _("broke off in the middle of"),
    "no_result": _("no result yet of"),
}  # fmt: skip
"""Before the call that a session ended with."""


def _ended(summary: Summary, ending: Ending) -> Iterator[Piece]:
    """How it ended; behind the last message of the agent that calls came later, which it says nothing of."""
    yield _end(summary, ending)
    if how_ended(summary, ending) == "said" and not ending.goes_on and summary.last > _last(summary)[0]:
        last = summary.last
        yield Piece(_("then calls without a message, the last at event %(n)s", n=_count(last)), last)


def _end(summary: Summary, ending: Ending) -> Piece:
    how = how_ended(summary, ending)
    said, prompt = _last(summary)
    if how in CALLS and (call := _left(summary)):
        what = " ".join(filter(None, (call.tool or _("a call"), call.named())))
        return Piece(CALLS[how], call.seq, quoted=what, tone="wrong" if how == "broke_off" else "")
    if how == "ended_in_error" and summary.broken:
        return Piece(_("with an error:"), summary.broken[0], quoted=summary.broken[1], tone="wrong")
    if how == "no_reply":
        return Piece(_("no reply to the last prompt"), prompt, tone="wrong" if ending.is_over else "")
    if summary.said:
        return Piece(_("so far:") if ending.goes_on else "", said, quoted=summary.said[1])
    return Piece(_("without a message of the agent"), summary.last or None, tone="quiet")


def _last(summary: Summary) -> tuple[int, int]:
    """The last message of the agent and the last prompt, by their events; 0 for what is not there."""
    return summary.said[0] if summary.said else 0, summary.last_prompt[0] if summary.last_prompt else 0


def _left(summary: Summary) -> OpenCall | None:
    """The call that has no result, and behind which nothing was said."""
    left = [call for call in summary.open if not call.depth and call.seq > max(_last(summary))]
    return left[-1] if left and (summary.results or left[-1].seq == summary.last) else None


def _wrong(failures: Failures, reported: int) -> Iterator[Piece]:
    groups = failures.in_order()
    if not groups and reported:
        said = ngettext(
            "%(n)s error reported by the file, none in the transcript",
            "%(n)s errors reported by the file, none in the transcript",
            reported, n=_count(reported),
        )  # fmt: skip
        yield Piece(said, tone="wrong")
    elif not groups:
        yield Piece(_("no errors"), tone="quiet")
    for group in groups[:SHOWN]:
        yield piece_of(group)
    if rest := groups[SHOWN:]:
        more = sum(group.count for group in rest)
        said = ngettext("%(n)s more error of other kinds", "%(n)s more errors of other kinds", more, n=_count(more))
        yield Piece(said, rest[0].last)


def pieces_of(finding: Finding) -> Iterator[Piece]:
    """What a rule found: its first events, and how many more there are."""
    more = finding.count - len(finding.places)
    for number, place in enumerate(finding.places):
        label = finding.label if number == 0 else ""
        told = worded(place.words)
        words = label or told or _("again")
        if label and told:
            words = _("%(rule)s: %(words)s", rule=label, words=told)
        is_last = number == len(finding.places) - 1
        said = _("and %(n)s more", n=_count(more)) if is_last and more else ""
        yield Piece(_("%(words)s:", words=words) if place.quoted else words, place.seq, place.quoted, "wrong", said)


def piece_of(group: Group) -> Piece:
    """One kind of failures: its tool, its reason, how often, and whether it was recovered from."""
    if group.tool is None:
        return Piece(_("errors of other kinds"), group.last, more=f"×{_count(group.count)}")
    times = f"×{_count(group.count)}" if group.count > 1 else ""
    said = f"{group.tool}: {group.line}" if group.tool and group.line else group.tool or group.line
    return Piece(
        "", group.last, quoted=said, tone="quiet" if group.is_recovered else "wrong",
        more=joined(", ", filter(None, (times, _("recovered") if group.is_recovered else ""))),
    )  # fmt: skip


OUTCOMES = {
    "passed": _("passed"), "failed": _("failed"), "unknown": _("outcome unknown"), "no result": _("no result"),
}  # fmt: skip
"""Of a run of tests."""


def _tests(tests: dict[str, Any] | None) -> Piece:
    if not tests:
        return Piece(_("no test run seen"), tone="quiet")
    outcome = tests["outcome"]
    tone: Tone = "done" if outcome == "passed" else "wrong" if outcome == "failed" else ""
    runs = _("the last of %(n)s runs", n=_count(tests["runs"])) if tests["runs"] > 1 else ""
    return Piece(
        _("%(runner)s: %(outcome)s", runner=tests["with"], outcome=OUTCOMES[outcome]),
        tests["seq"],
        quoted=tests["line"],
        tone=tone,
        more=runs,
    )


def _count(number: int) -> str:
    return numbers.exact(number)

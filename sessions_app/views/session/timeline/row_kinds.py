"""Kinds of rows of the timeline: a small class for each, with its template and the bytes of HTML that it takes.

Text of the transcript is in them as HTML of the sanitised renderer, or as plain text that the template escapes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sessions_app import phrases
from sessions_app.models import Approval, ModelRequest, Session
from sessions_app.queries.log.story import Run
from sessions_app.queries.log.timeline import Entry, Nested
from sessions_app.queries.retention.folds import Fold
from sessions_app.rendering import marks, text, toolbody, toolline
from sessions_app.views.approvals import cards

from .said import Said
from .subjects import Subject

NAMED = 5
"""Tools that the line of a run names."""
INLINE = 600
"""Bytes of arguments and result together up to which a card carries its body instead of fetching it when opened."""
RESULT_ALONE = marks.Mark(phrases.gettext("result without its call"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Fields that every row has. ``actor`` is its kind (person, agent, subagent, tool, system), ``label`` its name."""

    template: ClassVar[str]
    folds: ClassVar[bool] = False
    """Whether a run of such rows may be folded into one line."""
    brackets: ClassVar[bool] = False
    """Whether a bracket may hold it with the other rows of its response."""
    frame: ClassVar[int] = 1_000
    """Bytes of HTML around what a row says."""
    entry: Entry
    actor: str
    label: str
    request: ModelRequest | None
    nested: Nested | None
    text: str = ""
    html: SafeString | None = None
    """What the row carries, as text or as Markdown rendered; ``cut`` says that the event has more of it."""
    cut: bool = False
    mark: Said | None = None
    """How its event came in, where that is not simply the session's own source."""
    bracket: str = ""
    """CSS classes of its part of the bracket around the rows of one response; empty where it is the only one."""

    @property
    def size(self) -> int:
        """Bytes of HTML the row takes: hostile text grows twelvefold on its way there."""
        return self.base_size()

    @property
    def last(self) -> int:
        """The last event that this row stands for."""
        return self.entry.seq

    def base_size(self) -> int:
        """The part of ``size`` that rows of every form have."""
        own = len(self.html.encode()) if self.html else weight(self.text)
        said = 200 + weight(self.mark.name, self.mark.title) if self.mark else 0
        return self.frame + own + weight(self.label) + (600 if self.nested else 0) + said


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something sent along with a message; its payload stays in the source document."""

    name: str
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Row):
    """A message of a person or an agent."""

    template = "sessions/rows/_said.html"
    brackets = True
    attachments: list[Attachment]
    stopped: str
    """Why the model stopped, where that is worth saying."""
    is_unescaped: bool = False
    """Whether it was escaped twice, and is shown as it was meant."""

    @property
    def size(self) -> int:
        return self.base_size() + sum(300 + weight(one.name) for one in self.attachments)

    @property
    def short(self) -> bool:
        """Whether the head of the turn says all of it."""
        output = self.entry.head.strip()
        return len(output) <= 90 and "\n" not in output and not self.attachments


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Row):
    """A tool call with its result, on one line; the body comes when it is opened."""

    template = "sessions/rows/_call.html"
    brackets = True
    frame = 1_500
    line: toolline.ToolLine
    glance: str
    status: str
    """ok, error, denied, cancelled, unstated (a result without an outcome) or none (no result)."""
    milliseconds: float | None
    result: Entry | None
    child: Session | None
    tool_cost: Decimal | None
    arguments: list[toolbody.Part] | None
    results: list[toolbody.Part] | None

    @property
    def folds(self) -> bool:  # type: ignore[override]
        return self.nested is None and self.child is None

    @property
    def size(self) -> int:
        inline = 12 * INLINE if self.arguments is not None else 0
        return self.base_size() + weight(self.line.verb, self.line.subject, self.glance) + inline

    @property
    def failed(self) -> bool:
        return self.status == "error"

    @property
    def outcome(self) -> marks.Mark | None:
        """Outcome of a call that did not go well; empty for one that did."""
        is_stray = self.status not in marks.OUTCOMES and self.entry.kind == "tool_result"
        return RESULT_ALONE if is_stray else marks.OUTCOMES.get(self.status)

    @property
    def shows_glance(self) -> bool:
        """Whether the glance stands on the line: that of an error has a line of its own."""
        return bool(self.glance) and self.status not in ("error", "denied", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning(Row):
    """Reasoning of the model, folded under its number of words; or why its text is absent."""

    template = "sessions/rows/_thought.html"
    brackets = True
    frame = 1_600
    words: int
    peek: str
    absence: str
    """"not recorded", "encrypted" or "redacted" when there is no text to read."""

    @property
    def folds(self) -> bool:  # type: ignore[override]
        return bool(self.absence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet(Row):
    """Row outside of the conversation: system notes, injected context, bookkeeping of the recorder."""

    template = "sessions/rows/_quiet.html"
    folds = True
    what: str
    line: str
    facts: list[toolbody.Pair]

    @property
    def size(self) -> int:
        facts = sum(250 + weight(pair.key, pair.value.text) for pair in self.facts)
        return self.base_size() + weight(self.what, self.line) + facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Notable(Quiet):
    """Something that happened beside the conversation and matters: an error, a file, a hand-over, a note."""

    template = "sessions/rows/_notable.html"
    folds = False
    icon: str
    meaning: str
    subject: Subject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Quiet):
    """The place where the recorder replaced what came before by a summary."""

    template = "sessions/rows/_compaction.html"
    folds = False
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent(Quiet):
    """An event of a kind that no reader knows: a badge and the raw payload."""

    template = "sessions/rows/_strange.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported(Quiet):
    """An approval, escalation or status that somebody else reports: words of ``teller``, and nothing of this desk.

    ``approval`` is what an import made of it, with the call that it was about.
    """

    template = "sessions/rows/_reported.html"
    folds = False
    teller: str
    approval: Approval | None = None

    @property
    def size(self) -> int:
        return Quiet.size.fget(self) + weight(self.teller) + (cards.weight(self.approval) if self.approval else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRow(Row):
    """An approval at the event that asked for it: the card while it is pending, one line afterwards."""

    template = "sessions/rows/_asked.html"
    approval: Approval

    @property
    def size(self) -> int:
        return self.base_size() + cards.weight(self.approval)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(Row):
    """A run of calls, or of notes of the recorder, on one line; its rows come when it is opened."""

    template = "sessions/lenses/_run.html"
    run: Run

    @classmethod
    def of(cls, run: Run) -> RunRow:
        shown: Any = run  # it has what rows ask of an entry
        return cls(entry=shown, actor="tool" if run.calls else "system", label="", request=None, nested=None, run=run)

    @property
    def last(self) -> int:
        return self.run.last

    @property
    def names(self) -> str:
        """Names of the tools in it, the most frequent first: ``Read ×8, Edit ×3, 2 others``."""
        counts: Counter[str] = Counter()
        for name, count in self.run.tools.items():
            counts[text.first_line(name or _("unnamed"), 30)] += count
        shown = [f"{name} ×{count}" for name, count in counts.most_common(NAMED)]
        others = sum(counts.values()) - sum(count for _, count in counts.most_common(NAMED))
        return ", ".join(
            shown + ([ngettext("%(count)s other", "%(count)s others", others) % {"count": others}] if others else [])
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedRow(Row):
    """Events that are out of sight, on one line; they come when it is opened."""

    template = "sessions/rows/_pruned.html"
    fold: Fold

    @classmethod
    def of(cls, fold: Fold) -> PrunedRow:
        shown: Any = fold  # it has what rows ask of an entry
        return cls(entry=shown, actor="system", label="", request=None, nested=None, fold=fold)

    @property
    def last(self) -> int:
        return self.fold.last


def weight(*texts: str) -> int:
    """Bytes of texts as HTML."""
    return sum(len(text.escape(one).encode()) for one in texts)

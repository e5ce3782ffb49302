"""Timeline of a session, as its page shows it: a window of rows, and everything that belongs to those rows.

A window is bounded in rows and in bytes, and read in a number of queries that does not depend on either, nor on
the size of the session. Long values are cut by PostgreSQL, so the middle of an 8 MB result never reaches Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import IntegerField, JSONField, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import Func
from django.db.models.functions import Left

from sessions_app.compiled import Compiled
from sessions_app.models import Approval, Event, ModelRequest, Session, ToolCall, Turn
from sessions_app.rendering.answers.citations import Cited, Target

from . import links
from .links import EventOrigin
from .model_requests import RequestFacts

ROWS = 24
"""With their results about 40 events: what a screen of reading takes."""
BEFORE = 8
"""Rows shown above an event that a link leads to."""
TEXT = 8 * 1024
"""Characters of a text that a row holds; the rest is one click away."""
SMALL = 16_000
"""Bytes of JSON that are read whole; of larger values the beginnings of their parts."""

_next = Turn.objects.filter(session=OuterRef("session"), index=OuterRef("index") + 1)
NEXT = {"next_started_at": Subquery(_next.values("started_at")[:1])}
"""When the turn after it began: no turn goes on behind that, whatever time the recorder gave to its events."""
_before = Turn.objects.filter(session=OuterRef("session"), index=OuterRef("index") - 1)
BEFORE_IT = {"previous_ended_at": Subquery(_before.values("ended_at")[:1])}
"""When the last thing happened in the turn before it."""

PROMPTS = ("user_message",)
CONVERSATION = (
    *PROMPTS,
    "agent_message",
    "approval",
    "escalation",
    "handoff",
    "error",
    "compaction",
    "artifact",
    "note",
)
TOOLS = (*CONVERSATION, "tool_call", "tool_result", "file_change")
MAX_NESTING = 8
"""Sub-agents below sub-agents that a link can lead through; deeper ones are reached by opening."""
DEPTHS: dict[str, tuple[str, ...] | None] = {
    "prompts": PROMPTS, "conversation": CONVERSATION, "tools": TOOLS, "everything": None,
}  # fmt: skip
"""What each depth of the page shows; None is every kind."""


APART: dict[str, tuple[str, ...]] = {
    "messages": PROMPTS + ("agent_message",),
    "reasoning": ("reasoning",),
    "tools": ("tool_call", "tool_result", "file_change"),
    "notes": ("system", "injected_context", "model_request", "status", "note", "unknown"),
}  # fmt: skip
"""Kinds that a reader may leave out by themselves, by the word of the address; what went wrong or waits never is."""


class Size(Func):
    """Bytes of a jsonb value as text; of a large one as it is stored (compressed), which costs no reading."""

    template = (
        f"CASE WHEN pg_column_size(%(expressions)s) <= {SMALL} THEN octet_length((%(expressions)s)::text) "
        "ELSE pg_column_size(%(expressions)s) END"
    )
    output_field = IntegerField()


class Light(Func):
    """A jsonb value of up to ``limit`` bytes; of a larger object 20 members, texts cut, lists and objects empty."""

    template = """CASE
        WHEN pg_column_size(%(expressions)s) <= %(limit)s AND octet_length((%(expressions)s)::text) <= %(limit)s
            THEN %(expressions)s
        WHEN pg_column_size(%(expressions)s) <= 1000000 AND jsonb_typeof(%(expressions)s) = 'object' THEN (
            SELECT jsonb_object_agg(key, CASE jsonb_typeof(value)
                WHEN 'string' THEN to_jsonb(left(value #>> '{}', 300)) WHEN 'object' THEN '{}'::jsonb
                WHEN 'array' THEN '[]'::jsonb ELSE value END)
            FROM (SELECT key, value FROM jsonb_each(%(expressions)s) LIMIT 20) members)
        END"""
    output_field = JSONField()

    def __init__(self, column: str, limit: int = SMALL) -> None:
        super().__init__(column, limit=limit)


class Bytes(Func):
    """Bytes of a text; PostgreSQL knows them without reading it."""

    function = "octet_length"
    output_field = IntegerField()


class _Lines(Func):
    """Lines of a text of up to 64 KB; NULL for longer ones, which would have to be read whole."""

    template = (
        "CASE WHEN octet_length(%(expressions)s) <= 65536 "
        "THEN 1 + length(%(expressions)s) - length(replace(%(expressions)s, chr(10), '')) END"
    )
    output_field = IntegerField()


PLAIN = (
    "seq", "id", "kind", "at", "turn", "depth", "parent_seq", "actor_kind", "actor_name", "call_id", "tool_name",
    "tool_server", "tool_status", "model", "request",
)  # fmt: skip
CUT = {
    "head": Left("text", TEXT),
    "text_size": Bytes("text"),
    "lines": _Lines("text"),
    "light_arguments": Light("arguments"),
    "arguments_size": Size("arguments"),
    "light_result": Light("result"),
    "result_size": Size("result"),
    "light_data": Light("data"),
    "data_size": Size("data"),
}


def _takers(session_id: UUID) -> dict[str, Subquery]:
    """The call that has taken a result, by one index or the other.

    Scalar subqueries, because PostgreSQL turns EXISTS into a hash over the calls of all sessions: 10 ms instead of 1.
    With the session's id, not a reference to it: of an unknown session PostgreSQL expects the average of calls, and
    reads all 20,000 of one for each row where most sessions have one.
    """
    calls = ToolCall.objects.filter(session_id=session_id, result_seq=OuterRef("seq"))
    return {
        "by_parent": Subquery(calls.filter(seq=OuterRef("parent_seq")).values("seq")[:1]),
        "by_call_id": Subquery(calls.filter(call_id=OuterRef("call_id")).values("seq")[:1]),
    }


@dataclass(frozen=True, slots=True)
class Entry:
    """An event with its long values cut. Sizes are bytes; None where there is no value."""

    seq: int
    id: UUID
    kind: str
    at: datetime | None
    turn: int
    depth: int
    parent_seq: int | None
    actor_kind: str
    actor_name: str
    call_id: str | None
    tool_name: str | None
    tool_server: str | None
    tool_status: str | None
    model: str | None
    request: str | None
    """The model response that it is part of, where the recorder says so."""
    head: str
    text_size: int
    lines: int | None
    light_arguments: Any
    arguments_size: int | None
    light_result: Any
    result_size: int | None
    light_data: Any
    data_size: int | None

    @property
    def cut(self) -> bool:
        """Whether ``head`` is only the beginning of the text."""
        return len(self.head) >= TEXT and len(self.head.encode()) < self.text_size

    @property
    def data(self) -> dict[str, Any]:
        return self.light_data if isinstance(self.light_data, dict) else {}


@dataclass(frozen=True, slots=True)
class Nested:
    """Totals of what a sub-agent did right below an event: rows, tokens and money of the responses among them."""

    rows: int
    tool_calls: int
    names: list[str]
    first_seq: int
    tokens: int | None
    cost: Decimal | None
    unpriced: bool
    errors: int
    """Calls that failed, and errors that no call had."""
    models: list[str]

    @property
    def is_of_an_agent(self) -> bool:
        """Whether it is work of a sub-agent, and not what the recorder noted of a call."""
        return bool(self.names or self.tool_calls or self.tokens)


@dataclass(frozen=True, slots=True)
class Window:
    """Rows of a timeline in order of ``seq``, and what belongs to them, each by the seq of its row."""

    entries: list[Entry]
    anchor: int
    """Index of the entry the reader came for; what does not fit is left out farthest from it first."""
    earlier: bool
    later: bool
    calls: dict[int, ToolCall] = field(default_factory=dict)
    results: dict[int, Entry] = field(default_factory=dict)
    requests: dict[int, ModelRequest] = field(default_factory=dict)
    approvals: dict[int, Approval] = field(default_factory=dict)
    nested: dict[int, Nested] = field(default_factory=dict)
    children: dict[str, Session] = field(default_factory=dict)
    """Sessions that a call of this one started, by the call's id or its seq (``#12``), and by their external id."""
    facts: dict[int, RequestFacts] = field(default_factory=dict)
    """Of model requests, where they are what is shown."""
    turns: dict[int, Turn] = field(default_factory=dict)
    origins: dict[int, EventOrigin] = field(default_factory=dict)
    """Of the rows, of the results that are shown with them, and of the first event of the session."""
    rewinds: list[tuple[int, int]] = field(default_factory=list)
    """Prompts that a later one took the place of, and that later one: what lies between was abandoned."""
    targets: Mapping[Cited, Target] | None = None
    """Where citations lead, in a session of the assistant of the desk; None in any other."""

    def abandoned_by(self, seq: int) -> int | None:
        """The prompt for which a person went back to before ``seq``."""
        return next((later for first, later in self.rewinds if first <= seq < later), None)


class Timeline:
    """The rows of a session: of its main flow, or of what a sub-agent did below the event ``under``."""

    def __init__(
        self,
        session_id: UUID,
        show: str = "everything",
        under: int | None = None,
        without: Iterable[str] = (),
        folded: Iterable[int] = (),
    ) -> None:
        """``folded``: turns of which only the first row is there."""
        self.session_id, self.show, self.under = session_id, show, under
        self.left_out = left_out(without)
        self.folded = tuple(folded)

    def rows(self) -> QuerySet[Event]:
        """The events that have a row of their own.

        A result that belongs to a call is shown with it. An event of a sub-agent without a parent stays
        in the main flow, so that every event is found somewhere.
        """
        found = self._rows()
        return found.exclude(~Q(seq__in=self._heads), turn__in=self.folded) if self.folded else found

    @cached_property
    def _heads(self) -> list[int]:
        """The first row of each folded turn."""
        rows = self._rows().filter(turn=OuterRef("index"), seq__range=(OuterRef("first_seq"), OuterRef("last_seq")))
        turns = Turn.objects.filter(session_id=self.session_id, index__in=self.folded)
        return list(turns.values_list(Subquery(rows.order_by("seq").values("seq")[:1]), flat=True))

    def _rows(self) -> QuerySet[Event]:
        nested = Q(depth__gt=0, parent_seq__isnull=False)
        found = Event.objects.filter(session_id=self.session_id)
        found = found.exclude(nested) if self.under is None else found.filter(nested, parent_seq=self.under)
        if kinds := DEPTHS[self.show]:
            found = found.filter(kind__in=kinds)
        if self.left_out:
            found = found.exclude(kind__in=self.left_out)
        return found.alias(**_takers(self.session_id)).filter(
            ~Q(kind="tool_result") | Q(by_parent__isnull=True, by_call_id__isnull=True)
        )

    def after(self, seq: int) -> Window:
        """The rows that follow ``seq``."""
        entries, later = self._read(self.rows().filter(seq__gt=seq).order_by("seq"), ROWS)
        earlier = seq > 0 and self.rows().filter(seq__lte=seq).exists()
        return self._complete(Window(entries, 0, earlier, later))

    def between(self, seq: int, last: int) -> Window:
        """The rows that follow ``seq``, up to ``last``: those of a window that was here before."""
        entries, more = self._read(self.rows().filter(seq__gt=seq, seq__lte=last).order_by("seq"), ROWS)
        earlier = seq > 0 and self.rows().filter(seq__lte=seq).exists()
        return self._complete(Window(entries, 0, earlier, more))

    def before(self, seq: int) -> Window:
        """The rows that end before ``seq``."""
        entries, earlier = self._read(self.rows().filter(seq__lt=seq).order_by("-seq"), ROWS)
        later = self.rows().filter(seq__gte=seq).exists()
        return self._complete(Window(entries[::-1], len(entries), earlier, later))

    def around(self, seq: int, least: int = BEFORE) -> Window:
        """The rows around ``seq``, with ``least`` before it to read it in context; with more where few follow."""
        upwards = self.rows().filter(seq__lt=seq).order_by("-seq")
        above, earlier = self._read(upwards, least)
        below, later = self._read(self.rows().filter(seq__gte=seq).order_by("seq"), ROWS - len(above))
        if earlier and len(above) + len(below) < ROWS:
            above, earlier = self._read(upwards, ROWS - len(below))
        return self._complete(Window(above[::-1] + below, len(above), earlier, later))

    def only(self, seq: int) -> Window:
        """Window of one row, read again as it is now."""
        return self._complete(Window(read(Event.objects.filter(session_id=self.session_id, seq=seq)), 0, False, False))

    def _read(self, found: QuerySet[Event], limit: int) -> tuple[list[Entry], bool]:
        """The first rows of those found, in their order, and whether there are more."""
        taken = read(found[: limit + 1])
        return taken[:limit], len(taken) > limit

    def _complete(self, window: Window) -> Window:
        """Add what belongs to the rows: one query for each kind of thing."""
        seqs = [entry.seq for entry in window.entries]
        calls = [entry.seq for entry in window.entries if entry.kind == "tool_call"]
        turns = {entry.turn for entry in window.entries}
        window.calls.update({call.seq: call for call in self._calls_of(calls)})
        window.results.update(self._results_of(window.calls))
        shown = [1, *seqs, *(entry.seq for entry in window.results.values())]
        window.origins.update(self._origins_of(shown))
        window.requests.update({request.seq: request for request in requests_at(self.session_id, seqs)})
        asked = _APPROVALS(self.session_id, seqs)
        window.approvals.update({one.event_seq: one for one in asked if one.event_seq is not None})
        window.nested.update(_nested(self.session_id, seqs))
        window.children.update(_children(self.session_id, window, self._starters(window)))
        window.turns.update({turn.index: turn for turn in _TURNS(self.session_id, list(turns))})
        window.rewinds.extend(rewinds(self.session_id))
        return window

    def _calls_of(self, seqs: list[int]) -> Iterable[ToolCall]:
        return calls_at(self.session_id, seqs)

    def _results_of(self, calls: dict[int, ToolCall]) -> dict[int, Entry]:
        return results_of(calls, self.session_id)

    def _origins_of(self, seqs: list[int]) -> dict[int, EventOrigin]:
        return links.origins(self.session_id, seqs)

    def _starters(self, window: Window) -> list[Entry]:
        """Calls of a window that may have started a session."""
        return [entry for entry in window.entries if entry.kind == "tool_call"]


requests_at = Compiled[ModelRequest](
    lambda session_id, seqs: ModelRequest.objects.filter(session_id=session_id, seq__any_of=seqs)
)
"""The model requests whose last events these are."""
_APPROVALS = Compiled[Approval](
    lambda session_id, seqs: Approval.objects.filter(session_id=session_id, event_seq__any_of=seqs)
)
_TURNS = Compiled[Turn](
    lambda session_id, turns: Turn.objects.filter(session_id=session_id, index__any_of=turns).annotate(
        **NEXT, **BEFORE_IT
    )
)
calls_at = Compiled[ToolCall](lambda session_id, seqs: ToolCall.objects.filter(session_id=session_id, seq__any_of=seqs))
"""The calls that these events are."""


def read(found: QuerySet[Event]) -> list[Entry]:
    """Events with their long values cut."""
    return [Entry(**row) for row in _cut(found)]


def read_at(session_id: UUID, seqs: list[int]) -> list[Entry]:
    """These events of a session, likewise."""
    return [Entry(**row) for row in _CUT(session_id, seqs)]


def _cut(found: QuerySet[Event]) -> QuerySet[Event, dict[str, Any]]:
    return found.annotate(**CUT).values(*PLAIN, *CUT)


_CUT = Compiled[dict[str, Any]](
    lambda session_id, seqs: _cut(Event.objects.filter(session_id=session_id, seq__any_of=seqs))
)


def results_of(calls: dict[int, ToolCall], session_id: UUID) -> dict[int, Entry]:
    wanted = {call.result_seq: call.seq for call in calls.values() if call.result_seq}
    return {wanted[entry.seq]: entry for entry in read_at(session_id, list(wanted))}


def _children(session_id: UUID, window: Window, asked: list[Entry]) -> dict[str, Session]:
    """Sessions that some calls of a window started, by the id of the call and by what the result calls them."""
    entries = (*window.entries, *window.results.values())
    ids = {str(entry.data["child_session"]) for entry in entries if "child_session" in entry.data}
    calls = {entry.call_id for entry in asked if entry.call_id}
    if not ids and not asked:
        return {}
    wanted = (
        Q(external_id__in=ids)
        | Q(metadata__tool_use_id__in=calls)
        | Q(metadata__call_seq__in=[entry.seq for entry in asked])
    )
    children = list(Session.objects.filter(wanted, parent_id=session_id).defer("source_record"))
    by_call = {child.metadata["tool_use_id"]: child for child in children if "tool_use_id" in child.metadata}
    by_seq = {f"#{child.metadata['call_seq']}": child for child in children if "call_seq" in child.metadata}
    return by_seq | by_call | {child.external_id: child for child in children}


def rewinds(session_id: UUID) -> list[tuple[int, int]]:
    """Each prompt with the one that it took the place of; there is an index of such prompts alone."""
    return [(parent_seq, seq) for parent_seq, seq in _REWINDS(session_id) if parent_seq is not None]


def _rewinding(session_id: UUID) -> QuerySet[Event, tuple[int | None, int]]:
    found = Event.objects.filter(
        session_id=session_id, kind="user_message", parent_seq__isnull=False, depth=0, data__rewound=True
    )
    return found.order_by("seq").values_list("parent_seq", "seq")


_REWINDS = Compiled[tuple[int | None, int]](_rewinding)


NESTED = """
SELECT e.parent_seq, count(*), count(*) FILTER (WHERE e.kind = 'tool_call'),
       array_remove(array_agg(DISTINCT nullif(e.actor_name, '')) FILTER (WHERE e.actor_kind = 'subagent'), NULL),
       min(e.seq),
       sum(coalesce(r.input_tokens, 0) + coalesce(r.cache_read_tokens, 0) + coalesce(r.cache_write_tokens, 0)
           + coalesce(r.output_tokens, 0)) FILTER (WHERE r.seq IS NOT NULL AND r.counted_in_id IS NULL),
       sum(coalesce(r.cost_recorded, r.cost_priced)) FILTER (WHERE r.counted_in_id IS NULL),
       coalesce(bool_or(r.seq IS NOT NULL AND r.cost_recorded IS NULL AND r.cost_priced IS NULL), false),
       count(*) FILTER (WHERE e.kind = 'error' OR t.status = 'error'),
       coalesce(array_agg(DISTINCT e.model) FILTER (WHERE e.model <> ''), '{}')
FROM sessions_app_event e
LEFT JOIN sessions_app_toolcall t ON t.session_id = e.session_id AND t.seq = e.seq AND e.kind = 'tool_call'
LEFT JOIN sessions_app_modelrequest r ON r.session_id = e.session_id AND r.seq = e.seq
WHERE e.session_id = %s AND e.depth > 0 AND e.parent_seq = ANY(%s)
  AND (e.kind <> 'tool_result' OR (
      SELECT c.seq FROM sessions_app_toolcall c
      WHERE c.session_id = e.session_id AND c.seq = e.parent_seq AND c.result_seq = e.seq LIMIT 1) IS NULL)
GROUP BY e.parent_seq
"""


def _nested(session_id: UUID, seqs: list[int]) -> dict[int, Nested]:
    with connection.cursor() as cursor:
        cursor.execute(NESTED, [session_id, seqs])
        return {
            parent: Nested(rows, calls, names or [], *rest) for parent, rows, calls, names, *rest in cursor.fetchall()
        }


def path_to(session_id: UUID, seq: int) -> list[int]:
    """The seqs of the rows to open in order to see ``seq``: the row in the main flow first, its own row last.

    A result leads to the row of its call. Empty when there is no such event.
    """
    path: list[int] = []
    while len(path) <= MAX_NESTING and (event := _position(session_id, seq)):
        if event.kind == "tool_result" and (call := _taken_by(session_id, event)):
            seq = call
            continue
        path.insert(0, seq)
        if not event.depth or not event.parent_seq:
            return path
        seq = event.parent_seq
    return path


def left_out(without: Iterable[str]) -> list[str]:
    """The kinds of events that these words of ``APART`` leave out."""
    return [kind for word in without for kind in APART[word]]


def hides(session_id: UUID, show: str, seqs: list[int], without: Iterable[str] = ()) -> bool:
    """Whether a depth, or what is left out of it, has one of these events not."""
    kinds, hidden = DEPTHS[show], left_out(without)
    found = Event.objects.filter(session_id=session_id, seq__in=seqs)
    if kinds and found.exclude(kind__in=kinds).exists():
        return True
    return bool(hidden) and found.filter(kind__in=hidden).exists()


def _position(session_id: UUID, seq: int) -> Event | None:
    found = Event.objects.filter(session_id=session_id, seq=seq)
    return found.only("seq", "kind", "depth", "parent_seq", "call_id").first()


def _taken_by(session_id: UUID, result: Event) -> int | None:
    """The call that shows a result."""
    calls = ToolCall.objects.filter(Q(seq=result.parent_seq) | Q(call_id=result.call_id), session_id=session_id)
    return calls.filter(result_seq=result.seq).values_list("seq", flat=True).first()

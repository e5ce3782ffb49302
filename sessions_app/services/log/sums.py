"""Sums: turns, and the totals of a session, brought up to date by the difference that new rows make.

A turn is not read again for what is added to it, nor a session for one of its turns: one more event costs the same in
a turn of five events as in one of 5,000 (4 ms of recounting, measured), in a session of 5,858 turns as in its first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sessions_app import prepared
from sessions_app.rendering.titles import BEFORE_ISSUE, LOOKED_AT, asked_in, begins_wrapped

from . import turn_usage
from .sanitise import text

PROMPT = 2_000
"""Characters of a prompt that are kept with its turn."""
TITLE = 120
"""Characters of a prompt that is the title of its session."""
AT_ONCE = 100
"""Prompts that are read at once to be kept without what stands before them: 1.6 MB, however many turns a file has."""
EVERYTHING = 2**31 - 1
"""A ``seq`` after which there is nothing: no event is new."""
TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
COSTS = ("cost_recorded", "cost_priced")
COUNTS = ("unpriced_tokens", "copied_tokens", "under_reported")
"""Never NULL, unlike tokens and costs, where NULL says that nothing is known."""
HERE = "counted_in_id IS NULL"
PAID = "counted_in_id IS NULL AND cost_within IS NULL"
BILLED = " + ".join(f"coalesce({name}, 0)" for name in TOKENS[:4])
TURN = (
    "first_seq", "last_seq", "event_count", "started_at", "ended_at", "prompt", "model_names", "tool_calls", "errors",
    *TOKENS, *COSTS, *COUNTS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Changed:
    """What else changed than that events came: by turn."""

    calls: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """How many tool calls more, and how many more of them are errors."""
    requests: Collection[int] = ()
    """Turns in which model requests are others than they were."""
    tools: Collection[str] = ()
    """Names of tools that were called."""


NOTHING = Changed()


def _requests(changed: str) -> str:
    """Common table expression of the sums of model requests over the turns in an array."""
    return f"""
requests AS (
    SELECT turn, {", ".join(f"(sum({n}) FILTER (WHERE {HERE}))::bigint AS {n}" for n in TOKENS)},
           sum(cost_recorded) FILTER (WHERE {PAID}) AS cost_recorded,
           sum(cost_priced) FILTER (WHERE cost_recorded IS NULL AND {PAID}) AS cost_priced,
           coalesce(sum({BILLED}) FILTER (WHERE cost_recorded IS NULL AND cost_priced IS NULL AND {PAID}), 0)::bigint
               AS unpriced_tokens,
           coalesce(sum({BILLED}) FILTER (WHERE NOT {HERE}), 0)::bigint AS copied_tokens,
           (count(*) FILTER (WHERE quality = 'placeholder' AND {HERE}))::int AS under_reported,
           array_remove(array_agg(DISTINCT model), NULL) AS said
    FROM sessions_app_modelrequest
    WHERE session_id = %(session)s AND turn = ANY({changed}) GROUP BY turn
)"""


CALLED = """
called AS (
    SELECT * FROM unnest(%(called)s::int[], %(calls)s::int[], %(failed)s::int[]) AS each (turn, tool_calls, errors)
)"""
NONE_REQUESTED = f"""
requests AS (
    SELECT NULL::int AS turn, {", ".join(f"NULL::bigint AS {n}" for n in TOKENS)},
           {", ".join(f"NULL::numeric AS {n}" for n in COSTS)}, 0::bigint AS unpriced_tokens,
           0::bigint AS copied_tokens, 0 AS under_reported, NULL::text[] AS said
    WHERE false
)"""
NONE_CALLED = "called AS (SELECT NULL::int AS turn, NULL::int AS tool_calls, NULL::int AS errors WHERE false)"

# Models that responses name, else those that events name. Where no response is new nor another than it was, the names
# stay, unless an event says one that is not among them. OFFSET 0: else PostgreSQL may read the requests of all
# sessions.
NAMES = """
CASE WHEN r.turn IS NOT NULL AND r.said <> '{}' THEN r.said
     WHEN l.models IS NULL OR l.models <@ t.model_names THEN coalesce(t.model_names, '{}')
     WHEN t.index IS NULL THEN l.models
     WHEN r.turn IS NULL AND EXISTS (
         SELECT FROM sessions_app_modelrequest q
         WHERE q.session_id = t.session_id AND q.turn = t.index AND q.model IS NOT NULL OFFSET 0)
         THEN t.model_names
     ELSE (SELECT array_agg(DISTINCT name ORDER BY name) FROM unnest(t.model_names || l.models) name) END
"""

# A session is called after its first message by time. A turn that comes after the first one in both ways is not it, so
# that the messages of a session need not be sorted for each new one.
FIRST_BY_TIME = """
(new.prompt <> '' AND (old.index IS NULL OR old.started_at IS DISTINCT FROM new.started_at)
 AND (new.index = 1 OR NOT EXISTS (
     SELECT FROM sessions_app_turn f WHERE f.session_id = new.session_id AND f.index = 1 AND f.prompt <> ''
     AND (new.started_at IS NULL OR f.started_at <= new.started_at))))
"""

WRAPPED = prepared.Statement("""
SELECT t.index, e.text FROM sessions_app_turn t CROSS JOIN LATERAL (
    SELECT left(text, %(most)s::int) AS text FROM sessions_app_event
    WHERE session_id = %(session)s AND seq >= t.first_seq ORDER BY seq LIMIT 1
) e
WHERE t.session_id = %(session)s AND t.index > %(after)s AND t.last_seq > %(since)s
    AND (
        t.prompt ~* '^\\s*([<"]|(you are|you''re|act as|i want you)\\M)'
        OR position('ISSUE:' IN left(t.prompt, %(before)s::int)) > 0
    )
ORDER BY t.index LIMIT %(at_once)s
""")
UNWRAP = prepared.Statement("""
UPDATE sessions_app_turn t SET prompt = asked.text
FROM unnest(%(turns)s::int[], %(texts)s::text[]) AS asked (turn, text)
WHERE t.session_id = %(session)s AND t.index = asked.turn AND t.prompt <> asked.text RETURNING t.index
""")
"""Prompts without what a program says before them, of an open file or a repository: turns and titles would hold nothing
else. It is done here and not where they are shown, since of a prompt only its beginning is kept."""

OTHERS_CLOCK = "'import', 'otlp'"
"""Origins of sessions that ran elsewhere before they came here: their times are the recorder's. All others began here:
what a sender claims of its events moves neither their beginning before the session was made nor their end beyond now.
"""
OF_THE_RUN = f"""
kind NOT IN ('approval', 'escalation') AND (kind <> 'status' OR document IS NOT NULL)
OR (SELECT origin NOT IN ({OTHERS_CLOCK}) FROM sessions_app_session WHERE id = %(session)s)
"""
"""Whether the time of an event counts: a decision on a session that ran elsewhere, and what the desk notes of it, come
when its run is over."""


def _times(added: str) -> str:
    """Assignments of a session's beginning and end from those of turns."""
    return f"""
    started_at = CASE WHEN s.origin IN ({OTHERS_CLOCK}) THEN least(s.started_at, {added}.started_at)
                      ELSE coalesce(s.started_at, greatest({added}.started_at, s.created_at)) END,
    ended_at = CASE WHEN s.origin IN ({OTHERS_CLOCK}) THEN greatest(s.ended_at, {added}.ended_at)
                    WHEN {added}.ended_at IS NULL THEN s.ended_at
                    ELSE greatest(s.ended_at, least({added}.ended_at, now()), s.created_at) END"""


def _union(kept: str, new: str) -> str:
    """Names in an array and new ones, sorted."""
    return f"""CASE WHEN {new} IS NULL OR {new} <@ {kept} THEN {kept}
        ELSE (SELECT array_agg(DISTINCT name ORDER BY name) FROM unnest({kept} || {new}) name) END"""


def _more(name: str) -> str:
    """Sum of a column that may be NULL, with what was added to it."""
    return (
        f"{name} = CASE WHEN s.{name} IS NULL AND NOT known_{name} THEN NULL ELSE coalesce(s.{name}, 0) + {name}_ END"
    )


def _add(called: str, requests: str) -> str:
    """The statement that brings turns and totals up to date. Tells whether the totals have to be counted anew.

    A turn is looked up by LIMIT 1: with a plain join PostgreSQL may read every turn of the session for the one. A
    prompt is the first event from its ``seq`` on, for the reason given in ``turn_usage``.
    """
    nullable = (*TOKENS, *COSTS)
    kept = [f"CASE WHEN r.turn IS NULL THEN t.{n} ELSE r.{n} END AS {n}" for n in nullable]
    kept += [f"CASE WHEN r.turn IS NULL THEN coalesce(t.{n}, 0) ELSE r.{n} END AS {n}" for n in COUNTS]
    return f"""
WITH logged AS (
    SELECT turn, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS event_count,
           min(at) FILTER (WHERE {OF_THE_RUN}) AS started_at, max(at) FILTER (WHERE {OF_THE_RUN}) AS ended_at,
           count(*) FILTER (WHERE kind = 'error') AS errors,
           array_agg(DISTINCT model) FILTER (WHERE model IS NOT NULL) AS models,
           min(seq) FILTER (WHERE kind = 'user_message' AND depth = 0) AS prompt_seq
    FROM sessions_app_event WHERE session_id = %(session)s AND seq > %(since)s GROUP BY turn
), {called}, {requests}, touched AS (
    SELECT turn FROM logged UNION SELECT turn FROM called UNION SELECT turn FROM requests
), written AS (
    INSERT INTO sessions_app_turn AS kept (session_id, index, {", ".join(TURN)})
    SELECT %(session)s, touched.turn, coalesce(t.first_seq, l.first_seq), greatest(t.last_seq, l.last_seq),
           coalesce(t.event_count, 0) + coalesce(l.event_count, 0), least(t.started_at, l.started_at),
           greatest(t.ended_at, l.ended_at),
           coalesce(t.prompt, (SELECT left(e.text, {PROMPT}) FROM sessions_app_event e
                               WHERE e.session_id = %(session)s AND e.seq >= l.prompt_seq ORDER BY e.seq LIMIT 1), ''),
           {NAMES}, coalesce(t.tool_calls, 0) + coalesce(c.tool_calls, 0),
           coalesce(t.errors, 0) + coalesce(l.errors, 0) + coalesce(c.errors, 0), {", ".join(kept)}
    FROM touched LEFT JOIN LATERAL (
        SELECT * FROM sessions_app_turn t WHERE t.session_id = %(session)s AND t.index = touched.turn LIMIT 1
    ) t ON true LEFT JOIN logged l ON l.turn = touched.turn LEFT JOIN called c ON c.turn = touched.turn
    LEFT JOIN requests r ON r.turn = touched.turn
    ON CONFLICT (session_id, index) DO UPDATE SET {", ".join(f"{n} = excluded.{n}" for n in TURN)}
    WHERE ({", ".join(f"kept.{n}" for n in TURN)}) IS DISTINCT FROM ({", ".join(f"excluded.{n}" for n in TURN)})
    RETURNING new.index, new.last_seq, new.started_at, new.ended_at, new.model_names, old.index AS was,
              {", ".join(f"new.{n} - coalesce(old.{n}, 0) AS {n}" for n in ("event_count", "tool_calls", "errors"))},
              {", ".join(f"coalesce(new.{n}, 0) - coalesce(old.{n}, 0) AS {n}" for n in (*nullable, *COUNTS))},
              {", ".join(f"new.{n} IS NOT NULL AS known_{n}" for n in nullable)},
              NOT coalesce(old.model_names, '{{}}') <@ new.model_names
                  OR {" OR ".join(f"old.{n} IS NOT NULL AND new.{n} IS NULL" for n in nullable)} AS is_less,
              old.index IS NULL OR old.started_at IS DISTINCT FROM new.started_at AS is_moved,
              {FIRST_BY_TIME} AS is_first
), added AS (
    SELECT max(index) AS last_turn_, max(last_seq) AS last_seq_, min(started_at) AS started_at,
           max(ended_at) AS ended_at, count(*) FILTER (WHERE was IS NULL AND index > 0) AS turns_,
           {", ".join(f"sum({n}) AS {n}_" for n in ("event_count", "tool_calls", "errors", *nullable, *COUNTS))},
           {", ".join(f"bool_or(known_{n}) AS known_{n}" for n in nullable)},
           bool_or(is_less) AS is_less, bool_or(is_first) AS is_first,
           (SELECT array_agg(DISTINCT name) FROM written, unnest(model_names) name) AS names_
    FROM written
)
UPDATE sessions_app_session s SET
    last_seq = greatest(s.last_seq, last_seq_), last_turn = greatest(s.last_turn, last_turn_),
    event_count = s.event_count + event_count_, turn_count = s.turn_count + turns_,
    tool_call_count = s.tool_call_count + tool_calls_, error_count = s.error_count + errors_,
    indexed_seq = coalesce(%(indexed)s::int, s.indexed_seq),
    updated_at = CASE WHEN last_seq_ > s.last_seq THEN now() ELSE s.updated_at END, {_times("added")},
    {", ".join(map(_more, nullable))}, {", ".join(f"{n} = s.{n} + {n}_" for n in COUNTS)},
    title_is_prompt = s.title = '' OR s.title_is_prompt,
    tools_invoked = {_union("s.tools_invoked", "%(tools)s::text[]")},
    model_names = {_union("s.model_names", "names_")}
FROM added WHERE s.id = %(session)s AND last_turn_ IS NOT NULL
RETURNING is_less OR s.title_is_prompt AND is_first, (SELECT array_agg(index) FROM written WHERE is_moved)
"""


ADD = prepared.Statement(_add(NONE_CALLED, NONE_REQUESTED))
ADD_CALLS = prepared.Statement(_add(CALLED, NONE_REQUESTED))
ADD_REQUESTS = prepared.Statement(_add(CALLED, _requests("%(requests)s::int[]")))

TOTALS = prepared.Statement(f"""
UPDATE sessions_app_session s SET
    last_seq = t.last_seq, last_turn = t.last_turn, event_count = t.event_count, turn_count = t.turn_count,
    tool_call_count = t.tool_calls, error_count = t.errors, {_times("t")},
    {", ".join(f"{n} = t.{n}" for n in (*TOKENS, *COSTS, *COUNTS))},
    title = CASE WHEN s.title = '' OR s.title_is_prompt THEN t.title ELSE s.title END,
    title_is_prompt = s.title = '' OR s.title_is_prompt,
    model_names = coalesce((SELECT array_agg(DISTINCT name ORDER BY name)
                            FROM sessions_app_turn, unnest(model_names) name WHERE session_id = s.id), '{{}}')
FROM (
    SELECT max(last_seq) AS last_seq, max(index) AS last_turn, sum(event_count) AS event_count,
           count(*) FILTER (WHERE index > 0) AS turn_count, sum(tool_calls) AS tool_calls, sum(errors) AS errors,
           min(started_at) AS started_at, max(ended_at) AS ended_at,
           {", ".join(f"sum({n})::bigint AS {n}" for n in TOKENS)},
           sum(cost_recorded) AS cost_recorded, sum(cost_priced) AS cost_priced,
           sum(unpriced_tokens)::bigint AS unpriced_tokens, sum(copied_tokens)::bigint AS copied_tokens,
           sum(under_reported)::int AS under_reported,
           coalesce((SELECT CASE WHEN length(line) > {TITLE} THEN rtrim(left(line, {TITLE} - 1)) || '…' ELSE line END
                     FROM sessions_app_turn, regexp_replace(trim(prompt), '\\s+', ' ', 'g') AS line
                     WHERE session_id = %(session)s AND prompt <> '' ORDER BY started_at, index LIMIT 1), '') AS title
    FROM sessions_app_turn WHERE session_id = %(session)s
) t
WHERE s.id = %(session)s
""")  # fmt: skip


def add(
    session_id: UUID, since: int, changed: Changed = NOTHING, *, few: bool = True, anew: bool = False,
    indexed: int | None = None, wrapped: bool = False,
) -> None:  # fmt: skip
    """Add the events after ``since``, and what else changed, to the turns of a session and to its totals.

    ``anew``: count the totals from all turns, which is also done where the difference does not tell them (a sum whose
    last known part is gone, another first message). ``indexed``: how far it will be searchable when the transaction
    ends. ``wrapped``: something may stand before what is asked in a prompt. The caller has locked the session.
    """
    values: dict[str, Any] = {
        "session": session_id, "since": since, "tools": sorted(changed.tools), "called": list(changed.calls),
        "calls": [calls for calls, _ in changed.calls.values()], "failed": [bad for _, bad in changed.calls.values()],
        "requests": sorted(changed.requests), "indexed": indexed,
    }  # fmt: skip
    statement = ADD_REQUESTS if changed.requests else ADD_CALLS if changed.calls else ADD
    told = prepared.fetch(statement, values) if few else prepared.fetch_of_many(statement, values)
    if wrapped:
        unwrap_prompts(session_id, since)
    if anew or any(is_less for is_less, _ in told):
        prepared.run(TOTALS, values, keep=few)
    turns = {*changed.requests, *changed.calls, *(turn for _, moved in told for turn in moved or ())}
    turn_usage.write(session_id, turns, since if changed.calls else 0, few=few)


def unwrap_prompts(session_id: UUID, since: int) -> bool:
    """Keep of the prompts of turns that go on after ``since`` what is asked in them; whether any was kept otherwise.
    The session is locked."""
    asked_for = {
        "session": session_id, "since": since, "most": LOOKED_AT, "before": BEFORE_ISSUE, "after": 0,
        "at_once": AT_ONCE,
    }  # fmt: skip
    is_changed = False
    while found := prepared.fetch(WRAPPED, asked_for):
        asked_for["after"] = found[-1][0]
        asked = {turn: text(asked_in(prompt).strip()[:PROMPT]) for turn, prompt in found if begins_wrapped(prompt)}
        asked = {turn: said for turn, said in asked.items() if said}
        values = {"session": session_id, "turns": list(asked), "texts": list(asked.values())}
        is_changed |= bool(asked and prepared.fetch(UNWRAP, values))
    return is_changed


def name_anew(session_id: UUID) -> None:
    """Bring the title of a session whose prompts are kept otherwise up to date, with its totals. It is locked."""
    prepared.run(TOTALS, {"session": session_id})

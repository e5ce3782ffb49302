"""Everything that is computed from the log: tool calls, model requests, prices, turns, totals.

``project(session, since)`` brings them up to date with the events after ``since``; with ``since=0`` on an empty
projection it is the rebuild. PostgreSQL does the counting, so the size of a session never reaches Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Max

from sessions_app.models import (
    ChangedFile,
    Event,
    EventText,
    FileChange,
    FileScan,
    ModelRequest,
    RunFinding,
    RunSummary,
    SearchBlock,
    Session,
    SessionOverview,
    SessionUsage,
    ToolCall,
    Turn,
)
from sessions_app.prepared import Statement, fetch, fetch_of_many

from ..approvals import imported
from ..graph import told
from . import pricing, run_summaries, search_index, shared_responses, sums
from .new_events import ANYTHING, NewEvents
from .sums import EVERYTHING, TOKENS

PROJECTIONS = (
    ToolCall, ModelRequest, Turn, EventText, SessionUsage, FileChange, ChangedFile, FileScan, RunSummary,
    RunFinding, SessionOverview,
)  # fmt: skip
"""What is thrown away to be computed again, with the search's blocks; files and overviews not before somebody asks."""
MANY = 5_000
"""From so many new events on tables are analysed, see ``_Batch``."""
FEW = 500
"""Up to so many new events statements run by a plan that was made for other sessions; of more, without loops."""

CALLS = Statement("""
WITH made AS (
    INSERT INTO sessions_app_toolcall (session_id, seq, call_id, name, server, status, turn, started_at)
    SELECT session_id, seq, call_id, coalesce(tool_name, ''), tool_server, tool_status, turn, at
    FROM sessions_app_event
    WHERE session_id = %(session)s AND seq > %(since)s AND kind = 'tool_call'
    RETURNING turn, status, name
)
SELECT turn, count(*), count(*) FILTER (WHERE status = 'error'), array_agg(DISTINCT name) FILTER (WHERE name <> '')
FROM made GROUP BY turn
""")

# The same for a log that had no event before, with results: an INSERT and no UPDATE of nearly every row after it.
FIRST_CALLS = Statement("""
WITH lines AS MATERIALIZED (
    SELECT seq, kind, call_id, tool_name, tool_server, tool_status, turn, at, parent_seq,
           max(seq) FILTER (WHERE kind = 'tool_call') OVER (PARTITION BY call_id ORDER BY seq) AS latest
    FROM sessions_app_event
    WHERE session_id = %(session)s AND seq > %(since)s AND kind IN ('tool_call', 'tool_result')
), results AS (
    SELECT DISTINCT ON (call_seq) * FROM (
        SELECT r.seq, r.tool_status, r.at,
               coalesce(parent.seq, CASE WHEN r.call_id IS NOT NULL THEN r.latest END) AS call_seq
        FROM lines r LEFT JOIN lines parent ON parent.seq = r.parent_seq AND parent.kind = 'tool_call'
        WHERE r.kind = 'tool_result'
    ) found WHERE call_seq IS NOT NULL ORDER BY call_seq, seq
), made AS (
    INSERT INTO sessions_app_toolcall
        (session_id, seq, result_seq, call_id, name, server, status, turn, started_at, ended_at)
    SELECT %(session)s, c.seq, r.seq, c.call_id, coalesce(c.tool_name, ''), c.tool_server,
           coalesce(r.tool_status, c.tool_status), c.turn, c.at, r.at
    FROM lines c LEFT JOIN results r ON r.call_seq = c.seq WHERE c.kind = 'tool_call'
    RETURNING turn, status, name
)
SELECT turn, count(*), count(*) FILTER (WHERE status = 'error'), array_agg(DISTINCT name) FILTER (WHERE name <> '')
FROM made GROUP BY turn
""")

# A result belongs to the call it names as parent, else to the latest earlier call with its call id.
RESULTS = Statement("""
WITH results AS (
    SELECT DISTINCT ON (call.seq) call.seq AS call_seq, result.seq, result.tool_status, result.at
    FROM sessions_app_event result
    CROSS JOIN LATERAL (
        SELECT seq FROM sessions_app_toolcall c
        WHERE c.session_id = %(session)s AND c.seq < result.seq AND c.seq = result.parent_seq
        UNION ALL
        (SELECT seq FROM sessions_app_toolcall c
         WHERE c.session_id = %(session)s AND c.seq < result.seq AND c.call_id = result.call_id
         ORDER BY seq DESC LIMIT 1)
        LIMIT 1
    ) call
    WHERE result.session_id = %(session)s AND result.seq > %(since)s AND result.kind = 'tool_result'
    ORDER BY call.seq, result.seq
), joined AS (
    UPDATE sessions_app_toolcall c
    SET result_seq = r.seq, status = coalesce(r.tool_status, c.status), ended_at = r.at
    FROM results r
    WHERE c.session_id = %(session)s AND c.seq = r.call_seq AND c.result_seq IS NULL
    RETURNING new.turn, (coalesce(new.status, '') = 'error')::int - (coalesce(old.status, '') = 'error')::int AS more
)
SELECT turn, sum(more) FROM joined GROUP BY turn HAVING sum(more) <> 0
""")

RATES = ("request", "input", "cache_read", "cache_write", "cache_write_1h", "output")
RATE_ARRAYS = ", ".join(f"%({name})s::numeric[]" for name in RATES)
PROMPT = " + ".join(f"coalesce(best.{name}, 0)" for name in TOKENS[:3])
# As ``pricing.Rates.amount``: priced as it is written, since an UPDATE of each new row took as much as its INSERT.
AMOUNT = """rate.request + rate.input * coalesce(best.input_tokens, 0)
       + rate.cache_read * coalesce(best.cache_read_tokens, 0)
       + rate.cache_write * (coalesce(best.cache_write_tokens, 0) - coalesce(best.cache_write_1h_tokens, 0))
       + rate.cache_write_1h * coalesce(best.cache_write_1h_tokens, 0)
       + rate.output * coalesce(best.output_tokens, 0)"""

# One row per model response. Recorders repeat a response's usage on each of its lines, growing or not: the line
# with the greatest output is the true one in every transcript measured (first-wins loses 70-80 % of the output).
REQUESTS = Statement(
    f"""
WITH lines AS (
    SELECT coalesce(request, 'seq:' || seq) AS key, seq, turn, at, model, {", ".join(TOKENS)},
           cache_write_1h_tokens, coalesce(quality, 'final') AS quality, cost, data ? 'copied_from' AS is_copy,
           CASE WHEN request IS NOT NULL
                     AND (SELECT response_scope FROM sessions_app_session WHERE id = %(session)s) <> ''
                THEN md5(kind || ' ' || text || coalesce(arguments::text, '')) END AS said
    FROM sessions_app_event
    WHERE session_id = %(session)s AND seq > %(since)s
      AND (num_nonnulls({", ".join(TOKENS)}) > 0 OR cost IS NOT NULL)
), spans AS (
    SELECT key, max(seq) AS last_seq, min(turn) AS turn, min(at) AS at, max(cost) AS cost,
           bool_or(is_copy) AS is_copy, (array_agg(said ORDER BY seq))[1] AS said,
           (array_agg(model ORDER BY seq) FILTER (WHERE model IS NOT NULL))[1] AS model
    FROM lines GROUP BY key
), best AS (
    SELECT DISTINCT ON (key) key, {", ".join(TOKENS)}, cache_write_1h_tokens, quality
    FROM lines ORDER BY key, output_tokens DESC NULLS LAST, seq DESC
), kept AS (
INSERT INTO sessions_app_modelrequest AS r
    (session_id, key, seq, turn, at, model, {", ".join(TOKENS)}, cache_write_1h_tokens, quality, cost_recorded,
     cost_priced, price_source, identity, is_copy)
SELECT %(session)s, key, spans.last_seq, spans.turn, spans.at, spans.model, {", ".join(f"best.{n}" for n in TOKENS)},
       best.cache_write_1h_tokens, best.quality, spans.cost, {AMOUNT},
       CASE WHEN rate.model IS NOT NULL THEN %(source)s WHEN spans.model = ANY(%(timely)s::text[]) THEN ''
            ELSE %(unpriced)s END,
       md5(s.workspace_id || ' ' || s.response_scope || ' ' || key || ' ' || said)::uuid, spans.is_copy
FROM best JOIN spans USING (key) JOIN sessions_app_session s ON s.id = %(session)s
LEFT JOIN unnest(%(models)s::text[], %(above)s::bigint[], %(until)s::bigint[], {RATE_ARRAYS})
    AS rate (model, above, until, {", ".join(RATES)})
    ON rate.model = spans.model AND {PROMPT} > rate.above AND {PROMPT} <= rate.until
ON CONFLICT (session_id, key) DO UPDATE SET
    seq = excluded.seq,
    at = least(r.at, excluded.at),
    {", ".join(f"{n} = CASE WHEN {{better}} THEN excluded.{n} ELSE r.{n} END" for n in TOKENS)},
    cache_write_1h_tokens = CASE WHEN {{better}} THEN excluded.cache_write_1h_tokens ELSE r.cache_write_1h_tokens END,
    quality = CASE WHEN {{better}} THEN excluded.quality ELSE r.quality END,
    model = coalesce(r.model, excluded.model),
    cost_recorded = greatest(r.cost_recorded, excluded.cost_recorded),
    is_copy = r.is_copy OR excluded.is_copy, cost_within = NULL,
    price_source = '', cost_priced = NULL
RETURNING r.turn, r.price_source, r.identity
)
SELECT turn, bool_or(price_source = ''), count(identity) FROM kept GROUP BY turn
""".replace("{better}", "coalesce(excluded.output_tokens, -1) >= coalesce(r.output_tokens, -1)")
)

# A recorder may state what everything cost since its last such statement, sub-agents and side calls included: the
# responses in between keep their own price to look at, and the sums take the statement. OFFSET 0: else PostgreSQL,
# planning for any session, joins with all events of this one.
COVERED = Statement("""
WITH covered AS (
    UPDATE sessions_app_modelrequest r
    SET cost_within = (SELECT min(e.seq) FROM sessions_app_event e
                       WHERE e.session_id = %(session)s AND e.seq > greatest(r.seq, %(since)s)
                         AND e.cost IS NOT NULL AND e.data ? 'cost_covers')
    WHERE r.session_id = %(session)s AND r.cost_within IS NULL
      AND NOT EXISTS (SELECT 1 FROM sessions_app_event e
                      WHERE e.session_id = %(session)s AND e.seq = r.seq AND e.data ? 'cost_covers' OFFSET 0)
      AND EXISTS (SELECT 1 FROM sessions_app_event e
                  WHERE e.session_id = %(session)s AND e.seq > greatest(r.seq, %(since)s)
                    AND e.cost IS NOT NULL AND e.data ? 'cost_covers')
    RETURNING turn
)
SELECT DISTINCT turn FROM covered
""")

UNPRICED = Statement(f"""
SELECT r.key, r.model, coalesce(r.at, s.created_at), {", ".join(f"coalesce(r.{n}, 0)" for n in (*TOKENS[:3],
    "cache_write_1h_tokens", TOKENS[3]))}
FROM sessions_app_modelrequest r JOIN sessions_app_session s ON s.id = r.session_id
WHERE r.session_id = %(session)s AND r.seq > %(since)s AND r.price_source = ''
""")  # fmt: skip
MODELS = Statement("""
SELECT DISTINCT model FROM sessions_app_event WHERE session_id = %(session)s AND seq > %(since)s AND model IS NOT NULL
""")
PRICED = Statement("""
UPDATE sessions_app_modelrequest r SET cost_priced = p.amount, price_source = p.source
FROM unnest(%(keys)s::text[], %(amounts)s::numeric[], %(sources)s::text[]) AS p(key, amount, source)
WHERE r.session_id = %(session)s AND r.key = p.key
""")


@transaction.atomic(savepoint=False)
def project(
    session_id: UUID, since: int, last_seq: int, new: NewEvents = ANYTHING, *, anew: bool = False,
    indexed: int | None = None,
) -> None:  # fmt: skip
    """Bring the projections of a session, which is locked, up to date with its events after ``since``.

    ``new`` says what is among them; what cannot be there is not looked for: 6 statements and not 19, which is what an
    event costs that is appended alone. ``anew``: nothing of before is kept. Responses that other sessions repeat are
    counted in one of them: those whose share changes are brought up to date as well. The search index is not among the
    projections that this writes; ``indexed`` is how far the caller does, for a row of the session is written once: a
    second time would cost as much, and PostgreSQL would look up all that it names once more.
    """
    changed = sums.Changed()
    moved: dict[UUID, list[int]] = {}
    if new.calls or new.results or new.responses:
        batch = _Batch(session_id, since, last_seq - since)
        batch.analyze("event (session_id, seq, turn, kind, parent_seq, call_id, request)")
        calls, tools = _join_calls(batch, new)
        requests, moved = _count_requests(batch, new)
        changed = sums.Changed(calls, requests | set(moved.pop(session_id, ())), tools)
    few = last_seq - since <= FEW
    sums.add(session_id, since, changed, few=few, anew=anew, indexed=indexed, wrapped=new.wrapped)
    for other, turns in moved.items():
        sums.add(other, EVERYTHING, sums.Changed(requests=turns))
    if new.approvals:
        imported.project(session_id, since)
    if new.results:
        imported.note_executions(session_id, since)
    if new.nodes:
        told.project(session_id, since)


@transaction.atomic
def release_responses(session_id: UUID) -> None:
    """Count what is counted in this session, which is about to go, in the others that repeat it."""
    for other, turns in shared_responses.release(session_id).items():
        sums.add(other, EVERYTHING, sums.Changed(requests=turns))


@dataclass(frozen=True, slots=True)
class _Batch:
    """The new events of a session: so many after ``since``."""

    session_id: UUID
    since: int
    count: int

    def fetch(self, statement: Statement, **values: Any) -> list[tuple[Any, ...]]:
        """Rows of a statement over the new events."""
        given = {"session": self.session_id, "since": self.since, **values}
        return fetch(statement, given) if self.count <= FEW else fetch_of_many(statement, given)

    def analyze(self, table: str) -> None:
        """Give the planner statistics of a table that most rows are new in, or whose statistics know all sessions but
        this: it expects one row of it then. What reads pages goes by them.

        Not of a large one: that reads 30,000 rows from as many places, and the next import would pay for it again.
        """
        if self.count <= MANY:
            return
        name, bracket, columns = table.partition(" ")
        with connection.cursor() as cursor:
            cursor.execute(EXPECTED.format(f"sessions_app_{name}"), [self.session_id])
            [[plan]] = cursor.fetchone()
            is_known = plan["Plan"]["Plan Rows"] > 1
            cursor.execute(PART.format(f"sessions_app_{name}"), [self.session_id])
            for part, rows in cursor.fetchall():
                if rows < self.count or not is_known:
                    cursor.execute(SAMPLE)
                    cursor.execute(f"ANALYZE {part}{bracket}{columns}")
                    cursor.execute(SAMPLE_AS_USUAL)


# 6,000 rows tell what is read here; 30,000 took a twentieth of what an import costs the database. Autovacuum looks at
# the table in full a minute later.
SAMPLE, SAMPLE_AS_USUAL = "SET LOCAL default_statistics_target = 20", "SET LOCAL default_statistics_target TO DEFAULT"
EXPECTED = "EXPLAIN (FORMAT JSON) SELECT FROM {} WHERE session_id = %s"
# Events lie in several parts: the one that has this session's.
PART = """
SELECT quote_ident(relname), reltuples FROM pg_class
WHERE oid = (SELECT tableoid FROM {} WHERE session_id = %s LIMIT 1)
"""


def _join_calls(batch: _Batch, new: NewEvents) -> tuple[dict[int, tuple[int, int]], set[str]]:
    """Write tool calls and their results. Returns how many calls and errors more each turn has, and names of tools."""
    changed: dict[int, tuple[int, int]] = {}
    tools: set[str] = set()
    is_first = batch.since == 0
    if new.calls:
        for turn, calls, errors, names in batch.fetch(FIRST_CALLS if is_first else CALLS):
            changed[turn] = (calls, errors)
            tools.update(names or ())
        batch.analyze("toolcall")
    if new.results and not is_first:
        for turn, more in batch.fetch(RESULTS):
            calls, errors = changed.get(turn, (0, 0))
            changed[turn] = (calls, errors + more)
    return changed, tools


def _count_requests(batch: _Batch, new: NewEvents) -> tuple[set[int], dict[UUID, list[int]]]:
    """Write model requests and price them. Returns the turns that they are of, and of sessions the turns in which
    shared responses are counted otherwise than before.
    """
    if not new.responses:
        return set(), {}
    written = batch.fetch(REQUESTS, **_rates(batch, new.models))
    batch.analyze("modelrequest")
    if any(has_no_price for _, has_no_price, _ in written):
        _price(batch)
    turns = {turn for turn, _, _ in written}
    if new.statements:
        turns |= {turn for (turn,) in batch.fetch(COVERED)}
    if not any(shareable for _, _, shareable in written):
        return turns, {}
    return turns, shared_responses.assign_owners(batch.session_id, batch.since)


@transaction.atomic
def rebuild(session_id: UUID) -> None:
    """Throw the projections of a session away and compute them from its log again."""
    session = Session.objects.select_for_update().only("id", "metadata").get(pk=session_id)
    SearchBlock.objects.filter(session_id=session_id).exclude(first_seq=search_index.FILE).delete()
    for model in PROJECTIONS:
        model.objects.filter(session_id=session_id).delete()
    Session.objects.filter(pk=session_id).update(indexed_seq=0, tools_invoked=stated_tools(session.metadata))
    last_seq = Event.objects.filter(session_id=session_id).aggregate(last=Max("seq"))["last"]
    if last_seq:
        project(session_id, 0, last_seq, anew=True)
        run_summaries.rebuild(session_id, last_seq)
        search_index.index(session_id)
    else:
        search_index.index_title(session_id)


def stated_tools(metadata: dict[str, Any]) -> list[str]:
    """Names of tools that a file states beside its events (``tools_invoked`` of a product graph); they are no calls.

    In the order of the file, which is that of their first use.
    """
    tools = metadata.get("tools_invoked")
    return list(dict.fromkeys(name for name in tools if isinstance(name, str))) if isinstance(tools, list) else []


def _rates(batch: _Batch, models: set[str] | None) -> dict[str, Any]:
    """Prices of the models that responses name, for ``REQUESTS``; ``timely`` are those whose prices depend on time."""
    if models is None:
        models = {model for (model,) in batch.fetch(MODELS)}
    known = {model: pricing.bands(model) for model in sorted(models)}
    found = [(model, band) for model, bands in known.items() for band in bands or ()]
    arrays = {name: [getattr(band.rates, name) for _, band in found] for name in RATES}
    return arrays | {
        "models": [model for model, _ in found], "above": [band.above for _, band in found],
        "until": [band.until for _, band in found], "timely": [name for name in known if known[name] is None],
        "source": pricing.source(), "unpriced": pricing.UNPRICED,
    }  # fmt: skip


def _price(batch: _Batch) -> None:
    keys: list[str] = []
    amounts: list[Decimal | None] = []
    for key, model, at, *tokens in batch.fetch(UNPRICED):
        keys.append(key)
        amounts.append(pricing.price(model, at, tuple(tokens)))
    if keys:
        sources = [pricing.UNPRICED if amount is None else pricing.source() for amount in amounts]
        batch.fetch(PRICED, keys=keys, amounts=amounts, sources=sources)

"""SQL of kept numbers: of agents by day, of wallets, of usage ever, and the measures that sessions are ranked by.

A writer adds rows of changes or writes rows whose lock it has already (its session's measures, its wallet), so nobody
waits for anybody over a number that many add to. Whatever writes a row keeps them, also an older version that runs on.
"""

from __future__ import annotations

from ._measures_0023 import CHANGED, day, measures
from ._measures_0023 import COLUMNS as FORMER_COLUMNS
from ._usage_0029 import COUNTED as NUMBERS

CHANGES = "sessions_app_agentdaychange (workspace_id, agent_id, day, sessions, failing, spent)"


def _trigger(name: str, body: str) -> str:
    return f"""
CREATE FUNCTION countersign_{name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
{body}
    RETURN NULL;
END $$;
"""


def _both_ways(insert: str) -> str:
    """The change of a row: what it was is taken away, what it is comes in."""
    return f"""
    IF TG_OP <> 'INSERT' THEN
        {insert.format(row="OLD", sign="-")};
    END IF;
    IF TG_OP <> 'DELETE' THEN
        {insert.format(row="NEW", sign="")};
    END IF;"""


def _differ(*values: str) -> str:
    """Whether one of some expressions of a row, written with ``{row}``, has changed."""
    old, new = (", ".join(value.format(row=row) for value in values) for row in ("OLD", "NEW"))
    return f"({old}) IS DISTINCT FROM ({new})"


def _on(table: str, name: str, function: str, changed: str, there: str = "") -> str:
    """Triggers of a row that comes, changes or goes; ``there`` says of a row whether it counts at all."""
    counts = {row: f"WHEN ({there.format(row=row)})" if there else "" for row in ("NEW", "OLD")}
    return f"""
CREATE TRIGGER {name}_added AFTER INSERT ON {table}
    FOR EACH ROW {counts["NEW"]} EXECUTE FUNCTION countersign_{function}();
CREATE TRIGGER {name}_changed AFTER UPDATE ON {table}
    FOR EACH ROW WHEN ({changed}) EXECUTE FUNCTION countersign_{function}();
CREATE TRIGGER {name}_deleted AFTER DELETE ON {table}
    FOR EACH ROW {counts["OLD"]} EXECUTE FUNCTION countersign_{function}();
"""


DAY = """
CREATE FUNCTION countersign_day(timestamptz) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT greatest(coalesce(($1 AT TIME ZONE 'UTC')::date, DATE '0001-01-02'), DATE '0001-01-02')
$$;
"""
PAID = "CASE WHEN {row}.status = 'ok' THEN coalesce({row}.cost, 0) ELSE 0 END"
OF_SESSIONS = (
    _trigger(
        "count_session",
        _both_ways(
            f"INSERT INTO {CHANGES} VALUES ({{row}}.workspace_id, {{row}}.agent_id,"
            " countersign_day({row}.started_at), {sign}1, {sign}({row}.error_count > 0)::int, 0)"
        ),
    )
    + _on(
        "sessions_app_session", "session_counted", "count_session",
        _differ("{row}.workspace_id", "{row}.agent_id", "countersign_day({row}.started_at)", "{row}.error_count > 0"),
    )
)  # fmt: skip
OF_TURNS = (
    _trigger(
        "count_turn_usage",
        _both_ways(
            f"INSERT INTO {CHANGES} VALUES ({{row}}.workspace_id, {{row}}.agent_id, countersign_day({{row}}.at), 0, 0,"
            " {sign}coalesce({row}.cost, 0))"
        ),
    )
    + _on(
        "sessions_app_turnusage", "turn_usage_counted", "count_turn_usage",
        _differ("{row}.workspace_id", "{row}.agent_id", "{row}.at", "{row}.cost"), "{row}.cost <> 0",
    )
)  # fmt: skip
OF_CALLS = (
    _trigger(
        "count_call_usage",
        _both_ways(
            f"INSERT INTO {CHANGES} VALUES ({{row}}.workspace_id, {{row}}.agent_id, countersign_day({{row}}.at), 0, 0,"
            f" {{sign}}{PAID});\n"
            f"        UPDATE sessions_app_sessionmeasures SET data = data + ({{sign}}{PAID})"
            " WHERE session_id = {row}.session_id"
        ),
    )
    + _on(
        "sessions_app_callusage", "call_usage_counted", "count_call_usage",
        _differ("{row}.workspace_id", "{row}.agent_id", "{row}.at", "{row}.session_id", PAID), f"{PAID} <> 0",
    )
)  # fmt: skip

SOURCES = ("subscription", "purchased", "trial")
OF_WALLETS = _trigger(
    "balance_wallet",
    "    UPDATE sessions_app_wallet SET\n        "
    + ", ".join(f"{name} = {name} + CASE NEW.source WHEN '{name}' THEN NEW.amount ELSE 0 END" for name in SOURCES)
    + "\n    WHERE id = NEW.wallet_id;",
) + (
    """
CREATE TRIGGER balanced AFTER INSERT ON sessions_app_ledgerentry
    FOR EACH ROW EXECUTE FUNCTION countersign_balance_wallet();
"""
)

COLUMNS = f"{FORMER_COLUMNS}, agent_id, seen"


def seen(row: str) -> str:
    """The minute of the last thing that is known of a session."""
    return f"date_trunc('minute', coalesce({row}.ended_at, {row}.started_at, {row}.created_at), 'UTC')"


def _measured(row: str) -> str:
    return f"{measures(row)}, {row}.agent_id, {seen(row)}"


OF_MEASURES = f"""
CREATE OR REPLACE FUNCTION countersign_measure_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO sessions_app_sessionmeasures ({COLUMNS}, data) VALUES ({_measured("NEW")}, 0);
    ELSE
        UPDATE sessions_app_sessionmeasures SET ({COLUMNS}) = ROW({_measured("NEW")}) WHERE session_id = OLD.id;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER measured AFTER UPDATE ON sessions_app_session
    FOR EACH ROW WHEN ({CHANGED} OR {day("OLD")} IS DISTINCT FROM {day("NEW")}
                       OR (OLD.agent_id, {seen("OLD")}) IS DISTINCT FROM (NEW.agent_id, {seen("NEW")}))
    EXECUTE FUNCTION countersign_measure_session();
"""

PLACE = "workspace_id, kind, tag, agent, origin, key"
ANY_TAG = "00000000-0000-0000-0000-000000000000"


def _ever(rows: str) -> str:
    """Add months, whose numbers are ``rows``, to what is kept of all months together, for sessions with any tags."""
    return f"""
    INSERT INTO sessions_app_usagetotal AS o ({PLACE}, span, start, name, {", ".join(NUMBERS)})
    SELECT {PLACE}, 'ever', DATE '0001-01-01', min(name), {", ".join(f"sum({name})" for name in NUMBERS)}
    FROM ({rows}) AS months GROUP BY {PLACE}
    ON CONFLICT (workspace_id, kind, tag, agent, span, start, origin, key)
    DO UPDATE SET {", ".join(f"{name} = o.{name} + excluded.{name}" for name in NUMBERS)};"""


def _months(table: str, sign: str = "") -> str:
    return (
        f"SELECT {PLACE}, name, {', '.join(f'{sign}{name} AS {name}' for name in NUMBERS)} FROM {table}"
        f" WHERE span = 'month' AND tag = '{ANY_TAG}'"
    )


# A statement that writes none fires the trigger, too: without the question it would call itself for ever.
IF_MONTHS = f"IF NOT EXISTS (SELECT FROM is_now WHERE span = 'month' AND tag = '{ANY_TAG}') THEN RETURN NULL; END IF;"
BOTH = _months("is_now") + " UNION ALL " + _months("was", "-")
OF_USAGE = (
    _trigger("usage_ever_added", f"    {IF_MONTHS}{_ever(_months('is_now'))}")
    + _trigger("usage_ever_changed", f"    {IF_MONTHS}{_ever(BOTH)}")
    + """
CREATE TRIGGER ever_added AFTER INSERT ON sessions_app_usagetotal
    REFERENCING NEW TABLE AS is_now FOR EACH STATEMENT EXECUTE FUNCTION countersign_usage_ever_added();
CREATE TRIGGER ever_changed AFTER UPDATE ON sessions_app_usagetotal
    REFERENCING OLD TABLE AS was NEW TABLE AS is_now
    FOR EACH STATEMENT EXECUTE FUNCTION countersign_usage_ever_changed();
"""
)

# Writers wait while what there is is counted: about a second of 100,000 sessions and a million booked turns and calls.
# Sessions first, as everybody locks them before what hangs on them.
LOCKED = """
SELECT pg_advisory_xact_lock(hashtext('usage totals'), 0);
LOCK TABLE sessions_app_session IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE sessions_app_turnusage, sessions_app_callusage, sessions_app_ledgerentry IN SHARE ROW EXCLUSIVE MODE;
"""
COUNTED = f"""
INSERT INTO {CHANGES}
SELECT workspace_id, agent_id, countersign_day(started_at), count(*), count(*) FILTER (WHERE error_count > 0), 0
FROM sessions_app_session GROUP BY 1, 2, 3;
INSERT INTO {CHANGES}
SELECT workspace_id, agent_id, day, 0, 0, sum(cost) FROM (
    SELECT workspace_id, agent_id, countersign_day(at) AS day, cost FROM sessions_app_turnusage WHERE cost <> 0
    UNION ALL
    SELECT workspace_id, agent_id, countersign_day(at), cost FROM sessions_app_callusage
    WHERE cost <> 0 AND status = 'ok'
) AS paid GROUP BY 1, 2, 3;
"""
BALANCED = f"""
UPDATE sessions_app_wallet w SET {", ".join(f"{name} = s.{name}" for name in SOURCES)}
FROM (SELECT wallet_id, {
    ", ".join(f"coalesce(sum(amount) FILTER (WHERE source = '{name}'), 0) AS {name}" for name in SOURCES)
} FROM sessions_app_ledgerentry GROUP BY wallet_id) AS s WHERE s.wallet_id = w.id;
"""
BOUGHT = """
UPDATE sessions_app_sessionmeasures m SET data = b.data
FROM (SELECT session_id, sum(cost) AS data FROM sessions_app_callusage WHERE status = 'ok' AND cost <> 0
      GROUP BY session_id) AS b WHERE b.session_id = m.session_id;
"""
FORWARD = (
    LOCKED + DAY + OF_SESSIONS + OF_TURNS + OF_CALLS + OF_WALLETS + OF_MEASURES + OF_USAGE
    + COUNTED + BALANCED + BOUGHT + _ever(_months("sessions_app_usagetotal"))
)  # fmt: skip

TRIGGERS = {
    "session": ("session_counted_added", "session_counted_changed", "session_counted_deleted"),
    "turnusage": ("turn_usage_counted_added", "turn_usage_counted_changed", "turn_usage_counted_deleted"),
    "callusage": ("call_usage_counted_added", "call_usage_counted_changed", "call_usage_counted_deleted"),
    "ledgerentry": ("balanced",),
    "usagetotal": ("ever_added", "ever_changed"),
}
FUNCTIONS = (
    "count_session()", "count_turn_usage()", "count_call_usage()", "balance_wallet()", "usage_ever_added()",
    "usage_ever_changed()", "day(timestamptz)",
)  # fmt: skip
BACKWARD = (
    "".join(f"DROP TRIGGER {name} ON sessions_app_{table};\n" for table, names in TRIGGERS.items() for name in names)
    + "DELETE FROM sessions_app_usagetotal WHERE span = 'ever';\n"
    + f"""
CREATE OR REPLACE FUNCTION countersign_measure_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO sessions_app_sessionmeasures ({FORMER_COLUMNS}) VALUES ({measures("NEW")});
    ELSE
        UPDATE sessions_app_sessionmeasures SET ({FORMER_COLUMNS}) = ROW({measures("NEW")}) WHERE session_id = OLD.id;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER measured AFTER UPDATE ON sessions_app_session
    FOR EACH ROW WHEN ({CHANGED} OR {day("OLD")} IS DISTINCT FROM {day("NEW")})
    EXECUTE FUNCTION countersign_measure_session();
"""
    + "".join(f"DROP FUNCTION countersign_{name};\n" for name in FUNCTIONS)
)

"""SQL of usage of days of all origins together: kept as that of all months together is (``_agent_days_0033``)."""

from __future__ import annotations

from ._agent_days_0033 import ANY_TAG
from ._usage_0029 import COUNTED as NUMBERS

PLACE = "workspace_id, kind, tag, agent, start, key"
IS_DAY = f"span = 'day' AND tag = '{ANY_TAG}'"


def _whole(rows: str) -> str:
    """Add days, whose numbers are ``rows``, to what is kept of them without their origins."""
    return f"""
    INSERT INTO sessions_app_usagetotal AS o ({PLACE}, span, origin, name, {", ".join(NUMBERS)})
    SELECT {PLACE}, 'whole', '', min(name), {", ".join(f"sum({name})" for name in NUMBERS)}
    FROM ({rows}) AS days GROUP BY {PLACE}
    ON CONFLICT (workspace_id, kind, tag, agent, span, start, origin, key)
    DO UPDATE SET {", ".join(f"{name} = o.{name} + excluded.{name}" for name in NUMBERS)};"""


def _days(table: str, sign: str = "") -> str:
    numbers = ", ".join(f"{sign}{name} AS {name}" for name in NUMBERS)
    return f"SELECT {PLACE}, name, {numbers} FROM {table} WHERE {IS_DAY}"


def _function(name: str, rows: str) -> str:
    # A statement that writes no day fires the trigger, too: without the question it would call itself for ever.
    return f"""
CREATE FUNCTION countersign_usage_whole_{name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM is_now WHERE {IS_DAY}) THEN RETURN NULL; END IF;{_whole(rows)}
    RETURN NULL;
END $$;
"""


# Nobody takes changes in while the days that there are are added up; usage is read meanwhile.
FORWARD = (
    "SELECT pg_advisory_xact_lock(hashtext('usage totals'), 0);\n"
    + _function("added", _days("is_now"))
    + _function("changed", f"{_days('is_now')} UNION ALL {_days('was', '-')}")
    + """
CREATE TRIGGER whole_added AFTER INSERT ON sessions_app_usagetotal
    REFERENCING NEW TABLE AS is_now FOR EACH STATEMENT EXECUTE FUNCTION countersign_usage_whole_added();
CREATE TRIGGER whole_changed AFTER UPDATE ON sessions_app_usagetotal
    REFERENCING OLD TABLE AS was NEW TABLE AS is_now
    FOR EACH STATEMENT EXECUTE FUNCTION countersign_usage_whole_changed();
"""
    + _whole(_days("sessions_app_usagetotal"))
)
BACKWARD = """
DROP TRIGGER whole_added ON sessions_app_usagetotal;
DROP TRIGGER whole_changed ON sessions_app_usagetotal;
DROP FUNCTION countersign_usage_whole_added();
DROP FUNCTION countersign_usage_whole_changed();
DELETE FROM sessions_app_usagetotal WHERE span = 'whole';
"""

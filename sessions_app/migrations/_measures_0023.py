"""SQL of the table of session measures: who keeps it, what is in it at first, and when its rows go."""

from __future__ import annotations

COLUMNS = "session_id, workspace_id, cost, tokens, turns, errors, last_day, is_bad"
TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
READ = ("workspace_id", "cost_recorded", "cost_priced", *TOKENS, "turn_count", "error_count", "phase")
"""Columns of a session that its measures are made of, and its two times, of which only the day counts."""


def measures(row: str) -> str:
    """What stands in ``COLUMNS`` for a row of the table of sessions."""
    return f"""{row}.id, {row}.workspace_id, coalesce({row}.cost_recorded, 0) + coalesce({row}.cost_priced, 0),
        {" + ".join(f"coalesce({row}.{name}, 0)" for name in TOKENS)}, {row}.turn_count, {row}.error_count,
        {day(row)}, {row}.error_count > 0 OR {row}.phase IN ('crashed', 'timed_out')"""


def day(row: str) -> str:
    return f"(greatest({row}.started_at, {row}.ended_at) AT TIME ZONE 'UTC')::date"


CHANGED = " OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in READ)

FORWARD = f"""
ALTER TABLE sessions_app_sessionmeasures ADD CONSTRAINT sessions_app_measures_of_session
    FOREIGN KEY (session_id) REFERENCES sessions_app_session (id) ON DELETE CASCADE;
CREATE FUNCTION countersign_measure_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO sessions_app_sessionmeasures ({COLUMNS}) VALUES ({measures("NEW")});
    ELSE
        UPDATE sessions_app_sessionmeasures SET ({COLUMNS}) = ROW({measures("NEW")}) WHERE session_id = OLD.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER measured_at_first AFTER INSERT ON sessions_app_session
    FOR EACH ROW EXECUTE FUNCTION countersign_measure_session();
CREATE TRIGGER measured AFTER UPDATE ON sessions_app_session
    FOR EACH ROW WHEN ({CHANGED} OR {day("OLD")} IS DISTINCT FROM {day("NEW")})
    EXECUTE FUNCTION countersign_measure_session();
INSERT INTO sessions_app_sessionmeasures ({COLUMNS}) SELECT {measures("s")} FROM sessions_app_session s;
ALTER TABLE sessions_app_session SET (fillfactor = 85);
"""
BACKWARD = """
ALTER TABLE sessions_app_session RESET (fillfactor);
DROP TRIGGER measured ON sessions_app_session;
DROP TRIGGER measured_at_first ON sessions_app_session;
DROP FUNCTION countersign_measure_session();
ALTER TABLE sessions_app_sessionmeasures DROP CONSTRAINT sessions_app_measures_of_session;
"""

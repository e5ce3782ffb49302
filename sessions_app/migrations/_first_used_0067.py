"""SQL of the day on which a session used something first, beside what it used ever: who keeps it, and what it is."""

from __future__ import annotations

FIRST = """(SELECT min(u.day) FROM sessions_app_sessionusage u
                WHERE u.session_id = {session} AND u.kind = 'turn' AND u.origin <> '')"""
# A row of another day comes or goes once in a session's day: what is used on a day that is there fires nothing.
FORWARD = f"""
CREATE FUNCTION countersign_first_used() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed uuid := CASE TG_OP WHEN 'DELETE' THEN OLD.session_id ELSE NEW.session_id END;
BEGIN
    UPDATE sessions_app_sessionmeasures m SET first_used = f.day FROM (SELECT {FIRST.format(session="changed")}) f (day)
    WHERE m.session_id = changed AND m.first_used IS DISTINCT FROM f.day;
    RETURN NULL;
END $$;
CREATE TRIGGER first_used_added AFTER INSERT ON sessions_app_sessionusage
    FOR EACH ROW WHEN (NEW.kind = 'turn' AND NEW.first_day = NEW.day) EXECUTE FUNCTION countersign_first_used();
CREATE TRIGGER first_used_changed AFTER UPDATE ON sessions_app_sessionusage
    FOR EACH ROW WHEN (NEW.kind = 'turn' AND (OLD.first_day, OLD.origin) IS DISTINCT FROM (NEW.first_day, NEW.origin))
    EXECUTE FUNCTION countersign_first_used();
CREATE TRIGGER first_used_deleted AFTER DELETE ON sessions_app_sessionusage
    FOR EACH ROW WHEN (OLD.kind = 'turn' AND OLD.first_day = OLD.day) EXECUTE FUNCTION countersign_first_used();
"""
BACKWARD = """
DROP TRIGGER first_used_added ON sessions_app_sessionusage;
DROP TRIGGER first_used_changed ON sessions_app_sessionusage;
DROP TRIGGER first_used_deleted ON sessions_app_sessionusage;
DROP FUNCTION countersign_first_used();
"""
FILL = f"""
WITH batch AS (
    SELECT session_id FROM sessions_app_sessionmeasures WHERE session_id > %s ORDER BY session_id LIMIT %s
    FOR NO KEY UPDATE
), written AS (
    UPDATE sessions_app_sessionmeasures m SET first_used = {FIRST.format(session="m.session_id")}
    WHERE m.first_used IS NULL AND m.session_id IN (SELECT * FROM batch)
)
SELECT max(session_id::text) FROM batch
"""

"""SQL of erasure of whole months: the part of their events goes, in place of each row (docs/partitions.md).

The caller, which may not delete events, can have those of a session that it erases left where they are: nobody can read
them by a session any more, and the part is dropped once no session of its month is left. The function that drops it
believes nobody either: each log in it has to have the true tombstone that ``countersign_erase_session`` asked for.
"""

from __future__ import annotations

from . import _erasure_0020

DELETE_EVENTS = "DELETE FROM sessions_app_event WHERE session_id = erased;"
LEAVE_EVENTS = f"""IF coalesce(current_setting('countersign.leave_events', true), '') <> 'on' THEN
        {DELETE_EVENTS}
    END IF;"""
IS_ERASURE = """current_setting('countersign.erase', true) = 'on'
            AND pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE')"""
SESSION_HAS_EVENTS = "EXISTS (SELECT FROM sessions_app_event WHERE session_id = OLD.id)"

KEEP_LOG = """
CREATE OR REPLACE FUNCTION countersign_keep_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF {condition} THEN
        RAISE EXCEPTION 'session % has events', OLD.id USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION countersign_keep_log() SET search_path = pg_catalog, %I, pg_temp', current_schema());
END $$;
"""

# Autovacuum makes room for who waits for longer than a second (deadlock_timeout).
CLEAR = """
CREATE FUNCTION countersign_clear_event_month(part text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '1500ms' SET countersign.erase = 'on' AS $$
DECLARE
    lowest uuid;
    beyond uuid;
    stray uuid;
    place name := (SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'sessions_app_event'::regclass);
BEGIN
    SELECT coalesce(p.first_id, '00000000-0000-0000-0000-000000000000'), p.end_id INTO lowest, beyond
        FROM countersign_event_parts() p
        WHERE p.name = part AND p.end_id <= countersign_first_id(countersign_month(0));
    IF NOT FOUND THEN
        RAISE EXCEPTION '% is no part of the events whose months are over', part USING ERRCODE = 'no_data_found';
    END IF;
    SELECT e.session_id INTO stray
    FROM (SELECT session_id, count(*) AS events, max(seq) AS last_seq FROM sessions_app_event
          WHERE session_id >= lowest AND session_id < beyond GROUP BY 1) e
    WHERE NOT EXISTS (SELECT FROM sessions_app_session s WHERE s.id = e.session_id)
      AND NOT EXISTS (SELECT FROM sessions_app_tombstone t
                      WHERE t.kind = 'session' AND t.subject_id = e.session_id AND t.last_seq = e.last_seq
                        AND (t.counts ->> 'events')::bigint = e.events)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'session % has events in % and neither a row nor a true tombstone', stray, part
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF EXISTS (SELECT FROM sessions_app_session WHERE id >= lowest AND id < beyond) THEN
        DELETE FROM sessions_app_event e USING sessions_app_tombstone t
        WHERE t.kind = 'session' AND t.subject_id >= lowest AND t.subject_id < beyond AND e.session_id = t.subject_id
          AND e.session_id >= lowest AND e.session_id < beyond
          AND NOT EXISTS (SELECT FROM sessions_app_session s WHERE s.id = t.subject_id);
        RETURN 'deleted';
    END IF;
    EXECUTE format('ALTER TABLE sessions_app_event DETACH PARTITION %I.%I', place, part);
    EXECUTE format('DROP TABLE %I.%I', place, part);
    IF EXISTS (SELECT FROM sessions_app_session WHERE id >= lowest AND id < beyond) THEN
        RAISE EXCEPTION 'a session of % was made meanwhile', part USING ERRCODE = 'lock_not_available';
    END IF;
    RETURN 'dropped';
END $$;
REVOKE ALL ON FUNCTION countersign_clear_event_month(text) FROM PUBLIC;
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION countersign_clear_event_month(text) SET search_path = pg_catalog, %I, pg_temp',
                   current_schema());
END $$;
"""

FORWARD = (
    _erasure_0020.FORWARD.replace(DELETE_EVENTS, LEAVE_EVENTS)
    + KEEP_LOG.format(condition=f"{SESSION_HAS_EVENTS}\n        AND NOT ({IS_ERASURE})")
    + CLEAR
)
BACKWARD = (
    "DROP FUNCTION countersign_clear_event_month(text);"
    + _erasure_0020.FORWARD
    + KEEP_LOG.format(condition=SESSION_HAS_EVENTS)
)

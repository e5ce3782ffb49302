"""SQL that makes a table of events in parts, by the month in which their session was made here (docs/partitions.md).

Ids of sessions are UUIDv7, whose first 48 bits are milliseconds, so a month is a range of ids. The table that is there
becomes the first part as it stands: nothing is copied, and nothing is read while others wait.
"""

from __future__ import annotations

import time
from typing import Any

from django.db import OperationalError
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import RunSQL

TRIES, PAUSE_SECONDS = 600, 2.0
NOT_GIVEN = frozenset({"40P01", "55P03"})
"""SQLSTATE of a deadlock, and of a lock that was not given in time."""
LOCK_TIMEOUT, LONGER = "500ms", "1500ms"
"""So long a statement waits for a lock, and who comes after it waits behind it. Autovacuum makes room for who waits for
longer than ``deadlock_timeout``, a second."""


class RunPatiently(RunSQL):
    """One statement that needs a table for itself: it waits half a second for that, every fifth time 1.5, and tries
    again 2 s later, so that an import of minutes is not waited for by everybody else. Gives up after 20 minutes."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.in_atomic_block:  # first_tables: nobody else is there
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        assert isinstance(self.sql, str)
        for tried in range(TRIES):
            wait = LONGER if tried % 5 == 4 else LOCK_TIMEOUT
            try:
                schema_editor.execute(self.sql.replace(LOCK_TIMEOUT, wait), params=None)
                return
            except OperationalError as error:
                if tried == TRIES - 1 or getattr(error.__cause__, "sqlstate", None) not in NOT_GIVEN:
                    raise
                time.sleep(PAUSE_SECONDS)


# Months are those of UTC, as timestamps without a zone: adding months to one with a zone depends on the client's.
FUNCTIONS = """
CREATE OR REPLACE FUNCTION countersign_first_id(moment timestamp) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
    SELECT (lpad(to_hex(floor(extract(epoch FROM moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

CREATE OR REPLACE FUNCTION countersign_month(ahead integer) RETURNS timestamp
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => ahead)
$$;

CREATE OR REPLACE FUNCTION countersign_event_parts() RETURNS TABLE (name text, first_id uuid, end_id uuid)
LANGUAGE sql STABLE AS $$
    SELECT c.relname::text, (regexp_match(b.bound, 'FROM \\(''([0-9a-f-]+)''\\)'))[1]::uuid,
           (regexp_match(b.bound, 'TO \\(''([0-9a-f-]+)''\\)'))[1]::uuid
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid)) AS b (bound)
    WHERE i.inhparent = 'sessions_app_event'::regclass
$$;

CREATE OR REPLACE FUNCTION countersign_make_event_months() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '{timeout}' AS $$
DECLARE
    place name := (SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'sessions_app_event'::regclass);
    part name;
    made integer := 0;
    first uuid;
    until uuid;
    given record;
BEGIN
    FOR ahead IN 0..2 LOOP
        first := countersign_first_id(countersign_month(ahead));
        until := countersign_first_id(countersign_month(ahead + 1));
        CONTINUE WHEN EXISTS (SELECT FROM countersign_event_parts() p
                              WHERE p.end_id > first AND (p.first_id IS NULL OR p.first_id <= first));
        LOCK TABLE ONLY sessions_app_event IN SHARE UPDATE EXCLUSIVE MODE;  -- one at a time
        part := 'sessions_app_event_' || to_char(countersign_month(ahead), 'YYYY_MM');
        -- Made meanwhile, or too late: what stands in the default part stays there.
        CONTINUE WHEN to_regclass(format('%I.%I', place, part)) IS NOT NULL
            OR EXISTS (SELECT FROM sessions_app_event_default WHERE session_id >= first AND session_id < until);
        EXECUTE format('CREATE TABLE %I.%I (LIKE sessions_app_event INCLUDING DEFAULTS INCLUDING STORAGE)',
                       place, part);
        EXECUTE format('CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON %I.%I FOR EACH STATEMENT'
                       ' EXECUTE FUNCTION countersign_append_only(''events'')', place, part);
        FOR given IN SELECT a.grantee::regrole AS role FROM pg_class c, aclexplode(c.relacl) a
            WHERE c.oid = 'sessions_app_event'::regclass AND a.privilege_type = 'MAINTAIN'
              AND a.grantee NOT IN (c.relowner, 0)
        LOOP
            EXECUTE format('GRANT MAINTAIN ON %I.%I TO %s', place, part, given.role);
        END LOOP;
        EXECUTE format('ALTER TABLE sessions_app_event ATTACH PARTITION %I.%I FOR VALUES FROM (%L) TO (%L)',
                       place, part, first, until);
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION countersign_make_event_months() FROM PUBLIC;
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION countersign_event_parts() SET search_path = pg_catalog, %I, pg_temp',
                   current_schema());
    EXECUTE format('ALTER FUNCTION countersign_make_event_months() SET search_path = pg_catalog, %I, pg_temp',
                   current_schema());
END $$;
""".replace("{timeout}", LOCK_TIMEOUT)

# In place of the foreign key, which PostgreSQL looked up for each event that was written, and for which each new month
# would have to lock the sessions: nobody but erasure deletes a session that has events, or gives it another id.
KEEP_LOGS = f"""
DO $do$
BEGIN
    SET LOCAL lock_timeout = '{LOCK_TIMEOUT}';
    CREATE OR REPLACE FUNCTION countersign_keep_log() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT FROM sessions_app_event WHERE session_id = OLD.id) THEN
            RAISE EXCEPTION 'session % has events', OLD.id USING ERRCODE = 'foreign_key_violation';
        END IF;
        RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END $$;
    EXECUTE format('ALTER FUNCTION countersign_keep_log() SET search_path = pg_catalog, %I, pg_temp',
                   current_schema());
    CREATE OR REPLACE TRIGGER keep_log BEFORE DELETE OR UPDATE OF id ON sessions_app_session
        FOR EACH ROW EXECUTE FUNCTION countersign_keep_log();
END $do$
"""

IS_WHOLE = "(SELECT relkind = 'r' FROM pg_class WHERE oid = 'sessions_app_event'::regclass)"
# NOT VALID: rows that are there are looked at by the next statement, beside which everybody reads and writes. A killed
# migration begins here again, perhaps in another month.
LIMIT = f"""
DO $$
BEGIN
    SET LOCAL lock_timeout = '{LOCK_TIMEOUT}';
    IF {IS_WHOLE} THEN
        ALTER TABLE sessions_app_event DROP CONSTRAINT IF EXISTS event_first_part;
        EXECUTE format('ALTER TABLE sessions_app_event ADD CONSTRAINT event_first_part CHECK (session_id < %L)'
                       ' NOT VALID', countersign_first_id(countersign_month(2)));
    END IF;
END $$
"""
VALIDATE = f"""
DO $$
BEGIN
    IF {IS_WHOLE} THEN
        ALTER TABLE sessions_app_event VALIDATE CONSTRAINT event_first_part;
    END IF;
END $$
"""
# Sessions first, as all who write lock them. The catalogue alone is written: the CHECK says that each row fits, and
# indexes that are alike become those of the first part.
SWAP = f"""
DO $$
DECLARE
    definitions text[] := '{{}}';
    found record;
    until uuid;
BEGIN
    SET LOCAL lock_timeout = '{LOCK_TIMEOUT}';
    IF NOT {IS_WHOLE} THEN
        RETURN;  -- killed after it was done and before that was written down
    END IF;
    LOCK TABLE sessions_app_session, sessions_app_event IN ACCESS EXCLUSIVE MODE;
    SELECT substring(pg_get_constraintdef(oid) FROM '[0-9a-f]{{8}}-[0-9a-f-]{{27}}')::uuid INTO until
        FROM pg_constraint WHERE conrelid = 'sessions_app_event'::regclass AND conname = 'event_first_part';
    FOR found IN SELECT conname FROM pg_constraint
        WHERE conrelid = 'sessions_app_event'::regclass AND contype = 'f'
    LOOP
        EXECUTE format('ALTER TABLE sessions_app_event DROP CONSTRAINT %I', found.conname);
    END LOOP;
    FOR found IN
        SELECT c.relname AS name, coalesce(
            'ALTER TABLE sessions_app_event ADD CONSTRAINT ' || quote_ident(k.conname) || ' '
                || pg_get_constraintdef(k.oid), pg_get_indexdef(i.indexrelid)) AS definition
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u')
        WHERE i.indrelid = 'sessions_app_event'::regclass AND i.indisvalid ORDER BY 1
    LOOP
        definitions := definitions || found.definition;
        EXECUTE format('ALTER INDEX %I RENAME TO %I', found.name, 'first_' || found.name);
    END LOOP;
    DROP TRIGGER append_only ON sessions_app_event;
    ALTER TABLE sessions_app_event RENAME TO sessions_app_event_first;

    CREATE TABLE sessions_app_event (LIKE sessions_app_event_first INCLUDING DEFAULTS INCLUDING STORAGE)
        PARTITION BY RANGE (session_id);
    FOR found IN SELECT a.grantee::regrole AS role, a.privilege_type AS privilege
        FROM pg_class c, aclexplode(c.relacl) a
        WHERE c.oid = 'sessions_app_event_first'::regclass AND a.grantee NOT IN (c.relowner, 0)
    LOOP
        EXECUTE format('GRANT %s ON sessions_app_event TO %s', found.privilege, found.role);
        IF found.privilege <> 'MAINTAIN' THEN
            EXECUTE format('REVOKE %s ON sessions_app_event_first FROM %s', found.privilege, found.role);
        END IF;
    END LOOP;
    FOR n IN 1 .. cardinality(definitions) LOOP
        EXECUTE definitions[n];
    END LOOP;
    CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON sessions_app_event
        FOR EACH ROW EXECUTE FUNCTION countersign_append_only('events');
    CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON sessions_app_event
        FOR EACH STATEMENT EXECUTE FUNCTION countersign_append_only('events');
    EXECUTE format('ALTER TABLE sessions_app_event ATTACH PARTITION sessions_app_event_first'
                   ' FOR VALUES FROM (MINVALUE) TO (%L)', until);
    ALTER TABLE sessions_app_event_first DROP CONSTRAINT event_first_part;
    CREATE TABLE sessions_app_event_default PARTITION OF sessions_app_event DEFAULT;
    CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON sessions_app_event_default
        FOR EACH STATEMENT EXECUTE FUNCTION countersign_append_only('events');
END $$
"""
# Autovacuum takes statistics of the parts, never of the whole, by which joins are planned.
MAKE = "DO $$ BEGIN PERFORM countersign_make_event_months(); END $$"
ANALYZE = "ANALYZE ONLY sessions_app_event"

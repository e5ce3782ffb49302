"""SQL of search in the order of the session list: what says when the session of a row began, and the walk by it.

Time is cut into pieces of ``UNIT`` seconds, eight of them into one of the next level, and so on for ``LEVELS``. A row
names the piece of each level in which its session began, so any stretch of time is a few names: the walk asks the
index for the words and for one stretch after the other, and reads no row of another time.
"""

from __future__ import annotations

UNIT = 4_096
"""Seconds: 68 minutes. The levels are 9 hours, 3 days, 24 days and half a year."""
LEVELS = 5
NEVER = "'0001-01-02 00:00:00+00'::timestamptz"
BEGAN = f"coalesce(s.started_at, {NEVER})"
"""As in the index ``session_by_started``."""

COLUMN = "ALTER TABLE sessions_app_searchblock ADD COLUMN IF NOT EXISTS spans integer[]"
NO_COLUMN = "ALTER TABLE sessions_app_searchblock DROP COLUMN spans"

NAMES = ", ".join(f"((n >> {3 * level}) << 3) | {level}" for level in range(LEVELS))
PLACED = f"""
CREATE OR REPLACE FUNCTION countersign_unit(began timestamptz) RETURNS integer LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT floor(extract(epoch FROM coalesce(began, {NEVER})) / {UNIT})::integer
$$;
CREATE OR REPLACE FUNCTION countersign_spans(began timestamptz) RETURNS integer[]
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT ARRAY[{NAMES}] FROM countersign_unit(began) n
$$;
CREATE OR REPLACE FUNCTION countersign_place_search_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz;
BEGIN
    IF NEW.first_seq = 0 THEN -- a title is written without a lock of its session, whose time may change meanwhile
        SELECT started_at INTO began FROM sessions_app_session WHERE id = NEW.session_id FOR SHARE;
    ELSE
        SELECT started_at INTO began FROM sessions_app_session WHERE id = NEW.session_id;
    END IF;
    NEW.spans := countersign_spans(began);
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER placed BEFORE INSERT ON sessions_app_searchblock
    FOR EACH ROW EXECUTE FUNCTION countersign_place_search_row();
CREATE OR REPLACE FUNCTION countersign_move_search_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sessions_app_searchblock SET spans = countersign_spans(NEW.started_at) WHERE session_id = NEW.id;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER moves_search_rows AFTER UPDATE ON sessions_app_session
    FOR EACH ROW WHEN (OLD.started_at IS DISTINCT FROM NEW.started_at)
    EXECUTE FUNCTION countersign_move_search_rows();
"""
# The planner does not count what lies beside the table (TOAST), see countersign_search_rows: no scan of the table, and
# none of another index.
ONLY_GIN = "SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off"
WALK = f"""
CREATE OR REPLACE FUNCTION countersign_search_pieces(
    wanted tsquery, pieces integer[], OUT sessions uuid[], OUT n integer
) LANGUAGE sql STABLE {ONLY_GIN} AS $$
    SELECT coalesce(array_agg(DISTINCT b.session_id), '{{}}'), count(*)::integer
    FROM sessions_app_searchblock b WHERE b.words @@ wanted AND b.spans && pieces
$$;
ALTER FUNCTION countersign_search_rows(tsquery, bigint) {ONLY_GIN};
CREATE OR REPLACE FUNCTION countersign_search_walk(
    wanted tsquery, workspace uuid, before timestamptz, most integer, most_rows integer,
    OUT sessions uuid[], OUT reached timestamptz, OUT found_rows integer
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    began timestamptz;
    here uuid[];
    rows integer;
    width integer := 1;
    level integer;
    last integer;
    first integer;
BEGIN
    sessions := '{{}}';
    found_rows := 0;
    reached := coalesce(before, 'infinity');
    LOOP
        -- Where nothing began, nothing is looked for.
        SELECT {BEGAN} INTO began FROM sessions_app_session s
            WHERE s.workspace_id = workspace AND {BEGAN} < reached ORDER BY {BEGAN} DESC LIMIT 1;
        IF began IS NULL THEN
            reached := NULL;
            RETURN;
        END IF;
        level := least({LEVELS - 1}, floor(log(8, width))::integer);
        last := countersign_unit(began) >> (3 * level);
        first := last - least(8, width >> (3 * level)) + 1;
        SELECT p.sessions, p.n INTO here, rows FROM countersign_search_pieces(
            wanted, (SELECT array_agg((piece << 3) | level) FROM generate_series(first, last) piece)) p;
        sessions := sessions || here;
        found_rows := found_rows + rows;
        reached := to_timestamp((first << (3 * level))::float8 * {UNIT});
        IF reached < '0001-01-01 00:00:00+00' THEN
            reached := NULL; -- the piece of those that have not begun
            RETURN;
        END IF;
        IF cardinality(sessions) >= most OR found_rows >= most_rows THEN
            RETURN;
        END IF;
        -- As far as the rest should be found, and at most four times as far as before.
        width := least(4.0 * width, {8**LEVELS}, greatest(1, ceil(width * least(
            (most - cardinality(sessions))::numeric / greatest(cardinality(here), 0.25),
            (most_rows - found_rows)::numeric / greatest(rows, 0.25)))))::integer;
    END LOOP;
END $$;
"""
FORWARD = PLACED + WALK
BACKWARD = """
DROP FUNCTION countersign_search_walk(tsquery, uuid, timestamptz, integer, integer);
DROP FUNCTION countersign_search_pieces(tsquery, integer[]);
ALTER FUNCTION countersign_search_rows(tsquery, bigint) RESET enable_indexscan RESET enable_indexonlyscan;
DROP TRIGGER moves_search_rows ON sessions_app_session;
DROP FUNCTION countersign_move_search_rows();
DROP TRIGGER placed ON sessions_app_searchblock;
DROP FUNCTION countersign_place_search_row();
DROP FUNCTION countersign_spans(timestamptz);
DROP FUNCTION countersign_unit(timestamptz);
"""

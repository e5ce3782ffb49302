"""SQL of kept totals: functions and triggers that add up what turns use, in the transaction that changes a turn.

A statement that writes turns leaves what differs from before in ``SessionUsage``, and what differs there in
``UsageChange``. Rows of the first belong to one session, whose writers hold its lock; rows of the second are only ever
added. So nobody waits for anybody over a total. ``services.money.totals`` takes changes into ``UsageTotal``.
"""

from __future__ import annotations

TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
UNSURE = (*TOKENS, "runtime_ms", "data")
"""Sums that may be unknown: beside each stands how many of its parts were known."""
OF_A_PART = ("rows", "recorded", "recorded_known", "priced", "priced_known", "unpriced", "under_reported")
MEASURES = (
    "turns", "calls", *(name for one in UNSURE for name in (one, f"{one}_known")),
    *(f"{part}_{name}" for part in ("here", "elsewhere") for name in OF_A_PART),
)  # fmt: skip
BIGINTS = {name for name in MEASURES if name.endswith(("_known", "_rows"))} | {"turns", "calls"}
NAMES = ", ".join(MEASURES)
ZEROS = ", ".join("0" for _ in MEASURES)
NO_NAME = "00000000-0000-0000-0000-000000000000"
ROWS = "here_rows + elsewhere_rows + data_known"


def _columns(**known: str) -> str:
    """All measures in order, those that are not ``known`` as zero."""
    return ",\n           ".join(
        f"{known.get(name, '0')}::{'bigint' if name in BIGINTS else 'numeric'}" for name in MEASURES
    )


def _unsure(**values: str) -> dict[str, str]:
    """Measures of sums that may be unknown, where their values may be NULL."""
    return {
        column: text
        for name, value in values.items()
        for column, text in ((name, f"coalesce({value}, 0)"), (f"{name}_known", f"num_nonnulls({value})"))
    }


def _part(part: str, where: str, recorded: str, priced: str, unpriced: str, under_reported: str) -> dict[str, str]:
    """Measures of the turns that ran here, or of those that did not."""
    found = {"rows": "1", "unpriced": f"coalesce({unpriced}, 0)", "under_reported": f"coalesce({under_reported}, 0)"}
    found |= _unsure(recorded=recorded, priced=priced)
    return {f"{part}_{name}": f"CASE WHEN {where} THEN {value} ELSE 0 END" for name, value in found.items()}


OF_TURN = "CASE WHEN e ->> 0 = 'turn' THEN of_runtime_ms END"
MONEY = ("(e ->> 9)::numeric", "(e ->> 10)::numeric", "(e ->> 11)::numeric", "(e ->> 12)::numeric")
OF_ERASED = (
    "CASE WHEN u.price_source = 'runtime' THEN u.cost END", "CASE WHEN u.price_source <> 'runtime' THEN u.cost END",
    "u.unpriced_tokens", "0",
)  # fmt: skip
RETURNED = "kind text, name text, " + ", ".join(
    f"{name} {'bigint' if name in BIGINTS else 'numeric'}" for name in MEASURES
)
FUNCTIONS = f"""
CREATE FUNCTION countersign_usage_key(text) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(left(encode(sha256(convert_to($1, 'UTF8')), 'hex'), 32), '{NO_NAME}')::uuid
$$;

CREATE FUNCTION countersign_turn_usage(
    of_here boolean, of_runtime_ms bigint, of_shares jsonb, of_bought jsonb) RETURNS TABLE ({RETURNED})
LANGUAGE sql IMMUTABLE ROWS 5 AS $$
    SELECT e ->> 0, e ->> 1,
           {
    _columns(
        turns="(e ->> 2)",
        calls="coalesce((e ->> 3)::bigint, 0)",
        **_unsure(**{name: f"(e ->> {4 + n})::numeric" for n, name in enumerate(TOKENS)}, runtime_ms=OF_TURN),
        **_part("here", "of_here", *MONEY),
        **_part("elsewhere", "NOT of_here", *MONEY),
    )
}
    FROM jsonb_array_elements(of_shares) e
    UNION ALL
    SELECT e ->> 0, e ->> 1,
           {
    _columns(
        turns="CASE WHEN NOT EXISTS (SELECT FROM jsonb_array_elements(of_shares) o"
        " WHERE o -> 0 = e -> 0 AND o -> 1 = e -> 1) THEN (e ->> 2)::bigint ELSE 0 END",
        data="(e ->> 3)",
        data_known="(e ->> 4)",
    )
}
    FROM jsonb_array_elements(of_bought) e
$$;

CREATE FUNCTION countersign_erased_usage(erased uuid)
RETURNS TABLE (workspace_id uuid, agent text, at timestamptz, {RETURNED}) LANGUAGE sql STABLE AS $$
    SELECT u.workspace_id, coalesce(u.agent_id::text, 'none'), u.at, k.kind, NULL::text,
           {
    _columns(
        turns="CASE WHEN u.turn > 0 THEN 1 ELSE 0 END",
        **_unsure(**{name: f"u.{name}" for name in TOKENS}, runtime_ms="CASE k.kind WHEN 'turn' THEN u.runtime_ms END"),
        **_part("here", "true", *OF_ERASED),
    )
}
    FROM sessions_app_turnusage u CROSS JOIN (VALUES ('turn'), ('model'), ('tool')) AS k (kind)
    WHERE u.session_id = erased
    UNION ALL
    SELECT u.workspace_id, coalesce(u.agent_id::text, 'none'), u.at, k.kind, CASE k.kind WHEN 'tool' THEN u.tool END,
           {_columns(data="u.cost", data_known="1")}
    FROM sessions_app_callusage u CROSS JOIN (VALUES ('turn'), ('model'), ('tool')) AS k (kind)
    WHERE u.session_id = erased AND u.status = 'ok' AND u.cost IS NOT NULL
$$;

CREATE FUNCTION countersign_bought(of_session uuid, of_turn integer) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_agg(jsonb_build_array(kind, name, CASE WHEN of_turn > 0 THEN 1 ELSE 0 END, cost, calls)
                     ORDER BY kind, name)
    FROM (SELECT k.kind, k.name, sum(u.cost) AS cost, count(*) AS calls
          FROM sessions_app_toolcall c
          JOIN sessions_app_callusage u ON u.session_id = c.session_id AND u.seq = c.seq
               AND u.status = 'ok' AND u.cost IS NOT NULL
          LEFT JOIN sessions_app_event e ON e.session_id = c.session_id AND e.seq = c.seq
          LEFT JOIN sessions_app_modelrequest r ON r.session_id = c.session_id AND r.key = e.request
          CROSS JOIN LATERAL (VALUES ('turn', NULL), ('model', r.model), ('tool', c.name)) AS k (kind, name)
          WHERE c.session_id = of_session AND c.turn = of_turn
          GROUP BY k.kind, k.name) AS named
$$;

CREATE FUNCTION countersign_is_planted(uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM sessions_app_approval p WHERE p.session_id = $1 AND p.planted)
$$;
"""

OF_TURNS = """SELECT t.session_id, (t.began_at AT TIME ZONE 'UTC')::date AS day, u.kind, u.name, {sums}
        FROM {turns} t CROSS JOIN LATERAL countersign_turn_usage(t.here, t.runtime_ms, t.shares, t.bought) u
        WHERE t.began_at IS NOT NULL GROUP BY 1, 2, 3, 4"""
ADDED = OF_TURNS.format(turns="is_now", sums=", ".join(f"sum(u.{name}) AS {name}" for name in MEASURES))
TAKEN = OF_TURNS.format(turns="was", sums=", ".join(f"-sum(u.{name}) AS {name}" for name in MEASURES))
DIFFERS = f"({NAMES}) <> ({ZEROS})"
SUMS = ", ".join(f"sum({name}) AS {name}" for name in MEASURES)
USED_BY = "session_id, kind, key"


# Looked up one by one: joined, PostgreSQL reads all sessions for the one (6 ms of 10,000).
OF_SESSION = """
            SELECT workspace_id, agent_id, origin, tags FROM sessions_app_session
            WHERE id = d.session_id AND NOT countersign_is_planted(id) LIMIT 1"""


def _upsert(differences: str) -> str:
    """Add ``differences`` (session, day, kind, name, measures) to session usages, and keep first days and no zeros."""
    return f"""
    WITH differences AS (
        SELECT session_id, day, kind, name, countersign_usage_key(name) AS key, {NAMES}
        FROM (SELECT session_id, day, kind, name, {SUMS}
              FROM ({differences}) AS both_ways GROUP BY 1, 2, 3, 4) AS summed
        WHERE {DIFFERS}
    ), written AS (
        INSERT INTO sessions_app_sessionusage AS o
            (session_id, day, kind, key, name, first_day, workspace_id, agent, origin, tags, {NAMES})
        SELECT d.session_id, d.day, d.kind, d.key, d.name,
               least(min(d.day) OVER (PARTITION BY d.session_id, d.kind, d.key),
                     (SELECT min(o.day) FROM sessions_app_sessionusage o
                      WHERE o.session_id = d.session_id AND o.kind = d.kind AND o.key = d.key)),
               s.workspace_id, s.agent_id::text, s.origin, s.tags, {", ".join(f"d.{name}" for name in MEASURES)}
        FROM differences d CROSS JOIN LATERAL ({OF_SESSION}) AS s
        ON CONFLICT (session_id, kind, key, day) DO UPDATE
        SET {", ".join(f"{name} = o.{name} + excluded.{name}" for name in MEASURES)}
        RETURNING o.session_id, o.kind, o.key, o.xmax = 0 AS is_new, {ROWS} = 0 AS is_empty
    )
    SELECT array_agg(session_id), array_agg(kind), array_agg(key), bool_or(is_empty)
    INTO sessions, kinds, keys, some_are_empty FROM written WHERE is_new OR is_empty;
    IF some_are_empty THEN
        DELETE FROM sessions_app_sessionusage o
        USING (SELECT DISTINCT * FROM unnest(sessions, kinds, keys) AS c ({USED_BY})) AS c
        WHERE ({_of("o")}) = ({_of("c")}) AND {ROWS} = 0;
    END IF;
    IF sessions IS NOT NULL THEN
        UPDATE sessions_app_sessionusage o SET first_day = f.day
        FROM (SELECT {_of("c")}, (SELECT min(i.day) FROM sessions_app_sessionusage i
                                  WHERE ({_of("i")}) = ({_of("c")})) AS day
              FROM (SELECT DISTINCT * FROM unnest(sessions, kinds, keys) AS c ({USED_BY})) AS c) AS f
        WHERE ({_of("o")}) = ({_of("f")}) AND o.first_day <> f.day;
    END IF;
    """


def _of(row: str) -> str:
    return ", ".join(f"{row}.{name}" for name in USED_BY.split(", "))


DECLARED = "DECLARE\n    sessions uuid[]; kinds text[]; keys uuid[]; some_are_empty boolean;"
WATCHED = ("began_at", "here", "runtime_ms", "shares", "bought")


def _trigger(name: str, body: str, declared: str = "") -> str:
    return f"""
CREATE FUNCTION countersign_{name}() RETURNS trigger LANGUAGE plpgsql AS $$
{declared}
BEGIN
    {body}
    RETURN NULL;
END $$;
"""


def _differ(columns: tuple[str, ...], old: str, new: str) -> str:
    return " IS DISTINCT FROM ".join(f"({', '.join(f'{row}.{name}' for name in columns)})" for row in (old, new))


NOT_ONE_DIFFERS = f"""IF NOT EXISTS (SELECT FROM was JOIN is_now USING (session_id, index)
                   WHERE {_differ(WATCHED, "was", "is_now")}) THEN
        RETURN NULL;
    END IF;"""
OF_TURN_ROWS = (
    _trigger("turns_added", _upsert(ADDED), DECLARED)
    + _trigger("turns_changed", NOT_ONE_DIFFERS + _upsert(f"{ADDED} UNION ALL {TAKEN}"), DECLARED)
    + _trigger("turns_deleted", _upsert(TAKEN), DECLARED)
    + """
CREATE TRIGGER usage_added AFTER INSERT ON sessions_app_turn
    REFERENCING NEW TABLE AS is_now FOR EACH STATEMENT EXECUTE FUNCTION countersign_turns_added();
CREATE TRIGGER usage_changed AFTER UPDATE ON sessions_app_turn
    REFERENCING OLD TABLE AS was NEW TABLE AS is_now FOR EACH STATEMENT EXECUTE FUNCTION countersign_turns_changed();
CREATE TRIGGER usage_deleted AFTER DELETE ON sessions_app_turn
    REFERENCING OLD TABLE AS was FOR EACH STATEMENT EXECUTE FUNCTION countersign_turns_deleted();
"""
)

PLACE = "workspace_id, day, kind, key, name, agent, origin, tags"
COUNTED = ("sessions", "first_sessions", *MEASURES)


def _changes(*sides: tuple[str, str]) -> str:
    """Write what session usages changed by, of transition tables with their signs."""
    rows = " UNION ALL ".join(
        f"SELECT {PLACE}, {sign}1 AS sessions, {sign}CASE WHEN first_day = day THEN 1 ELSE 0 END AS first_sessions,"
        f" {', '.join(f'{sign}{name} AS {name}' for name in MEASURES)} FROM {table}"
        for sign, table in sides
    )
    return f"""
    INSERT INTO sessions_app_usagechange ({PLACE}, made_at, {", ".join(COUNTED)})
    SELECT {PLACE}, now(), {", ".join(COUNTED)}
    FROM (SELECT {PLACE}, {", ".join(f"sum({name}) AS {name}" for name in COUNTED)} FROM ({rows}) AS both_ways
          GROUP BY {PLACE}) AS summed
    WHERE ({", ".join(COUNTED)}) <> (0, 0, {ZEROS});
    """


OF_SESSION_USAGES = (
    _trigger("usage_added", _changes(("", "is_now")))
    + _trigger("usage_changed", _changes(("", "is_now"), ("-", "was")))
    + _trigger("usage_deleted", _changes(("-", "was")))
    + """
CREATE TRIGGER change_of_added AFTER INSERT ON sessions_app_sessionusage
    REFERENCING NEW TABLE AS is_now FOR EACH STATEMENT EXECUTE FUNCTION countersign_usage_added();
CREATE TRIGGER change_of_changed AFTER UPDATE ON sessions_app_sessionusage
    REFERENCING OLD TABLE AS was NEW TABLE AS is_now FOR EACH STATEMENT EXECUTE FUNCTION countersign_usage_changed();
CREATE TRIGGER change_of_deleted AFTER DELETE ON sessions_app_sessionusage
    REFERENCING OLD TABLE AS was FOR EACH STATEMENT EXECUTE FUNCTION countersign_usage_deleted();
"""
)

RECOUNT = f"""
CREATE FUNCTION countersign_recount_usage(of_session uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM sessions_app_sessionusage WHERE session_id = of_session;
    INSERT INTO sessions_app_sessionusage
        (session_id, day, kind, key, name, first_day, workspace_id, agent, origin, tags, {NAMES})
    SELECT of_session, day, kind, countersign_usage_key(name), name, min(day) OVER (PARTITION BY kind, name),
           workspace_id, agent, origin, tags, {NAMES}
    FROM (
        SELECT day, kind, name, s.workspace_id, s.agent_id::text AS agent, s.origin, s.tags,
               {", ".join(f"of_turns.{name}" for name in MEASURES)}
        FROM ({
    OF_TURNS.format(
        turns="(SELECT * FROM sessions_app_turn WHERE session_id = of_session)",
        sums=", ".join(f"sum(u.{name}) AS {name}" for name in MEASURES),
    )
}) AS of_turns
        JOIN sessions_app_session s ON s.id = of_session AND NOT countersign_is_planted(of_session)
        UNION ALL
        SELECT (at AT TIME ZONE 'UTC')::date, kind, name, workspace_id, max(agent), '', '{{}}'::text[],
               {", ".join(f"sum({name})" for name in MEASURES)}
        FROM countersign_erased_usage(of_session)
        WHERE NOT EXISTS (SELECT FROM sessions_app_session WHERE id = of_session)
        GROUP BY 1, 2, 3, 4
    ) AS used;
END $$;
"""
COUNTS_FROM = "coalesce(NEW.started_at, NEW.created_at)"
OF_OTHER_ROWS = (
    _trigger(
        "usage_of_session_moved",
        f"""IF {_differ(("started_at", "created_at"), "OLD", "NEW")} THEN
        UPDATE sessions_app_turn SET began_at = {COUNTS_FROM}
        WHERE session_id = NEW.id AND started_at IS NULL AND began_at <> {COUNTS_FROM};
    END IF;
    IF {_differ(("agent_id", "origin", "tags"), "OLD", "NEW")} THEN
        UPDATE sessions_app_sessionusage SET agent = NEW.agent_id::text, origin = NEW.origin, tags = NEW.tags
        WHERE session_id = NEW.id;
    END IF;""",
    )
    + _trigger("usage_of_session_erased", "PERFORM countersign_recount_usage(OLD.id);")
    + _trigger(
        "usage_of_planted",
        "PERFORM countersign_recount_usage(CASE TG_OP WHEN 'DELETE' THEN OLD.session_id ELSE NEW.session_id END);",
    )
    + _trigger(
        "usage_of_turn_booked",
        """IF TG_OP = 'DELETE' THEN
        UPDATE sessions_app_turn t SET runtime_ms = NULL, here = EXISTS (
            SELECT FROM sessions_app_turninflight f WHERE f.session_id = t.session_id AND f.turn = t.index)
        WHERE session_id = OLD.session_id AND index = OLD.turn;
    ELSE
        UPDATE sessions_app_turn SET runtime_ms = NEW.runtime_ms, here = true
        WHERE session_id = NEW.session_id AND index = NEW.turn;
    END IF;""",
    )
    + _trigger(
        "usage_of_turn_in_flight",
        """IF TG_OP <> 'INSERT' THEN
        UPDATE sessions_app_turn t SET here = EXISTS (
            SELECT FROM sessions_app_turnusage u WHERE u.session_id = t.session_id AND u.turn = t.index)
        WHERE session_id = OLD.session_id AND index = OLD.turn;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        UPDATE sessions_app_turn SET here = true WHERE session_id = NEW.session_id AND index = NEW.turn;
    END IF;""",
    )
    + _trigger(
        "usage_of_call",
        """UPDATE sessions_app_turn t SET bought = countersign_bought(t.session_id, t.index)
    FROM sessions_app_toolcall c
    WHERE c.session_id = CASE TG_OP WHEN 'DELETE' THEN OLD.session_id ELSE NEW.session_id END
      AND c.seq = CASE TG_OP WHEN 'DELETE' THEN OLD.seq ELSE NEW.seq END
      AND t.session_id = c.session_id AND t.index = c.turn;""",
    )
    + f"""
CREATE TRIGGER usage_moved AFTER UPDATE ON sessions_app_session FOR EACH ROW
    WHEN ({_differ(("started_at", "created_at", "agent_id", "origin", "tags"), "OLD", "NEW")})
    EXECUTE FUNCTION countersign_usage_of_session_moved();
CREATE TRIGGER usage_erased AFTER DELETE ON sessions_app_session FOR EACH ROW
    EXECUTE FUNCTION countersign_usage_of_session_erased();
CREATE TRIGGER usage_planted AFTER INSERT ON sessions_app_approval FOR EACH ROW
    WHEN (NEW.planted) EXECUTE FUNCTION countersign_usage_of_planted();
CREATE TRIGGER usage_planted_changed AFTER UPDATE ON sessions_app_approval FOR EACH ROW
    WHEN (OLD.planted IS DISTINCT FROM NEW.planted) EXECUTE FUNCTION countersign_usage_of_planted();
CREATE TRIGGER usage_planted_deleted AFTER DELETE ON sessions_app_approval FOR EACH ROW
    WHEN (OLD.planted) EXECUTE FUNCTION countersign_usage_of_planted();
CREATE TRIGGER usage_booked AFTER INSERT OR UPDATE OR DELETE ON sessions_app_turnusage FOR EACH ROW
    EXECUTE FUNCTION countersign_usage_of_turn_booked();
CREATE TRIGGER usage_in_flight AFTER INSERT OR DELETE OR UPDATE OF turn ON sessions_app_turninflight FOR EACH ROW
    EXECUTE FUNCTION countersign_usage_of_turn_in_flight();
CREATE TRIGGER usage_of_call AFTER INSERT OR UPDATE OR DELETE ON sessions_app_callusage FOR EACH ROW
    EXECUTE FUNCTION countersign_usage_of_call();
"""
)

FILL_IN = """
INSERT INTO sessions_app_usagefillin (id) SELECT 1
WHERE EXISTS (SELECT FROM sessions_app_session) OR EXISTS (SELECT FROM sessions_app_turnusage)
   OR EXISTS (SELECT FROM sessions_app_callusage);
"""
FORWARD = FUNCTIONS + OF_TURN_ROWS + OF_SESSION_USAGES + RECOUNT + OF_OTHER_ROWS + FILL_IN

TRIGGERS = {
    "turn": ("usage_added", "usage_changed", "usage_deleted"),
    "sessionusage": ("change_of_added", "change_of_changed", "change_of_deleted"),
    "session": ("usage_moved", "usage_erased"),
    "approval": ("usage_planted", "usage_planted_changed", "usage_planted_deleted"),
    "turnusage": ("usage_booked",),
    "turninflight": ("usage_in_flight",),
    "callusage": ("usage_of_call",),
}
TRIGGER_FUNCTIONS = (
    "turns_added", "turns_changed", "turns_deleted", "usage_added", "usage_changed", "usage_deleted",
    "usage_of_session_moved", "usage_of_session_erased", "usage_of_planted", "usage_of_turn_booked",
    "usage_of_turn_in_flight", "usage_of_call",
)  # fmt: skip
BACKWARD = "".join(
    [f"DROP TRIGGER {name} ON sessions_app_{table};\n" for table, names in TRIGGERS.items() for name in names]
    + [f"DROP FUNCTION countersign_{name}();\n" for name in TRIGGER_FUNCTIONS]
    + ["DROP FUNCTION countersign_recount_usage(uuid);\nDROP FUNCTION countersign_is_planted(uuid);\n"]
    + ["DROP FUNCTION countersign_bought(uuid, integer);\nDROP FUNCTION countersign_erased_usage(uuid);\n"]
    + ["DROP FUNCTION countersign_turn_usage(boolean, bigint, jsonb, jsonb);\n"]
    + ["DROP FUNCTION countersign_usage_key(text);\n"]
)

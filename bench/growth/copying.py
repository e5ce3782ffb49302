"""Copies of sessions with all of their rows, by SQL: other ids, times, words and counts, as the plan says.

Tokens and money are multiplied by a whole number, so the sums stay those that the product would compute again. Not
valid in a copy are the hashes of its links (``audit verify`` reports each), the id of the approval in the text of its
events, what its run summary quotes, and the bytes of the file that it was imported from, which are not there. Ledgers
have the templates' entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from .conversations import ORDER, REFERENCE

BATCH = 500
"""Sessions of one transaction. For more, see ``_in_bulk``."""
AT_ONCE = 2
"""Transactions: nearly all of the time is that of PostgreSQL's backends, of which each keeps a core busy."""
SESSION, EVENT, TEXT = "sessions_app_session", "sessions_app_event", "sessions_app_eventtext"
BLOCK, SUMMARY, FILE = "sessions_app_searchblock", "sessions_app_runsummary", "sessions_app_filetext"
TABLES = (
    EVENT, "sessions_app_eventlink", "sessions_app_toolcall", "sessions_app_modelrequest", "sessions_app_turn",
    TEXT, BLOCK, FILE, SUMMARY, "sessions_app_runfinding", "sessions_app_turnusage", "sessions_app_callusage",
)  # fmt: skip
"""Those with rows of a session that are copied as they are, in the order in which the product writes them."""
ELSEWHERE = frozenset(
    {
        "sessions_app_approval",
        "sessions_app_ledgerentry",
        "sessions_app_sessionmeasures",
        "sessions_app_searchbacklog",
        "sessions_app_unsealedhead",
        "vcon_app_importedsession",
    }
)
"""Those that ``rows`` or triggers write, and those of which copies have none."""
MULTIPLIED = frozenset({
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
    "cache_write_1h_tokens", "cost", "cost_recorded", "cost_priced", "unpriced_tokens", "copied_tokens",
})  # fmt: skip
OWN_WORD = f"replace(r.{{column}}, '{ORDER}', p.word)"
OWN_REFERENCE = "'ref' || left(md5(p.n || '.' || r.seq), 10)"
PROMPT_REFERENCE = "'ref' || left(md5(p.n || '.' || r.first_seq), 10)"
OWN_REQUEST = "r.{column} || '.' || p.n"
OWN_REFERENCES = f"""coalesce((
    SELECT string_agg('ref' || left(md5(p.n || '.' || e.seq), 10), ' ') FROM {EVENT} e
    WHERE e.session_id = r.session_id AND e.seq BETWEEN r.first_seq AND r.last_seq AND e.text LIKE '%%{REFERENCE}%%'
), '')"""
OWN_WORDS = f"""
replace(replace(replace(replace(array_to_string(tsvector_to_array(r.words), ' '), '{ORDER}', p.word),
    '{REFERENCE}', {OWN_REFERENCES}),
    '@s' || replace(p.template::text, '-', ''), '@s' || replace(p.copy::text, '-', '')),
    '@w' || replace(t.workspace_id::text, '-', ''), '@w' || replace(p.workspace::text, '-', ''))::tsvector
"""
"""The words of a search block with those of the copy, and the marks of its session and workspace."""
MULTIPLIED_IN = """(
    SELECT jsonb_agg((
        SELECT jsonb_agg(CASE WHEN jsonb_typeof(f.value) = 'number' AND f.place BETWEEN {first} AND {last}
                              THEN to_jsonb(f.value::numeric * p.factor) ELSE f.value END ORDER BY f.place)
        FROM jsonb_array_elements(one.value) WITH ORDINALITY AS f (value, place)) ORDER BY one.place)
    FROM jsonb_array_elements(r.{column}) WITH ORDINALITY AS one (value, place))"""
"""A list of lists, with the tokens and the money in each of them multiplied: see ``services.log.turn_usage``."""
VALUES: dict[tuple[str, str], str] = {
    (SESSION, "id"): "p.copy",
    (SESSION, "parent_id"): "NULL",
    (SESSION, "continues_id"): "NULL",
    (SESSION, "status"): "p.status",
    (SESSION, "phase"): "p.phase",
    (SESSION, "title"): OWN_WORD,
    (SESSION, "external_id"): "CASE WHEN r.external_id <> '' THEN p.copy::text ELSE '' END",
    (EVENT, "id"): "uuidv7(p.created - now())",
    (EVENT, "text"): f"replace({OWN_WORD}, '{REFERENCE}', {OWN_REFERENCE})",
    (EVENT, "request"): OWN_REQUEST,
    (EVENT, "document"): "CASE WHEN r.document IS NOT NULL THEN p.sha256 END",
    ("sessions_app_modelrequest", "key"): f"CASE WHEN starts_with(r.key, 'seq:') THEN r.key ELSE {OWN_REQUEST} END",
    ("sessions_app_modelrequest", "identity"): "md5(r.identity::text || p.n)::uuid",
    ("sessions_app_turn", "prompt"): f"replace({OWN_WORD}, '{REFERENCE}', {PROMPT_REFERENCE})",
    ("sessions_app_turn", "shares"): MULTIPLIED_IN.replace("{first}", "5").replace("{last}", "12"),
    ("sessions_app_turn", "bought"): MULTIPLIED_IN.replace("{first}", "4").replace("{last}", "4"),
    # By way of its text, so that each word keeps its place.
    (TEXT, "words"): (
        f"CASE WHEN r.words @@ to_tsquery('simple', '{ORDER} | {REFERENCE}')"
        f" THEN replace(replace(r.words::text, '{ORDER}', p.word), '{REFERENCE}', {OWN_REFERENCE})::tsvector"
        f" ELSE r.words END"
    ),
    (BLOCK, "words"): OWN_WORDS,
    (FILE, "text"): OWN_WORD,
    (SUMMARY, "told"): f"replace(r.told::text, '{ORDER}', p.word)::jsonb",
    ("sessions_app_turnusage", "id"): "uuidv7(p.created - now())",
    ("sessions_app_callusage", "id"): "uuidv7(p.created - now())",
}
"""By table and column: what a copy has in place of the template's value."""

COLUMNS = """
SELECT quote_ident(attname), atttypid::regtype::text FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
"""
OF_SESSIONS = """
SELECT DISTINCT conrelid::regclass::text FROM pg_constraint
WHERE contype = 'f' AND confrelid = 'sessions_app_session'::regclass
"""
KEYS = """
SELECT DISTINCT tgrelid::regclass::text, quote_ident(tgname) FROM pg_trigger
WHERE tgfoid = '"RI_FKey_check_ins"'::regproc AND tgrelid = ANY(%s::regclass[])
"""
GIN = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE a.amname = 'gin' AND i.indrelid = ANY(%s::regclass[])
"""


def copy_sessions(sessions: int) -> None:
    """All sessions of the plan with their rows."""
    with connection.cursor() as cursor:
        tables = (SESSION, *(table for table in TABLES if _exists(cursor, table)))
        statements = [_statement(cursor, table) for table in tables]
        for table in sorted(unknown(cursor)):
            print(f"not copied: {table}, which bench/growth/copying.py does not know", flush=True)
        if sessions <= BATCH:
            _copy(statements, 1)
            return
        with _in_bulk(cursor, tables), ThreadPoolExecutor(AT_ONCE, initializer=_hurry) as threads:
            batches = range(1, sessions + 1, BATCH)
            for first, _ in zip(batches, threads.map(partial(_copy, statements), batches), strict=True):
                if first % (20 * BATCH) == 1:
                    print(f"{first - 1:,} sessions copied", flush=True)


def _copy(statements: Sequence[str], first: int) -> None:
    """A batch of sessions, by the connection of this thread."""
    with connection.cursor() as cursor, transaction.atomic():
        for statement in statements:
            cursor.execute(statement, [first, first + BATCH])


def _hurry() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        cursor.execute("SET work_mem = '256MB'")


def _exists(cursor: CursorWrapper, table: str) -> bool:
    cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [table])
    return bool(cursor.fetchone()[0])


def unknown(cursor: CursorWrapper) -> set[str]:
    """Tables with rows of the templates that nobody here knows."""
    cursor.execute(OF_SESSIONS)
    tables = {name for (name,) in cursor.fetchall()} - {SESSION, *TABLES} - ELSEWHERE
    for table in [*tables]:
        cursor.execute("SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0", [table])
        if "session_id" in {name for (name,) in cursor.fetchall()}:
            cursor.execute(f"SELECT EXISTS (SELECT FROM {table} r JOIN growth_plan p ON p.template = r.session_id)")
            if cursor.fetchone()[0]:
                continue
        tables.discard(table)
    return tables


def _statement(cursor: CursorWrapper, table: str) -> str:
    """Inserts the copies with ``n`` from the first parameter up to the second."""
    cursor.execute(COLUMNS, [table])
    columns = cursor.fetchall()
    values = [_value(table, name.strip('"'), name, kind) for name, kind in columns]
    key = "id" if table == SESSION else "session_id"
    names = {name.strip('"') for name, _ in columns}
    inner = next((f", r.{name}" for name in ("seq", "index", "last_seq", "key") if name in names), "")
    # The first event of a session is as old as the session; a template's creation is where its copy's time begins.
    return (
        f"INSERT INTO {table} ({', '.join(name for name, _ in columns)}) SELECT {', '.join(values)}"
        f" FROM growth_plan p JOIN sessions_app_session t ON t.id = p.template JOIN {table} r ON r.{key} = p.template"
        f" WHERE p.n >= %s AND p.n < %s ORDER BY p.n{inner}"
    )


def _value(table: str, column: str, quoted: str, kind: str) -> str:
    if (known := VALUES.get((table, column))) is not None:
        return known.replace("{column}", quoted)
    if column in ("session_id", "workspace_id", "agent_id"):
        return {"session_id": "p.copy", "workspace_id": "p.workspace", "agent_id": "p.agent"}[column]
    if column in MULTIPLIED:
        return f"r.{quoted} * p.factor"
    if kind == "timestamp with time zone":
        return f"r.{quoted} + (p.created - t.created_at)"
    return f"r.{quoted}"


@contextmanager
def _in_bulk(cursor: CursorWrapper, tables: tuple[str, ...]) -> Iterator[None]:
    """Without checks of foreign keys, which the copies meet as the templates do, and with word indexes made at the end.

    Half of the time, and most of it. The owner of the embedded database may do that.
    """
    cursor.execute(KEYS, [list(tables)])
    checks = cursor.fetchall()
    cursor.execute(GIN, [list(tables)])
    indexes = cursor.fetchall()
    for name, _ in indexes:
        cursor.execute(f"DROP INDEX {name}")
    for table, name in checks:
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER {name}")
    yield
    for table, name in checks:
        cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER {name}")
    cursor.execute("SET maintenance_work_mem = '1GB'")
    for name, definition in indexes:
        print(f"making {name}", flush=True)
        cursor.execute(definition)

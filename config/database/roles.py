"""Two roles of the database: the owner, who migrates, and the desk's, which web server and workers connect as.

The desk's role is no superuser, owns nothing and has no UPDATE, DELETE or TRUNCATE on the tables of ``APPEND_ONLY``. So
whoever makes the desk run SQL of theirs cannot change what was written down, switch a trigger off, or reach the
server's files. The embedded database has both roles; with a server of yours ``DATABASE_OWNER_URL`` names the owner, and
without it one role does everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import sql

from config.env import ConfigError
from sessions_app.models import APPEND_ONLY

ADD = frozenset({"SELECT", "INSERT"})
WRITE = ADD | {"UPDATE", "DELETE"}
ANALYZED = frozenset({"sessions_app_event", "sessions_app_modelrequest", "sessions_app_toolcall"})
"""Tables that a large import ANALYZEs (``services.log.projections``), for which others than the owner need MAINTAIN."""
QUEUES = {"meta": {"SELECT"}, "topic_bindings": {"SELECT"}, "notify_insert_throttle": {"SELECT", "UPDATE"}}
"""Tables of pgmq beside those of the queues themselves (``q_...``)."""
FUNCTIONS = (
    "countersign_erase_session(uuid, uuid)", "countersign_make_event_months()", "countersign_clear_event_month(text)",
)  # fmt: skip
"""What the desk's role may have done with the owner's rights: see ``sessions_app.migrations``, ``_erasure_0010``,
``_partitions_0031`` and ``_erasure_0036``."""
PARTS = """
SELECT part.relname FROM pg_inherits
JOIN pg_class part ON part.oid = inhrelid JOIN pg_class whole ON whole.oid = inhparent
WHERE whole.relkind = 'p' AND whole.relname = ANY(%s) AND whole.relnamespace = to_regnamespace(%s)
"""
DANGEROUS = ("pg_execute_server_program", "pg_read_server_files", "pg_write_server_files", "pg_write_all_data")


def are_two() -> bool:
    """Whether the desk connects as another role than the owner."""
    return bool(settings.DATABASE_OWNER_PARAMETERS != settings.DATABASE_PARAMETERS)


def is_owner() -> bool:
    """Whether Django's connection is the owner's now."""
    return connection.settings_dict["USER"] == settings.DATABASE_OWNER_PARAMETERS.get("user", "")


def become_owner() -> None:
    """Let Django connect as the owner from now on. Call while no other thread uses the database."""
    connection.close()
    connection.settings_dict.update(HOST="", PORT="", PASSWORD="", OPTIONS={})
    connection.settings_dict.update(settings.DATABASE_OWNER)


@contextmanager
def as_owner() -> Iterator[None]:
    """Let Django connect as the owner for a block; nothing happens when it does already."""
    if is_owner():
        yield
        return
    before = dict(connection.settings_dict)
    become_owner()
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(before)


def prepare() -> None:
    """Make the desk's role where it is ours to make, and give it what the models say. Call as the owner.

    Raises ConfigError when the role of DATABASE_URL is missing or may do more than it should.
    """
    if not are_two():
        return
    desk = settings.DATABASE_PARAMETERS["user"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [desk])
        if cursor.fetchone() is None:
            if settings.EMBEDDED_CLUSTER is None:
                raise ConfigError(f"DATABASE_URL names a role that is not there: CREATE ROLE {desk} LOGIN PASSWORD ...")
            cursor.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(desk)))
        _grant(cursor, desk)
        fault = excess(cursor, desk)
    if fault:
        raise ConfigError(f"the role {desk} of DATABASE_URL {fault}: make it a role that may only log in")


def wanted() -> dict[str, frozenset[str]]:
    """Privileges of the desk's role by table."""
    append_only = {model._meta.db_table for model in APPEND_ONLY}
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    privileges = {table: ADD if table in append_only else WRITE for table in tables}
    privileges |= {table: privileges[table] | {"MAINTAIN"} for table in ANALYZED}
    return privileges | {"django_migrations": frozenset({"SELECT"})}


def _grant(cursor: CursorWrapper, desk: str) -> None:
    """Bring the privileges in our schema and in pgmq's to what is wanted; writes nothing when they are."""
    cursor.execute("SELECT current_schema()")
    (schema,) = cursor.fetchone()
    # Of what lies in parts the whole is read and written, and a part by itself is only analyzed.
    cursor.execute(PARTS, [list(ANALYZED), schema])
    parts = {name: frozenset({"MAINTAIN"}) for (name,) in cursor.fetchall()}
    _grant_on_tables(cursor, desk, schema, wanted() | parts)
    for function in FUNCTIONS:
        cursor.execute("SELECT has_function_privilege(%s, to_regprocedure(%s), 'EXECUTE')", [desk, function])
        if cursor.fetchone() == (False,):  # NULL: a database that is not migrated so far has no such function
            _run(cursor, f"GRANT EXECUTE ON FUNCTION {function} TO {{}}", desk)
    # For a table that a migration makes: what every table may have, until the next start gives it the rest.
    _run(cursor, "ALTER DEFAULT PRIVILEGES IN SCHEMA {} GRANT SELECT, INSERT ON TABLES TO {}", schema, desk)
    cursor.execute("SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('pgmq') AND relkind = 'r'")
    queues = {name: WRITE for (name,) in cursor.fetchall() if name.startswith("q_")}
    if queues:
        _grant_on_tables(cursor, desk, "pgmq", queues | {name: frozenset(some) for name, some in QUEUES.items()})
        _run(cursor, "GRANT SELECT ON ALL SEQUENCES IN SCHEMA {} TO {}", "pgmq", desk)  # their lengths


def _grant_on_tables(cursor: CursorWrapper, desk: str, schema: str, wanted: Mapping[str, frozenset[str]]) -> None:
    """Give ``desk`` exactly these privileges on the tables of ``schema``, and none on its other tables."""
    _run(cursor, "GRANT USAGE ON SCHEMA {} TO {}", schema, desk)
    cursor.execute(
        "SELECT c.relname, coalesce(array_agg(a.privilege_type) FILTER (WHERE a.grantee = r.oid), '{}')"
        " FROM pg_class c CROSS JOIN pg_roles r LEFT JOIN LATERAL aclexplode(c.relacl) a ON true"
        " WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind IN ('r', 'p', 'v', 'm') AND r.rolname = %s"
        " GROUP BY 1",
        [schema, desk],
    )
    for table, given in cursor.fetchall():
        privileges = wanted.get(table, frozenset())
        # No more than the difference: another host may be serving with these rights at this moment.
        if surplus := set(given) - privileges:
            _run(cursor, f"REVOKE {', '.join(sorted(surplus))} ON {{}}.{{}} FROM {{}}", schema, table, desk)
        if missing := privileges - set(given):
            _run(cursor, f"GRANT {', '.join(sorted(missing))} ON {{}}.{{}} TO {{}}", schema, table, desk)


def _run(cursor: CursorWrapper, statement: str, *names: str) -> None:
    cursor.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


EXCESS: tuple[tuple[str, str], ...] = (
    (
        "is a superuser or may make roles, databases or replicas",
        "SELECT FROM pg_roles WHERE rolname = %(desk)s"
        " AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)",
    ),
    (
        "owns tables, functions or a schema",
        "SELECT FROM pg_shdepend WHERE deptype = 'o' AND refobjid ="
        " (SELECT oid FROM pg_roles WHERE rolname = %(desk)s)",
    ),
    (
        "is a member of the owner or of a role that reaches the server's files",
        "SELECT FROM pg_roles WHERE rolname = ANY(%(others)s) AND pg_has_role(%(desk)s, oid, 'MEMBER')",
    ),
    (
        "may change append-only tables",
        "SELECT FROM unnest(%(tables)s::text[]) AS name WHERE to_regclass(name) IS NOT NULL"
        " AND (has_table_privilege(%(desk)s, name, 'UPDATE, DELETE, TRUNCATE, TRIGGER')"
        " OR has_any_column_privilege(%(desk)s, name, 'UPDATE'))",
    ),
    (
        "may switch triggers off by session_replication_role",
        "SELECT WHERE has_parameter_privilege(%(desk)s, 'session_replication_role', 'SET')",
    ),
)
"""What is too much, and a query that has a row when it is so."""


def excess(cursor: CursorWrapper, desk: str) -> str | None:
    """The first thing that the role ``desk`` may do and should not; None when there is none."""
    given: dict[str, Any] = {
        "desk": desk,
        "role": f'"{desk}"',
        "tables": [model._meta.db_table for model in APPEND_ONLY],
    }
    given["others"] = [*DANGEROUS, "pg_database_owner", settings.DATABASE_OWNER_PARAMETERS.get("user", "")]
    for fault, query in EXCESS:
        cursor.execute(f"SELECT EXISTS ({query})", given)
        if cursor.fetchone() == (True,):
            return fault
    return None

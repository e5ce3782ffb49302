"""SQL of the triggers that keep a table append-only, for the migration that makes the table.

The function is the one of migration 0005. Each table has a trigger for rows and one for TRUNCATE, which fires no row's.
"""

from __future__ import annotations


def forward(table: str, name: str, forgets: tuple[str, ...] = ()) -> str:
    """Triggers of ``table``, whose rows messages call ``name``; columns that it ``forgets`` may become NULL."""
    arguments = ", ".join(f"'{text}'" for text in (name, *forgets))
    return (
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}"
        f" FOR EACH ROW EXECUTE FUNCTION countersign_append_only({arguments});\n"
    ) + against_truncate(table, name)


def against_truncate(table: str, name: str) -> str:
    """The second trigger alone, for tables that had the first before there was another."""
    return (
        f"CREATE TRIGGER append_only_whole BEFORE TRUNCATE ON {table}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION countersign_append_only('{name}');\n"
    )


def backward(table: str) -> str:
    return f"DROP TRIGGER append_only ON {table};\n" + backward_truncate(table)


def backward_truncate(table: str) -> str:
    return f"DROP TRIGGER append_only_whole ON {table};\n"

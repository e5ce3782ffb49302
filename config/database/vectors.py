"""pgvector, where the server has it: by it, what programs remember is found by vectors (``services.state.search``).

Nothing needs it: columns are arrays, which every server has, and without it a search is one of words.
"""

from __future__ import annotations

from django.db import connection
from django.db.utils import ProgrammingError
from psycopg.errors import InsufficientPrivilege

EXTENSION = "vector"


def prepare() -> None:
    """Make it part of the database, where the server has it and the owner may. Call as the owner."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT installed_version FROM pg_available_extensions WHERE name = %s", [EXTENSION])
        if cursor.fetchone() != (None,):  # no such extension, or it is there
            return
        try:
            cursor.execute(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}")
        except ProgrammingError as fault:
            if not isinstance(fault.__cause__, InsufficientPrivilege):
                raise

"""The least that an import must do: parse every line, and COPY the finished rows into a table like the log."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import orjson
import psycopg

from config.postgres import Cluster

DATA_DIR = Path(os.environ["COUNTERSIGN_DATA_DIR"])
ROWS = DATA_DIR / "rows.copy"
CHUNK = 1024 * 1024


def rows() -> None:
    """Write the rows of the log to a file, and make an empty table of the same columns and indexes."""
    with psycopg.connect(**Cluster(DATA_DIR).parameters) as database, ROWS.open("wb") as file:
        with database.cursor().copy("COPY sessions_app_event TO STDOUT") as copy:
            file.writelines(copy)
        database.execute("CREATE TABLE bench_floor (LIKE sessions_app_event INCLUDING ALL)")


def load(path: str) -> None:
    """What is measured."""
    with Path(path).open("rb") as file:
        for line in file:
            orjson.loads(line)
    with psycopg.connect(**Cluster(DATA_DIR).parameters) as database, ROWS.open("rb") as file:
        with database.cursor().copy("COPY bench_floor FROM STDIN") as copy:
            while chunk := file.read(CHUNK):
                copy.write(chunk)


if __name__ == "__main__":
    {"rows": rows, "load": load}[sys.argv[1]](*sys.argv[2:])

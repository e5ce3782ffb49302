"""The least that an import must do: parse every line, and COPY the same rows into a table like the log."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import orjson
import psycopg
from psycopg.types.string import TextLoader

from config.database.cluster import Cluster

DATA_DIR = Path(os.environ["COUNTERSIGN_DATA_DIR"])
ROWS, FINISHED = DATA_DIR / "rows.pickle", DATA_DIR / "rows.copy"
CHUNK = 1024 * 1024
BATCH = 2_000
COPY = "COPY (SELECT * FROM sessions_app_event) TO STDOUT"
"""A table in parts is read by a query."""


def rows() -> None:
    """Keep the rows of the log, as Python values and as the bytes that COPY takes, and make an empty table like it."""
    with psycopg.connect(**Cluster(DATA_DIR).parameters) as database:
        with FINISHED.open("wb") as file, database.cursor().copy(COPY) as copy:
            file.writelines(copy)
        database.adapters.register_loader("jsonb", TextLoader)  # an importer writes JSON as text
        with ROWS.open("wb") as file, database.cursor("all") as cursor:
            cursor.execute("SELECT * FROM sessions_app_event ORDER BY seq")
            while batch := cursor.fetchmany(BATCH):
                pickle.dump(batch, file)
        for table in ("bench_rows", "bench_finished"):
            database.execute(f"CREATE TABLE {table} (LIKE sessions_app_event INCLUDING ALL)")


def load(path: str) -> None:
    """What is measured; prints the CPU seconds of each part as JSON."""
    with psycopg.connect(**Cluster(DATA_DIR).parameters) as database:
        print(
            json.dumps(
                {"parse": _parse(Path(path)), "rows": _copy_rows(database), "finished": _copy_finished(database)}
            )
        )


def _parse(path: Path) -> float:
    began = process_time()
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)
    return process_time() - began


def _copy_rows(database: psycopg.Connection) -> float:
    """Rows that are there as Python values, without the time it takes to get them from a file."""
    spent = 0.0
    with database.cursor().copy("COPY bench_rows FROM STDIN") as copy:
        for batch in _batches():
            began = process_time()
            for row in batch:
                copy.write_row(row)
            spent += process_time() - began
    return spent


def _copy_finished(database: psycopg.Connection) -> float:
    """Rows that are bytes in the form of COPY already, which nobody has who begins with a transcript."""
    began = process_time()
    with FINISHED.open("rb") as file, database.cursor().copy("COPY bench_finished FROM STDIN") as copy:
        while chunk := file.read(CHUNK):
            copy.write(chunk)
    return process_time() - began


def _batches() -> Iterator[list[tuple[Any, ...]]]:
    with ROWS.open("rb") as file:
        while True:
            try:
                yield pickle.load(file)
            except EOFError:
                return


if __name__ == "__main__":
    {"rows": rows, "load": load}[sys.argv[1]](*sys.argv[2:])

"""Which search index is the cheapest? ``python -m bench.growth.search [--events 50000] [--rounds 2]``

Makes the variants of docs/search.md over the same events, each in a table of its own in the PostgreSQL that ships, and
prints what making it costs the database and Python (CPU seconds, the least of the rounds), how large it is, and its WAL
for an event. The events are lines of ``bench.transcripts``: prose, source code and results, as JSON.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from time import process_time

import orjson
import psycopg

from config.database import postgres
from config.database.cluster import Cluster
from sessions_app.search.words import flat, words

from .. import transcripts
from ..measure import table

HEAD = ("variant", "database CPU s", "Python CPU s", "table MB", "indexes MB", "WAL kB/event")
LONGEST = 2_000
"""Characters of an event: what most have is less, and a few are whole files."""
PLACES = 16_000
"""A tsvector knows 16,383 places."""
Connection = psycopg.Connection[tuple[object, ...]]
Way = Callable[[Connection], None]
EACH = "INSERT INTO made SELECT seq, to_tsvector('simple', text) FROM event"
BY_PATH = "INSERT INTO made SELECT seq, to_tsvector('simple', translate(text, '/._-', '    ')) FROM event"
READ = "SELECT min(seq), string_agg(text, ' ') FROM event GROUP BY (seq - 1) / %s ORDER BY 1"
GIN = "CREATE INDEX made_words ON made USING gin (words) WITH (fastupdate = {})"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--events", type=int, default=50_000)
    options.add_argument("--rounds", type=int, default=2)
    chosen = options.parse_args()
    with _server() as connection:
        _fill(connection, chosen.events)
        variants: list[tuple[str, str, Way]] = [
            ("tsvector of each event, no GIN", "", lambda c: _run(c, EACH)),
            ("tsvector of each event, GIN", "on", lambda c: _run(c, EACH)),
            ("the same with parts of paths", "on", lambda c: _run(c, BY_PATH)),
            ("words with positions, 64 events a row", "on", lambda c: _write(c, _placed(c, 64))),
            *(
                (f"words without positions, {size} events a row", "on", lambda c, size=size: _write(c, _bare(c, size)))  # type: ignore[misc]
                for size in (32, 64, 128, 256)
            ),
            ("words without positions, 64 events a row, no pending list", "off", lambda c: _write(c, _bare(c, 64))),
        ]
        rows = [(name, *_measured(connection, gin, way, chosen)) for name, gin, way in variants]
    print(table(HEAD, rows))


@contextmanager
def _server() -> Iterator[Connection]:
    data_dir = Path(tempfile.mkdtemp(prefix="countersign-bench-"))
    cluster = Cluster(data_dir)
    try:
        with postgres.on_demand(cluster), psycopg.connect(**cluster.parameters, autocommit=True) as connection:
            yield connection
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)


def _fill(connection: Connection, events: int) -> None:
    connection.execute("CREATE TABLE event (seq integer PRIMARY KEY, text text NOT NULL)")
    path, _ = transcripts.cached(events)
    with path.open("rb") as lines, connection.cursor().copy("COPY event FROM STDIN") as copy:
        for seq, line in enumerate(islice(lines, events), 1):
            said = orjson.loads(line).get("message") or {}
            copy.write_row((seq, orjson.dumps(said.get("content", "")).decode()[:LONGEST].replace("\0", " ")))


def _measured(connection: Connection, gin: str, way: Way, chosen: argparse.Namespace) -> tuple[str, ...]:
    """Cells of one variant's row."""
    costs = [_cost(connection, gin, way) for _ in range(chosen.rounds)]
    database, python, wal = (min(values) for values in zip(*costs, strict=True))
    [sizes] = connection.execute("SELECT pg_table_size('made'), pg_indexes_size('made')").fetchall()
    megabytes = (f"{int(str(size)) / 1e6:.1f}" for size in sizes)
    return (f"{database:.2f}", f"{python:.2f}", *megabytes, f"{wal / chosen.events / 1e3:.2f}")


def _cost(connection: Connection, gin: str, way: Way) -> tuple[float, float, float]:
    """CPU seconds of the backend and of this process, and bytes of WAL, of making a variant once."""
    _run(connection, "DROP TABLE IF EXISTS made")
    _run(connection, "CREATE TABLE made (first integer PRIMARY KEY, words tsvector)")
    if gin:
        _run(connection, GIN.format(gin))
    _run(connection, "CHECKPOINT")
    before = _backend(connection), process_time(), _wal(connection)
    way(connection)
    after = _backend(connection), process_time(), _wal(connection)
    database, python, wal = (late - early for early, late in zip(before, after, strict=True))
    return database, python, wal


def _run(connection: Connection, statement: str) -> None:
    connection.execute(statement.encode())


def _backend(connection: Connection) -> float:
    """CPU seconds of the backend of a connection, as the kernel has counted them."""
    return int(Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text().split()[0]) / 1e9


def _wal(connection: Connection) -> float:
    [(written,)] = connection.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::float8").fetchall()
    return float(str(written))


def _bare(connection: Connection, size: int) -> Iterator[tuple[int, str]]:
    for first, text in connection.execute(READ, [size]):
        yield int(str(first)), b" ".join(words(str(text))).decode()


def _placed(connection: Connection, size: int) -> Iterator[tuple[int, str]]:
    """With the places of the words, as phrases would be judged by."""
    for first, text in connection.execute(READ, [size]):
        places: defaultdict[str, list[str]] = defaultdict(list)
        for place, word in enumerate(flat(str(text)).split(), 1):
            if place <= PLACES and word.isalnum() and len(places[word]) < 255:
                places[word].append(str(place))
        yield int(str(first)), " ".join(f"{word}:{','.join(found)}" for word, found in places.items() if found)


def _write(connection: Connection, rows: Iterable[tuple[int, str]]) -> None:
    made = list(rows)
    with connection.cursor().copy("COPY made FROM STDIN") as copy:
        for row in made:
            copy.write_row(row)


if __name__ == "__main__":
    main()

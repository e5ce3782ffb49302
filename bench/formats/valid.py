"""Is what leaves valid, and what comes back the same? ``python -m bench.formats.valid [--mutations N] [--seed S]``

Over ../shared/corpus: each session through each writer, checked against the schema or the rules of the format: the
working group's JSON schema (where ../shared/specs has it) and core-04, the CDDL of VAC-00, the published schema of
llmfeed, the errors of UPG's reference, OTLP as protobuf has it (where opentelemetry-proto is installed). Then each
session through a vCon and back. The exit status is 1 when an export is not valid, or less than 99 % come back equal.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, FormatChecker

from tests.formats.vcon.shape import core_faults, vac_faults
from vcon_app import registry
from vcon_app.drafts import Draft, EventDraft, Finding, FormatError, Losses, SessionDraft
from vcon_app.formats import vcon

from ..measure import table
from ..places import ROOT
from . import checks, corpus, fuzz
from .mutate import Pool, mutation

SHARED = ROOT.parent / "shared"
VCON_SCHEMA = SHARED / "specs" / "vcon_json_schema-core04-reconstructed.json"
FEED_SCHEMA = SHARED / "corpus" / "llmfeed" / "schema" / "llmfeed.schema.json"
EQUAL = 0.99
"""Part of the sessions that must come back from a vCon as they were."""
TOLD = ("kind", "text", "tool", "usage", "cost", "model", "at", "depth", "actor_kind", "actor_name")
ABOUT = ("title", "agent_name", "phase", "model", "user_id", "summary", "tags")
"""The id of a vCon without a session id is that of its version: a rebuilt one has another (core s4.1.2)."""
MOST = 20
"""Sessions of one file."""
MUTATED_EVENTS = 300
UNREADABLE = (FormatError, gzip.BadGzipFile, zlib.error, EOFError)
"""What an import tells as a file that cannot be read."""
Session = tuple[SessionDraft, list[EventDraft]]


def _schema_faults(path: Path) -> Callable[[Any], list[str]]:
    if not path.exists():
        return lambda document: []
    validator = Draft7Validator(json.loads(path.read_text()), format_checker=FormatChecker())
    return lambda document: [error.message[:200] for error in validator.iter_errors(document)]


def _reader_errors(format: str) -> Callable[[bytes], list[str]]:
    def faults(data: bytes) -> list[str]:
        found = registry.reader(format).read(io.BytesIO(data))
        return [one.message[:200] for one in found if isinstance(one, Finding) and one.severity == "error"]

    return faults


def _otlp_faults(data: bytes) -> list[str]:
    try:
        from google.protobuf import json_format
        from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
    except ImportError:
        return _reader_errors("otel-genai")(data)
    try:
        json_format.Parse(data, TracesData())
    except json_format.ParseError as error:
        return [str(error)[:200]]
    return _reader_errors("otel-genai")(data)


def validators() -> dict[str, Callable[[bytes], list[str]]]:
    """Format -> what is wrong with a file of it."""
    of_vcon, of_feed = _schema_faults(VCON_SCHEMA), _schema_faults(FEED_SCHEMA)
    return {
        "vcon": lambda data: of_vcon(json.loads(data)) + core_faults(json.loads(data)),
        "vac": lambda data: vac_faults(json.loads(data)),
        "llmfeed": lambda data: of_feed(json.loads(data)),
        "upg": _reader_errors("upg"),
        "otel-genai": _otlp_faults,
    }


def sessions_of(drafts: Iterator[Draft] | list[Draft], most: int | None = None) -> list[Session]:
    """Each session with its (first) events, as it is known at the end."""
    found: dict[str, tuple[SessionDraft, list[EventDraft]]] = {}
    events: list[EventDraft] = []
    for draft in drafts:
        if isinstance(draft, SessionDraft):
            events = found.get(draft.external_id, (draft, []))[1]
            found[draft.external_id] = (draft, events)
        elif isinstance(draft, EventDraft) and (most is None or len(events) < most):
            events.append(draft)
    return list(found.values())[:MOST]


def of_corpus() -> Iterator[tuple[str, Session]]:
    for file in (*corpus.some(), *corpus.further()):
        try:
            name = file.format if file.format in registry.readers() else registry.detect(corpus.CORPUS / file.name)[0]
        except FormatError:
            continue
        yield from ((file.name, one) for one in checks.Reading(corpus.File(file.name, name)).sessions[:MOST])


def of_mutations(count: int, seed: int) -> Iterator[tuple[str, Session]]:
    pool = Pool([one for one in fuzz.files(corpus.CORPUS.is_dir()) if one.format in registry.readers()])
    for number in range(count):
        made = mutation(seed, number, pool)
        try:
            drafts = list(registry.reader(made.format or "").read(io.BytesIO(made.data)))
        except UNREADABLE:
            continue
        yield from ((f"mutation {seed}:{number}", one) for one in sessions_of(drafts, MUTATED_EVENTS)[:2])


def difference(session: SessionDraft, events: list[EventDraft], written: bytes) -> str:
    """What came back from a vCon otherwise; "" where all is equal."""
    again = sessions_of(vcon.read(io.BytesIO(written)))
    if len(again) != 1 or len(again[0][1]) != len(events):
        return "another number of sessions or events"
    other, others = again[0]
    if wrong := [name for name in ABOUT if getattr(session, name) != getattr(other, name)]:
        return f"session: {', '.join(wrong)}"
    for one, two in zip(events, others, strict=True):
        if wrong := [name for name in TOLD if getattr(one, name) != getattr(two, name)]:
            return f"{one.kind}: {', '.join(wrong)}"
    return ""


def long_values(name: str) -> Callable[[str], Any]:
    """What the desk gives a writer beside the session: values that the reader left in the original."""

    def at(pointer: str) -> Any:
        try:
            value = json.loads((corpus.CORPUS / name).read_bytes())
        except ValueError:
            raise LookupError(pointer) from None
        for token in pointer.split("/")[1:]:
            value = value[int(token) if isinstance(value, list) else token]
        return value

    return at


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mutations", type=int, default=0, help="so many mutated files through the writers, too")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    of, good, faults = Counter[str](), Counter[str](), []
    checked = validators()
    for is_whole, found in ((True, of_corpus()), (False, of_mutations(chosen.mutations, chosen.seed))):
        for name, (session, events) in found:
            for format, faults_of in checked.items():
                row = format if is_whole else f"{format}, mutated"
                options = checks.OPTIONS | ({"long_values": long_values(name)} if is_whole else {})
                data = b"".join(registry.writer(format).write(session, events, Losses(), options=options))
                wrong = faults_of(data)
                of[row] += 1
                good[row] += not wrong
                faults += [f"{row}: {name}: {wrong[0]}"] if wrong else []
                if is_whole and format == "vcon":
                    of["through a vCon and back"] += 1
                    changed = difference(session, events, data)
                    good["through a vCon and back"] += not changed
                    faults += [f"through a vCon: {name}: {changed}"] if changed else []
    print(table(("export", "valid"), [(row, f"{good[row]} of {of[row]}") for row in of]))
    for fault in faults:
        print(f"FAULT {fault:.300}")
    missed = [row for row in of if good[row] < of[row] * (EQUAL if row.startswith("through") else 1)]
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())

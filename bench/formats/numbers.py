"""Do the readers and writers keep what they promise? ``python -m bench.formats.numbers [--part K/N] [--format NAME]``

Over ../shared/corpus, format by format: of how many files each promise holds. Then the fixtures of others whose outcome
is known. The exit status is 1 when a number misses its target. ``--part 1/20`` takes every 20th file of each format,
``--pure`` what needs no database. Where the manifest of the corpus is wrong stands, with the reason, in
``bench.formats.corpus.DIFFERENCES``.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from config.database import postgres

from ..measure import table
from ..places import ROOT, installation
from . import checks, corpus
from .corpus import CORPUS, File

STORED = ("stored", "original", "by vCon", "twice", "by halves", "any order")
COLUMNS = (*checks.CHECKS, *STORED)
DETECTED = 0.99
"""Part of the files that must be claimed by their own format; of everything else all."""
SUITES = {
    "the fixtures of made-here/expected.json": ("tests/formats/vcon/test_fixtures.py", "all_that_is_expected"),
    "… and what its notes speak of": ("tests/formats/vcon/test_fixtures.py", "notes_speak"),
    "bundles (.vconz), imported": ("tests/services/documents/test_archives.py", "bundles_of_the_corpus"),
    "vCons of others: read, refused, and out again": ("tests/formats/vcon/test_corpus.py", ""),
    "signed examples, fixtures and feeds": ("tests/signing/test_signature_corpus.py", "not golden"),
    "golden llmfeed files": ("tests/signing/test_signature_corpus.py", "golden"),
    "published llmfeed files": ("tests/formats/llmfeed/test_corpus.py", ""),
    "validator-results.json of UPG": ("tests/formats/upg/test_reference.py", ""),
    "seals and bytes of UPG's reference": ("tests/formats/upg/test_canon.py", "reference"),
    "VAC records of the draft's translator": ("tests/formats/vac/test_corpus.py", ""),
}
"""Outcomes that are known one by one: tests, and which of them (pytest's -k)."""


@dataclass
class Numbers:
    """How many files each check applies to and how many it holds for, by format; and what is wrong."""

    of: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    good: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    faults: list[str] = field(default_factory=list)

    def note(self, format: str, check: str, fault: str | None, name: str) -> None:
        """``fault`` as a check gives it: "" for none, None where the check does not apply."""
        if fault is None:
            return
        self.of[format][check] += 1
        self.good[format][check] += not fault
        if fault:
            self.faults.append(f"{check}: {name}: {fault}")

    def rows(self) -> list[tuple[str, ...]]:
        """A line for each format, and one for all."""
        shown = [(name, self.good[name], self.of[name]) for name in sorted(self.of)]
        total = (sum(counts.values(), Counter()) for counts in (self.good, self.of))
        return [
            (name, str(of["files"]), *(_cell(good[column], of[column]) for column in COLUMNS))
            for name, good, of in [*shown, ("all", *total)]
        ]

    def missed(self) -> list[str]:
        """The checks whose number is below its target."""
        good, of = (sum(counts.values(), Counter()) for counts in (self.good, self.of))
        return [name for name in COLUMNS if good[name] < of[name] * (DETECTED if name == "detected" else 1)]


def _cell(good: int, of: int) -> str:
    return "" if not of else str(of) if good == of else f"{good} of {of}"


def pure(files: Iterable[File], numbers: Numbers) -> None:
    """Everything that needs no database."""
    for file in files:
        numbers.note(file.format, "files", "", file.name)
        try:
            reading = checks.Reading(file)
            found = {name: check(reading) for name, check in checks.CHECKS.items()}
        except Exception as error:  # the very thing that is counted here; the other files go on
            found = {"imported": repr(error)}
        for name, fault in found.items():
            numbers.note(file.format, name, fault, file.name)


def stored(files: Sequence[File], numbers: Numbers) -> None:
    """Everything that needs one."""
    from . import stored

    by_format: dict[str, list[File]] = {}
    for file in files:
        by_format.setdefault(file.format, []).append(file)
        try:
            found = stored.check(file)
        except Exception as error:  # as above
            found = {"stored": repr(error)}
        for name, fault in found.items():
            numbers.note(file.format, name, fault, file.name)
    for format, members in by_format.items():
        print(f"{format}: {len(members)} files in either order", file=sys.stderr)
        numbers.note(format, "any order", stored.in_any_order(members), f"{len(members)} files of {format}")


def suites() -> Iterator[tuple[str, int, int]]:
    """Each row: its name, how many cases there are, how many passed."""
    for name, (path, only) in SUITES.items():
        with tempfile.TemporaryDirectory(prefix="countersign-bench-") as folder:
            report = Path(folder) / "report.xml"
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path, f"--junitxml={report}"]
            subprocess.run([*command, "-k", only], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            result = ElementTree.parse(report).getroot().find("testsuite")
        told = {key: int(result.get(key)) for key in ("tests", "failures", "errors", "skipped")}
        of = told["tests"] - told["skipped"]  # for want of a file that was left out of the corpus
        yield name, of, of - told["failures"] - told["errors"]


def main() -> int:
    """The exit status: 0 when every number meets its target."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--part", default="1/1", help="K/N: every N-th file of each format, from the K-th on")
    options.add_argument("--format", action="append", default=[], help="only files of this format; may be repeated")
    options.add_argument("--pure", action="store_true", help="only what needs no database")
    chosen = options.parse_args()
    if not CORPUS.is_dir():
        print("There are no files in ../shared/corpus, of which the numbers are.", file=sys.stderr)
        return 2
    first, step = map(int, chosen.part.split("/"))
    numbers = Numbers()
    files = list(corpus.some(chosen.format, step, first - 1))
    pure(files, numbers)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the server is stopped on the way out
    if not chosen.pure:
        postgres.TUNING |= {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
        with installation() as environment:
            os.environ |= environment
            import django

            django.setup()
            stored(files, numbers)
    return _tell(numbers, suites() if not chosen.pure and not chosen.format and step == 1 else ())


def _tell(numbers: Numbers, cases: Iterable[tuple[str, int, int]]) -> int:
    print(table(("format", "files", *COLUMNS), numbers.rows()))
    print("\nA cell says of how many files it is true; empty: it does not apply to any.\n")
    failed = False
    if cases:
        rows = [(name, str(of), str(good)) for name, of, good in cases]
        failed = any(of != good or of == "0" for _, of, good in rows)
        print(table(("known outcomes", "cases", "as expected"), rows), end="\n\n")
    for one in corpus.DIFFERENCES:
        print(f"The manifest is wrong about {one.file}: {one.why}.")
    for name, why in checks.NOT_ADDED_UP.items():
        print(f"No total to compare with in {name}: {why}.")
    for name, why in checks.NOT_BY_VCON.items():
        print(f"Not compared by vCon: {name}: {why}.")
    for fault in numbers.faults:
        print(f"FAULT {fault:.400}")
    return int(failed or bool(numbers.missed()))


if __name__ == "__main__":
    sys.exit(main())

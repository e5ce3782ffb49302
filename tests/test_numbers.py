"""The numbers of ``bench.formats.numbers`` on a part of the corpus; and that a miss is told."""

from __future__ import annotations

import pytest

from bench.formats import checks, corpus, numbers
from bench.formats.corpus import CORPUS, Difference, File
from bench.formats.numbers import Numbers
from vcon_app import registry

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="needs the files in ../shared/corpus")
SMALL = 20_000
"""Bytes of a file that is stored here: the larger ones are by command."""


def smallest(count: int, *names: str) -> list[File]:
    """Of each format, or of those named, so many of the smallest files that hold something."""
    by_format: dict[str, list[File]] = {}
    for file in corpus.some(names):
        if 200 < len(file.data) < SMALL and corpus.claims(file.name):
            by_format.setdefault(file.format, []).append(file)
    return [file for files in by_format.values() for file in sorted(files, key=lambda file: len(file.data))[:count]]


@needs_corpus
def test_every_file_is_read_counted_and_recognised_as_it_must_be() -> None:
    found = Numbers()
    numbers.pure(corpus.some(), found)
    assert found.missed() == [] and found.faults == []
    total = sum(found.of.values(), found.of.default_factory())
    assert total["files"] > 500 and total["records"] > 190 and total["tokens"] > 180 and total["own totals"] > 30


@needs_corpus
@pytest.mark.django_db
def test_stored_session_is_the_same_by_every_import_path(settings, tmp_path) -> None:
    settings.DATA_DIR, settings.DOCUMENTS_DIR = tmp_path, tmp_path / "documents"
    found = Numbers()
    numbers.stored(smallest(1), found)
    numbers.stored(smallest(3, "claude-code", "codex"), found)
    assert found.missed() == [] and found.faults == []
    assert len(found.of) >= 18 and sum(counts["by halves"] for counts in found.of.values()) >= 5


@needs_corpus
def test_every_difference_from_the_manifest_is_about_a_file_that_is_there() -> None:
    names = [file.name for file in corpus.transcripts()]
    for ending in (*(one.file for one in corpus.DIFFERENCES), *checks.NOT_ADDED_UP, *checks.NOT_BY_VCON):
        assert sum(name.endswith(ending) for name in names) == 1, ending


@needs_corpus
def test_a_count_that_is_not_that_of_the_manifest_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    file = next(corpus.some(["codex"]))
    wrong = Difference(file.name.rpartition("/")[2], "made up", {"records": 1, "output": -1})
    monkeypatch.setattr(corpus, "DIFFERENCES", (*corpus.DIFFERENCES, wrong))
    found = Numbers()
    numbers.pure([file], found)
    assert found.missed() == ["records", "tokens"]
    assert all(file.name in fault for fault in found.faults) and len(found.faults) == 2


@needs_corpus
def test_a_reader_that_fails_is_a_miss_and_the_others_are_still_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(source: object) -> None:
        raise KeyError("a fault")

    monkeypatch.setattr(registry.get("codex"), "read", read)
    found = Numbers()
    numbers.pure(corpus.some(["codex", "atif"]), found)
    assert found.good["codex"]["imported"] == 0 and found.of["codex"]["imported"] > 10
    assert found.good["atif"]["imported"] == found.of["atif"]["imported"] == 5
    assert "imported" in found.missed()


def test_detection_may_miss_one_in_a_hundred_and_nothing_else_may() -> None:
    found = Numbers()
    for number in range(100):
        found.note("x", "detected", "" if number else "nobody", "f")
        found.note("x", "records", "" if number else "1 for 2", "f")
    assert found.missed() == ["records"]
    found.note("x", "detected", "nobody", "f")
    assert found.missed() == ["records", "detected"]
    assert found.rows()[-1][:2] == ("all", "0")


def test_every_suite_of_known_outcomes_names_tests_that_exist() -> None:
    for path, _ in numbers.SUITES.values():
        assert (numbers.ROOT / path).exists()

"""The fuzzer finds what it looks for; and in a short run over our samples and the corpus it finds nothing."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.formats import fuzz, mutate, trial
from bench.formats.mutate import Original, Pool, mutation
from bench.places import ROOT
from vcon_app.formats.contract import Spec

POOL = Pool([Original("a.json", "a", b'{"a": [1, {"b": "x"}]}'), Original("b.jsonl", "b", b'{"c": 1}\n{"d": 2}\n')])


def test_a_short_run_finds_no_fault(tmp_path: Path) -> None:
    """The same 2,000 mutations each time: longer and other ones are made by command."""
    command = [sys.executable, "-m", "bench.formats.fuzz", "--mutations", "2000", "--seed", "3", "--folder", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    found = "\n".join(path.read_text() for path in tmp_path.glob("*.txt"))
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{found}"
    assert "2,000 mutations" in done.stdout


def test_a_mutation_is_made_the_same_again_and_is_not_the_one_before() -> None:
    made = [mutation(1, number, POOL) for number in range(200)]
    assert made == [mutation(1, number, Pool(POOL.files)) for number in range(200)]
    assert made != [mutation(2, number, POOL) for number in range(200)]
    assert {one.format for one in made} == {"a", "b"}
    assert len({one.data for one in made}) > 150


def test_small_files_come_more_often_than_large_ones() -> None:
    pool = Pool([Original("small", "a", b"x"), Original("large", "a", b"x" * 100_000)])
    dice = random.Random(1)
    drawn = [pool.draw(dice).name for _ in range(1_000)]
    assert 10 < drawn.count("large") < 100


def test_bytes_that_no_json_library_writes_stand_in_documents() -> None:
    made = b"".join(mutation(1, number, POOL).data for number in range(2_000))
    for rare in (b'"\\ud800"', b"[[[[[[[[", b"1e999", b"NaN", b'{"type":"a","type":7}', b"\x1f\x8b", b"PK\x03\x04"):
        assert rare in made


class Faulty:
    """A format with a fault that a test chooses."""

    SPEC = Spec(name="faulty", title="faulty", grows="lines")

    def __init__(self, fault: object) -> None:
        self.fault = fault

    def detect(self, head: object) -> bool:
        return True

    def read(self, source: object) -> Iterator[object]:
        yield self.fault() if callable(self.fault) else self.fault


def spin() -> None:
    while True:
        pass


@pytest.fixture
def limited() -> Iterator[None]:
    before = signal.signal(signal.SIGPROF, fuzz._hang)
    yield
    signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (lambda: 1 / 0, ZeroDivisionError),
        (spin, fuzz.Hang),
        (lambda: fuzz._audit("socket.connect", ()), fuzz.Reached),
        (trial.EventDraft(kind="poem", key="1"), trial.Wrong),
        (trial.SessionDraft(external_id=""), trial.Wrong),
    ],
)
def test_fault_of_a_reader_is_found(fault, found, limited: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial.registry, "readers", lambda: {"faulty": Faulty(fault)})
    monkeypatch.setattr(trial.registry, "get", lambda name: Faulty(fault))
    monkeypatch.setattr(fuzz, "CPU_SECONDS", 0.2)
    error = fuzz._try(trial, mutate.Mutation(b"x", None, ""), 1, 1)
    assert isinstance(error, found)
    assert error.__traceback__ is not None


def test_format_error_of_a_reader_is_no_fuzzing_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise trial.FormatError("no")

    monkeypatch.setattr(trial.registry, "readers", lambda: {"faulty": Faulty(refuse)})
    monkeypatch.setattr(trial.registry, "get", lambda name: Faulty(refuse))
    assert fuzz._try(trial, mutate.Mutation(b"x", "faulty", ""), 1, 1) is None


@pytest.mark.parametrize(
    ("done", "found"),
    [
        ("__import__('socket').create_connection(('127.0.0.1', 9))", "Reached"),
        ("__import__('socket').getaddrinfo('desk.example', 80)", "Reached"),
        ("__import__('subprocess').run(['true'])", "Reached"),
        ("bytearray(600 * 1024 * 1024)", "MemoryError"),
        ("bytearray(100 * 1024 * 1024)", ""),
    ],
)
def test_a_worker_has_neither_network_nor_programs_nor_much_memory(done: str, found: str) -> None:
    code = f"from bench.formats import fuzz; fuzz._limit(); {done}"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode == 0) == (not found)
    assert found in ended.stderr


def test_a_worker_that_dies_is_a_fault_and_the_next_goes_on(tmp_path: Path) -> None:
    lane = fuzz.Lane(fuzz.Plan(seed=1, first=0, end=400_000, step=1, folder=tmp_path, with_corpus=False))
    try:
        lane.process.join(0.5)
        lane.process.kill()
        lane.process.join()
        number = lane.current.value
        assert lane.watch() and lane.watch()
        assert lane.failed.value == 1 and lane.process.is_alive()
        assert "the process ended with -9" in (tmp_path / f"{number}.txt").read_text()
        assert (tmp_path / f"{number}.bin").exists() and lane.current.value > number
    finally:
        lane.stop()

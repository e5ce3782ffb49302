"""Does any file crash us? ``python -m bench.formats.fuzz --mutations 1000000 [--seed S] [--minutes M] [--workers 2]``

Mutates our samples and, where it is present, ../shared/corpus, and does with each mutation what an import does. A
failure is: an exception other than ``FormatError``, more than 5 s of CPU, more than 500 MB of memory, any use of the
network or of another program, the end of the process. Its input and traceback are written to a folder, and the run
goes on; the exit status is 1 at the end. ``--from N --mutations 1`` makes mutation N again. See
``bench.formats.mutate`` for what is changed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, NoReturn

import psutil

from ..places import CACHE, ROOT
from .mutate import Mutation, Original, Pool, mutation

CORPUS = ROOT.parent / "shared" / "corpus"
SAMPLES = ROOT / "tests" / "samples"
OPAQUE = ("sealed.bin",)
"""Files of the corpus in no format."""
CPU_SECONDS = 5
MEMORY = 500 * 1024 * 1024
THOROUGH = 50
"""Every so many mutations also go through verification and all writers."""
KEPT = 3
"""Inputs that are kept of failures at one place in the code."""
STUCK_SECONDS = 180
"""Without progress, on a machine that others use: a process that waits, or that a signal does not reach in C."""
TOLD_SECONDS = 30
AGAIN = 75
"""Exit status of a worker that wants a new process for the next mutation."""
FORBIDDEN = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.bind",
             "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")  # fmt: skip
"""Events of the interpreter's audit (PEP 578) that no reader may cause."""


class Hang(BaseException):
    """Over the limit of CPU time; no handler of ``Exception`` may swallow it."""


class Reached(BaseException):
    """The network or another program was used."""


@dataclass(frozen=True)
class Plan:
    """What a worker is to do: mutations ``first``, ``first + step``, … below ``end``."""

    seed: int
    first: int
    end: int
    step: int
    folder: Path
    with_corpus: bool


def files(with_corpus: bool) -> Iterator[Original]:
    """Our samples, stores made for tests, and the corpus, each with the format that it is in."""
    from tests.formats.stores.made import STORES
    from vcon_app import registry
    from vcon_app.drafts import FormatError

    for name, data in STORES.items():
        yield Original(f"stores/{name}.db", name, data)
    for top in (SAMPLES, CORPUS) if with_corpus else (SAMPLES,):
        for path in sorted(top.rglob("*")):
            if path.is_file() and path.suffix != ".expected" and path.name not in OPAQUE:
                found = None
                with suppress(FormatError):
                    found = registry.detect(path)[0]
                yield Original(path.relative_to(top.parent).as_posix(), found, path.read_bytes())


# --- the worker ---


def work(plan: Plan, current: Any, failed: Any, greatest: Any) -> None:
    """Try the mutations of a plan. ``current`` tells the parent which is at hand, ``failed`` how many failed, and
    ``greatest`` which one took the process to its greatest size."""
    import django

    django.setup()
    from vcon_app.services import memory

    from . import trial

    trial.be_strict()
    pool = Pool(list(files(plan.with_corpus)))
    parent = os.getppid()
    _limit()
    places: Counter[str] = Counter()
    peak = _peak_kb()
    for number in range(plan.first, plan.end, plan.step):
        if os.getppid() != parent:
            return
        current.value = number
        made = mutation(plan.seed, number, pool)
        error = _try(trial, made, plan.seed, number)
        memory.give_back(len(made.data))
        if (now := _peak_kb()) > peak:
            peak, greatest.value = now, number
        if error is not None:
            failed.value += 1
            place = _place(error)
            places[place] += 1
            if places[place] <= KEPT:
                keep(plan.folder, number, made, "".join(traceback.format_exception(error)))
            if isinstance(error, (MemoryError, SystemError)):  # C libraries may have lost their footing
                current.value = number + plan.step
                sys.exit(AGAIN)
    current.value = plan.end


def _peak_kb() -> int:
    """What the process had in memory at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _limit() -> None:
    """Memory, CPU time, network: once, for the whole process."""
    process = psutil.Process().memory_info()
    most = process.vms + MEMORY - process.rss
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _hang)
    sys.addaudithook(_audit)


def _hang(number: int, frame: FrameType | None) -> NoReturn:
    raise Hang(f"over {CPU_SECONDS} s of CPU")


def _audit(event: str, given: tuple[Any, ...]) -> None:
    if event in FORBIDDEN:
        raise Reached(f"{event} {given!r:.200}")


def _try(trial: Any, made: Mutation, seed: int, number: int) -> BaseException | None:
    import random

    thorough = None if number % THOROUGH else random.Random(f"{seed}:{number}:format")
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        trial.run(made.data, made.format, thorough=thorough)
    except (Exception, Hang, Reached) as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def _place(error: BaseException) -> str:
    """The line of ours in which it happened."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(str(ROOT))]
    last = ours[-1] if ours else None
    return f"{type(error).__name__} {last.filename}:{last.lineno}" if last else type(error).__name__


def keep(folder: Path, number: int, made: Mutation, why: str) -> None:
    """The input of a failure and what is known of it."""
    (folder / f"{number}.bin").write_bytes(made.data)
    (folder / f"{number}.txt").write_text(f"{number}: {made.made}\nas {made.format}\n\n{why}", errors="replace")


# --- the parent ---


class Lane:
    """A worker process, started anew behind the mutation that ended it."""

    def __init__(self, plan: Plan) -> None:
        self._context = multiprocessing.get_context("spawn")
        self.plan = plan
        self.failed = self._context.Value("q", 0)
        self.current = self._context.Value("q", plan.first)
        self.greatest = self._context.Value("q", plan.first)
        self.peak_mb = 0.0
        self._start(plan.first)

    def _start(self, first: int) -> None:
        self.current.value, self._seen, self._since = first, first, monotonic()
        plan = Plan(self.plan.seed, first, self.plan.end, self.plan.step, self.plan.folder, self.plan.with_corpus)
        shared = self.current, self.failed, self.greatest
        self.process = self._context.Process(target=work, args=(plan, *shared), daemon=True)
        self.process.start()

    @property
    def done(self) -> int:
        """Mutations tried so far."""
        return (min(self.current.value, self.plan.end) - self.plan.first) // self.plan.step

    def watch(self) -> bool:
        """Whether there is more to do; a process that died or is stuck is a failure, and replaced."""
        number = self.current.value
        if not self.process.is_alive():
            if number >= self.plan.end:
                return False
            if self.process.exitcode == AGAIN:
                self._start(number)
                return True
            self._failed(number, f"the process ended with {self.process.exitcode}")
            return True
        with suppress(psutil.NoSuchProcess):
            self.peak_mb = max(self.peak_mb, psutil.Process(self.process.pid).memory_info().rss / 1e6)
        if number != self._seen:
            self._seen, self._since = number, monotonic()
        elif monotonic() - self._since > STUCK_SECONDS:
            self.process.kill()
            self.process.join()
            self._failed(number, f"no progress for {STUCK_SECONDS} s")
        return True

    def _failed(self, number: int, why: str) -> None:
        self.failed.value += 1
        pool = Pool(list(files(self.plan.with_corpus)))
        keep(self.plan.folder, number, mutation(self.plan.seed, number, pool), why)
        self._start(number + self.plan.step)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def main() -> int:
    """The exit status: 0 when nothing failed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mutations", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--from", type=int, default=0, dest="first", help="number of the first mutation")
    options.add_argument("--minutes", type=float, default=float("inf"))
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--samples-only", action="store_true", help="leave ../shared/corpus out")
    options.add_argument("--folder", type=Path, default=CACHE / "fuzz", help="where failures are kept")
    chosen = options.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="countersign-fuzz-") as data_dir:
        os.environ |= {"COUNTERSIGN_DATA_DIR": data_dir, "DJANGO_SETTINGS_MODULE": "config.settings"}
        end = chosen.first + chosen.mutations
        plan = Plan(chosen.seed, 0, end, chosen.workers, chosen.folder, CORPUS.is_dir() and not chosen.samples_only)
        return _run([Lane(Plan(**{**vars(plan), "first": chosen.first + n})) for n in range(chosen.workers)],
                    chosen.minutes)  # fmt: skip


def _run(lanes: list[Lane], minutes: float) -> int:
    began = told = monotonic()
    try:
        while sum(lane.watch() for lane in lanes) and monotonic() - began < 60 * minutes:
            lanes[0].process.join(0.2)
            if monotonic() - told > TOLD_SECONDS:
                told = monotonic()
                _tell(lanes, began)
    finally:
        for lane in lanes:
            lane.stop()
        _tell(lanes, began)
    return int(any(lane.failed.value for lane in lanes))


def _tell(lanes: list[Lane], began: float) -> None:
    done, failed = sum(lane.done for lane in lanes), sum(lane.failed.value for lane in lanes)
    rate, most = done / (monotonic() - began), max(lanes, key=lambda lane: lane.peak_mb)
    size = f"at most {most.peak_mb:,.0f} MB (mutation {most.greatest.value})"
    print(f"{done:,} mutations, {rate:,.0f} a second, {failed:,} failures, {size}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

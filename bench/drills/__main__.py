"""Does it go on when something dies, hangs or is taken away? ``python -m bench.drills [--only WORDS] [--long]``

Breaks an installation of its own in every way that ``breaking`` knows, each under load: webhooks, turns, appends,
imports, approvals that expire, a schedule. Measures how long after it new work of each kind is done, then stops the
load and looks whether everything that was accepted is there once. Exit status 1 when anything was lost, doubled or
stuck, or when the 95th percentile of all recoveries is over 30 s.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import quantiles

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from ..measure import table
from .breaking import DRILLS, Drill, Scene
from .desk import Desk, folder, own_database
from .load import Load
from .state import State, check

MOST_SECONDS = 30.0
"""Until everything runs again."""
PATIENCE = 120.0
"""So long a probe, and the work that is left at the end, is waited for; then it is stuck."""


@dataclass
class Outcome:
    """What came of one drill."""

    drill: Drill
    state: State
    seconds: dict[str, float]
    turn_p95: float
    refusals: dict[int, int]
    faults: list[str]

    @property
    def recovery(self) -> float:
        """Seconds until all kinds of work were done again."""
        return max(self.seconds.values())

    @property
    def is_good(self) -> bool:
        return not (self.state.lost or self.state.doubled or self.state.stuck) and self.recovery < PATIENCE


@contextmanager
def stage(name: str) -> Iterator[Scene]:
    """A running installation of the kind that a drill needs."""
    with ExitStack() as stack:
        first = stack.enter_context(folder())
        if name == "embedded":
            scene = Scene(Desk(first))
            stack.callback(lambda: scene.desk.stop())
        else:
            start = stack.enter_context(own_database(stack.enter_context(folder())))
            cluster, server = start()
            documents = stack.enter_context(folder())
            key = stack.enter_context(folder()) / "signing_key.pem"
            key.write_bytes(
                Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            )  # fmt: skip
            more = {"STORAGE_URL": f"file://{documents}", "COUNTERSIGN_SIGNING_KEY": str(key)}
            hosts = [Desk(first, cluster, more)]
            if name == "hosts":
                hosts.append(Desk(stack.enter_context(folder()), cluster, more))
            for host in hosts:
                stack.callback(host.stop)
            scene = Scene(hosts[0], start, server, hosts[1] if len(hosts) > 1 else None)
        yield scene


def run(drill: Drill, scene: Scene, hooks: float, seconds_before: float) -> Outcome:
    """One drill under load, and the look afterwards."""
    load = Load(scene.desk, hooks_per_second=hooks)
    with load:
        time.sleep(seconds_before)
        drill.run(scene)
        load.desk = scene.desk
        seconds = load.probes(PATIENCE)
        time.sleep(2)
    state = check(scene.desk, load, PATIENCE)
    # Two schedules at once would each begin sessions for the rest of the drills.
    scene.desk.ask("UPDATE sessions_app_schedule SET enabled = false WHERE id = %s RETURNING id", load.schedule)
    turns = load.turn_seconds
    return Outcome(drill, state, seconds, max(turns, default=float("inf")), load.refusals, load.faults)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="drills whose name contains these words")
    options.add_argument("--stage", choices=("embedded", "own", "hosts"), help="on this kind of installation alone")
    options.add_argument("--long", action="store_true", help="those that take minutes, too")
    options.add_argument("--hooks", type=float, default=5, help="webhooks a second")
    options.add_argument("--before", type=float, default=4, help="seconds of load before something is broken")
    chosen = options.parse_args()
    wanted = [one for one in DRILLS if chosen.only in one.name and (chosen.long or not one.is_long)]
    wanted = [one for one in wanted if chosen.stage in (None, one.stage)]
    outcomes: list[Outcome] = []
    for kind in ("embedded", "own", "hosts"):
        those = [one for one in wanted if one.stage == kind]
        # Two hosts are not the same after one was killed; the others go on where they are.
        for group in [[one] for one in those] if kind == "hosts" else [those] if those else []:
            with stage(kind) as scene:
                for one in group:
                    outcomes.append(run(one, scene, chosen.hooks, chosen.before))
                    report(outcomes[-1])
    print(summary(outcomes))
    p95 = percentile([outcome.recovery for outcome in outcomes])
    print(f"{len(outcomes)} drills, recovery p95 {p95:.1f} s, at most {MOST_SECONDS:.0f} s")
    return 0 if all(outcome.is_good for outcome in outcomes) and p95 <= MOST_SECONDS else 1


def report(outcome: Outcome) -> None:
    """A line as soon as it is known, and the details of what is wrong."""
    print(f"{outcome.drill.name}: {outcome.recovery:.1f} s {outcome.refusals}", file=sys.stderr, flush=True)
    state = outcome.state
    for word, found in (("lost", state.lost), ("doubled", state.doubled), ("stuck", state.stuck)):
        for what in found[:5]:
            print(f"  {word}: {what}", file=sys.stderr, flush=True)
    for fault in outcome.faults[:5]:
        print(f"  load: {fault}", file=sys.stderr, flush=True)


def summary(outcomes: list[Outcome]) -> str:
    """The table."""
    rows = [
        (
            one.drill.name,
            *(str(len(found)) for found in (one.state.lost, one.state.doubled, one.state.stuck)),
            *(f"{one.seconds[kind]:.1f}" for kind in ("ready", "turn", "import", "expiry")),
            f"{one.recovery:.1f}",
        )
        for one in outcomes
    ]
    return table(("drill", "lost", "doubled", "stuck", "ready", "turn", "import", "expiry", "recovery s"), rows)


def percentile(values: list[float]) -> float:
    """The 95th; of a few values the greatest."""
    return quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else max(values, default=0.0)


if __name__ == "__main__":
    sys.exit(main())

"""Files of further agents, kind by kind: ``python -m bench.formats.agents``

Of each kind the files of ``../shared/corpus/more-agents``: how many are read, how many are refused (each with its words
with ``--why``), and of those read how many have the tokens and the tool calls that were counted independently. The exit
status is 1 when a file is neither read nor refused, or tokens or calls differ and neither ``MENDED`` nor ``CALLS`` says
why.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from io import BytesIO

from vcon_app import registry
from vcon_app.drafts import Draft, FormatError

from .corpus import File, calls_in, further, tokens_in

COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning")
MENDED = {"openhands-v0/All-Hands-AI__OpenHands/output.jsonl": {"input": 1_913_342, "output": 13_341}}
"""Its three instances have a running total each, which begins anew; the manifest has the last one's alone."""
CALLS = {
    "copilot-vscode/git-ai-project__git-ai/copilot_session_event_stream.jsonl": 2,
    "copilot-vscode/git-ai-project__git-ai/copilot_vscode_event_stream.jsonl": 2,
    "grok/jazzyalex__agent-sessions/chat_history.jsonl": 3,
    "grok/kenn-io__agentsview/chat_history.jsonl": 2,
}
"""Calls that the manifest lacks: two logs of events were counted as chat sessions, which they are not, and calls that
Grok makes on xAI's side (``backend_tool_call``) as none."""


@dataclass
class Tally:
    """Counts of one kind."""

    files: int = 0
    read: int = 0
    refused: list[str] = field(default_factory=list)
    tokens: int = 0
    """Files read that have other tokens than the manifest, or none where it has some."""
    stated: int = 0
    calls: int = 0
    odd: list[str] = field(default_factory=list)


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--why", action="store_true", help="the words of each refusal, and what differs")
    why = options.parse_args(arguments).why
    tallies: dict[str, Tally] = defaultdict(Tally)
    for file in further():
        _count(file, tallies[file.entry["format"]])
    print(f"{'kind':<20}{'files':>6}{'read':>6}{'refused':>8}  {'tokens equal':>12}  {'calls equal':>11}")
    for kind, tally in sorted(tallies.items()):
        equal = f"{tally.stated - tally.tokens} of {tally.stated}" if tally.stated else "–"
        calls = f"{tally.read - tally.calls} of {tally.read}" if tally.read else "–"
        print(f"{kind:<20}{tally.files:>6}{tally.read:>6}{len(tally.refused):>8}  {equal:>12}  {calls:>11}")
        for line in (*tally.refused, *tally.odd) if why else ():
            print(f"    {line}")
    totals = [sum(t.files for t in tallies.values()), sum(t.read for t in tallies.values())]
    print(f"{totals[0]} files, {totals[1]} read, {sum(len(t.refused) for t in tallies.values())} refused in words")
    return int(any(tally.tokens or tally.calls for tally in tallies.values()))


def _count(file: File, tally: Tally) -> None:
    tally.files += 1
    name = file.name.rpartition("/")[2][-60:]
    try:
        drafts = drafts_of(file)
    except FormatError as error:
        tally.refused.append(f"{name}: {str(error).partition(registry.KNOWN)[0]}")
        return
    tally.read += 1
    counts = (file.entry.get("tokens") or {}) | MENDED.get(file.entry["file"], {})
    stated = {key: count for key, count in counts.items() if key in COUNTS and count is not None}
    ours = tokens_in(drafts)
    if stated:
        tally.stated += 1
        if different := {key: (ours[key], value) for key, value in stated.items() if ours[key] != value}:
            tally.tokens += 1
            tally.odd.append(f"{name}: tokens (ours, theirs) {different}")
    calls = CALLS.get(file.entry["file"], file.entry.get("tool_calls"))
    if calls is not None and calls != calls_in(drafts):
        tally.calls += 1
        tally.odd.append(f"{name}: {calls_in(drafts)} calls, {calls} in the manifest")


def drafts_of(file: File) -> list[Draft]:
    """The drafts of a file, and of the settings beside it, which say what its session used."""
    found = registry.reader(registry.detect(BytesIO(file.data))[0]).read(BytesIO(file.data))
    beside = [other for other in further() if other.name == file.name.replace(".jsonl", ".settings.json") != file.name]
    return [*found, *(draft for other in beside for draft in drafts_of(other))]


if __name__ == "__main__":
    sys.exit(main())

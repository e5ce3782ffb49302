"""Makes a Claude Code transcript of any length, the same each time: ``python -m bench.transcripts 50000``.

The shape is that of version 2.1: a response written as several lines that share ``message.id`` and repeat a growing
usage, tool results with their structured copy (patches, whole files), sub-agents inside the file, progress and hook
lines, compactions. About 2.5 KB a line. The words mean nothing.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, count, islice
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from .places import CACHE

Json = dict[str, Any]
START = datetime(2026, 4, 6, 8, 15, tzinfo=UTC)
ROOT = "/srv/orchard"
MODELS = ("claude-opus-4-5-20251101", "claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929")
PROSE = """
harvest ledger pruning valve crate orchard sensor frost irrigation pump blossom ladder basket sorting conveyor label
weight humidity forecast pallet silo grafting nursery rootstock compost drone survey fence gate tractor schedule picker
shift cold store pressure nozzle filter canopy spur thinning bee hive pollen windbreak
"""
PROGRAM = """
def {0}_{1}(readings, *, limit={n}):
    total = sum(r.{2} for r in readings if r.{0} is not None)
    if total > {n}:
        raise {1}Error(f"{0} over {{total}}")
    return [r for r in readings if r.{1} < limit]

class {0}Plan:
    {2}: int = {n}
    async def {1}(self, {0}):
        await self.{2}.put(({0}, {n}))
        # {0} before {1}: the {2} must be empty
"""
WORDS, CODE = PROSE.split(), PROGRAM.strip().splitlines()


@dataclass
class Truth:
    """What an importer has to find in the file."""

    lines: int = 0
    prompts: int = 0
    tool_calls: int = 0
    outputs: dict[str, int] = field(default_factory=dict)
    """Greatest output of each response, by its id."""

    def totals(self) -> dict[str, int]:
        """What a session page would say."""
        output = sum(self.outputs.values())
        return {"prompts": self.prompts, "tool_calls": self.tool_calls, "output_tokens": output}

    def see(self, line: Json) -> None:
        self.lines += 1
        self.prompts += line.get("promptSource") == "typed"
        if line["type"] == "assistant":
            message = line["message"]
            self.tool_calls += message["content"][0]["type"] == "tool_use"
            output = message["usage"]["output_tokens"]
            self.outputs[message["id"]] = max(output, self.outputs.get(message["id"], 0))


@dataclass
class Writer:
    """The state of one session while its lines are made."""

    dice: random.Random
    session: str
    now: datetime = START
    parent: str | None = None
    cached: int = 14_000

    # --- small parts ---

    def uuid(self) -> str:
        return str(UUID(int=self.dice.getrandbits(128), version=4))

    def token(self, prefix: str) -> str:
        return prefix + "".join(self.dice.choices("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", k=22))

    def words(self, least: int, most: int) -> str:
        return " ".join(self.dice.choices(WORDS, k=self.dice.randint(least, most)))

    def code(self, lines: int) -> list[str]:
        words = self.dice.choices(WORDS, k=3)
        return [template.format(*words, n=self.dice.randint(2, 900)) for template in self.dice.choices(CODE, k=lines)]

    def markdown(self) -> str:
        parts = [
            f"## {self.words(2, 5).title()}",
            self.words(15, 60),
            "\n".join(f"- `{self.words(1, 2)}`: {self.words(4, 9)}" for _ in range(4)),
        ]
        if self.dice.random() < 0.4:
            parts.append("```python\n" + "\n".join(self.code(self.dice.randint(4, 16))) + "\n```")
        return "\n\n".join(parts)

    def path(self) -> str:
        return f"{ROOT}/{self.dice.choice(WORDS)}/{self.dice.choice(WORDS)}_{self.dice.randint(1, 30)}.py"

    def line(self, kind: str, side: str | None, **more: Any) -> Json:
        """The fields that every line of a conversation has, linked to the line before it."""
        self.now += timedelta(milliseconds=self.dice.randint(40, 9_000))
        uuid = self.uuid()
        made = {
            "parentUuid": self.parent, "isSidechain": side is not None, "userType": "external", "cwd": ROOT,
            "sessionId": self.session, "version": "2.1.118", "gitBranch": "frost-alarm",
            **({"agentId": side} if side else {}), "type": kind, **more, "uuid": uuid,
            "timestamp": self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }  # fmt: skip
        self.parent = uuid
        return made

    # --- responses and results ---

    def response(self, blocks: list[Json], side: str | None = None) -> Iterator[Json]:
        """One line for each block; the last one has the true output, those before it what was known by then."""
        final = 20 + sum(len(orjson.dumps(block)) for block in blocks) // 4
        written = self.dice.randint(100, 4_000)
        hour = written if self.dice.random() < 0.2 else 0
        message_id, request_id, model = self.token("msg_01"), self.token("req_01"), self.dice.choice(MODELS)
        for number, block in enumerate(blocks, 1):
            last = number == len(blocks)
            usage = {
                "input_tokens": 3, "cache_creation_input_tokens": written, "cache_read_input_tokens": self.cached,
                "cache_creation": {"ephemeral_5m_input_tokens": written - hour, "ephemeral_1h_input_tokens": hour},
                "output_tokens": final if last else number * 2, "service_tier": "standard",
            }  # fmt: skip
            stop = ("tool_use" if block["type"] == "tool_use" else "end_turn") if last else None
            message = {
                "model": model, "id": message_id, "type": "message", "role": "assistant", "content": [block],
                "stop_reason": stop, "stop_sequence": None, "usage": usage,
            }  # fmt: skip
            yield self.line("assistant", side, message=message, requestId=request_id)
        self.cached = min(self.cached + written, 160_000)

    def call(self, name: str, arguments: Json) -> Json:
        return {"type": "tool_use", "id": self.token("toolu_01"), "name": name, "input": arguments}

    def result(self, call: Json, text: Any, structured: Any, side: str | None = None) -> Json:
        failed = self.dice.random() < 0.05
        block = {
            "tool_use_id": call["id"],
            "type": "tool_result",
            "content": f"<tool_use_error>{self.words(4, 9)}" if failed else text,
        }
        message = {"role": "user", "content": [block | ({"is_error": True} if failed else {})]}
        return self.line(
            "user", side, message=message, toolUseResult="Error: " + self.words(4, 9) if failed else structured
        )

    def think(self) -> Json:
        return {"type": "thinking", "thinking": self.words(20, 150), "signature": self.token("Eq") * 25}

    # --- tools: the call, its text, its structured copy ---

    def read(self) -> tuple[Json, Any, Any]:
        path, body = self.path(), self.code(self.dice.choice((30, 75, 140, 260)))
        file = {
            "filePath": path,
            "content": "\n".join(body),
            "numLines": len(body),
            "startLine": 1,
            "totalLines": len(body),
        }
        text = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(body, 1))
        return self.call("Read", {"file_path": path}), text, {"type": "text", "file": file}

    def shell(self) -> tuple[Json, Any, Any]:
        rows = self.dice.choice((1, 4, 25, 80))
        out = "\n".join(
            f"\x1b[3{self.dice.randint(1, 6)}m{self.words(1, 1)}\x1b[0m {self.words(3, 8)} ok" for _ in range(rows)
        )
        call = self.call("Bash", {"command": f"make {self.words(1, 2)}", "description": self.words(3, 6)})
        return call, out, {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}

    def edit(self) -> tuple[Json, Any, Any]:
        path, old, new = self.path(), self.code(self.dice.randint(1, 9)), self.code(self.dice.randint(1, 12))
        hunk = {"oldStart": 12, "oldLines": len(old), "newStart": 12, "newLines": len(new)}
        patch = [hunk | {"lines": [f"-{line}" for line in old] + [f"+{line}" for line in new]}]
        before, after = "\n".join(old), "\n".join(new)
        call = self.call("Edit", {"file_path": path, "old_string": before, "new_string": after})
        structured = {
            "filePath": path, "oldString": before, "newString": after, "originalFile": "\n".join(self.code(60)),
            "structuredPatch": patch, "userModified": False, "replaceAll": False,
        }  # fmt: skip
        return call, f"The file {path} has been updated.", structured

    def grep(self) -> tuple[Json, Any, Any]:
        names = [self.path() for _ in range(self.dice.randint(1, 20))]
        call = self.call("Grep", {"pattern": self.words(1, 1), "output_mode": "files_with_matches"})
        return (
            call,
            "\n".join([f"Found {len(names)} files", *names]),
            {"mode": "files_with_matches", "filenames": names, "numFiles": len(names)},
        )

    def write(self) -> tuple[Json, Any, Any]:
        path, body = self.path(), "\n".join(self.code(self.dice.choice((20, 60, 160))))
        call = self.call("Write", {"file_path": path, "content": body})
        return (
            call,
            f"File created successfully at: {path}",
            {"type": "create", "filePath": path, "content": body, "structuredPatch": []},
        )

    def todo(self) -> tuple[Json, Any, Any]:
        todos = [{"content": self.words(4, 8), "status": "pending", "activeForm": self.words(4, 8)} for _ in range(5)]
        return (
            self.call("TodoWrite", {"todos": todos}),
            "Todos have been modified.",
            {"oldTodos": [], "newTodos": todos},
        )

    def tool(self) -> tuple[Json, Any, Any]:
        tools: tuple[Callable[[], tuple[Json, Any, Any]], ...] = (
            self.read,
            self.shell,
            self.edit,
            self.grep,
            self.write,
            self.todo,
        )
        return self.dice.choices(tools, weights=(26, 28, 18, 14, 6, 8))[0]()

    # --- turns ---

    def turn(self) -> Iterator[Json]:
        """A prompt and everything until the next one."""
        yield self.line("user", None, message={"role": "user", "content": self.words(6, 80)}, promptSource="typed")
        snapshot = {"messageId": self.parent, "trackedFileBackups": {}}
        yield {
            "type": "file-history-snapshot",
            "messageId": self.parent,
            "snapshot": snapshot,
            "isSnapshotUpdate": False,
        }
        for _ in range(self.dice.randint(2, 16)):
            yield from self.step()
        yield from self.response([{"type": "text", "text": self.markdown()}])
        yield self.line(
            "system", None, subtype="turn_duration", durationMs=self.dice.randint(3_000, 300_000), isMeta=False
        )
        if self.dice.random() < 0.02:
            yield from self.compact()

    def step(self) -> Iterator[Json]:
        """A response that calls tools, and their results."""
        if self.dice.random() < 0.03:
            yield from self.delegate()
            return
        tools = [self.tool() for _ in range(self.dice.choices((1, 2, 4), weights=(8, 2, 1))[0])]
        thought = [self.think()] if self.dice.random() < 0.3 else []
        said = [{"type": "text", "text": self.words(8, 50)}] if self.dice.random() < 0.5 else []
        yield from self.response([*thought, *said, *(call for call, _, _ in tools)])
        for call, text, structured in tools:
            yield self.result(call, text, structured)
            if self.dice.random() < 0.2:
                hook = {
                    "type": "hook_success",
                    "hookName": f"PostToolUse:{call['name']}",
                    "toolUseID": call["id"],
                    "stdout": "ok",
                    "exitCode": 0,
                }
                yield self.line("attachment", None, attachment=hook)

    def delegate(self) -> Iterator[Json]:
        """A sub-agent: its lines stand in the file, marked as a side chain."""
        agent, prompt = f"a{self.dice.getrandbits(48):012x}", self.words(30, 90)
        call = self.call("Task", {"description": self.words(3, 5), "prompt": prompt, "subagent_type": "Explore"})
        yield from self.response([call])
        main = self.parent
        yield self.line("progress", None, data={"type": "agent_progress", "agentId": agent}, toolUseID=call["id"])
        yield self.line("user", agent, message={"role": "user", "content": prompt})
        for _ in range(self.dice.randint(1, 5)):
            inner, text, structured = self.tool()
            yield from self.response([inner], agent)
            yield self.result(inner, text, structured, agent)
        report = self.words(40, 120)
        yield from self.response([{"type": "text", "text": report}], agent)
        self.parent = main
        content = [{"type": "text", "text": report}]
        yield self.result(
            call, content, {"status": "completed", "agentId": agent, "content": content, "totalToolUseCount": 3}
        )

    def compact(self) -> Iterator[Json]:
        yield self.line(
            "system",
            None,
            subtype="compact_boundary",
            content="Conversation compacted",
            compactMetadata={"trigger": "auto", "preTokens": 158_000},
        )
        summary = f"This session is being continued from a previous conversation. {self.words(200, 500)}"
        yield self.line("user", None, message={"role": "user", "content": summary}, isCompactSummary=True)
        self.cached = 16_000


def write(path: Path, lines: int, seed: int = 5) -> Truth:
    """Write a transcript of exactly ``lines`` lines; its last turn may break off, as when somebody closes the lid.

    A shorter one begins with the same lines, but is another session.
    """
    writer, truth = Writer(random.Random(seed), session=str(UUID(int=lines << 64 | seed))), Truth()
    turns = chain.from_iterable(writer.turn() for _ in count())
    with path.open("wb") as file:
        for line in islice(turns, lines):
            file.write(orjson.dumps(line) + b"\n")
            truth.see(line)
    return truth


def cached(lines: int) -> tuple[Path, dict[str, int]]:
    """A transcript of that length in the cache of the benchmarks, and what an importer has to count in it."""
    made_by = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
    path = CACHE / f"transcript-{lines}-{made_by}.jsonl"
    counts = path.with_suffix(".json")
    if not counts.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        counts.write_bytes(orjson.dumps(write(path, lines).totals()))
    return path, orjson.loads(counts.read_bytes())


if __name__ == "__main__":
    for length in map(int, sys.argv[1:] or ("1000", "10000", "50000")):
        made, totals = cached(length)
        print(f"{made}  {length:,} lines  {made.stat().st_size / 1e6:.1f} MB  {totals}")

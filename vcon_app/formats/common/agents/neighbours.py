"""Files that agents keep beside their sessions: what such a one is, and which file to bring in its place.

Devin's and Warp's stores are here because no file of either has been seen by whoever wrote the readers.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..head import Head


@dataclass(frozen=True, slots=True)
class Neighbour:
    """``keys`` are members of the object, of the first of a list, or of a line; ``tables`` those of a store."""

    what: str
    keys: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()


def _keys(names: str, what: str) -> Neighbour:
    return Neighbour(what, keys=frozenset(names.split()))


def _tables(names: str, what: str) -> Neighbour:
    return Neighbour(what, tables=frozenset(names.split()))


NEIGHBOURS = (
    _keys(
        "sessionId messageId type message timestamp",
        "the list of what was typed into Gemini CLI, prompts alone: bring the files in the folder chats beside it",
    ),
    _keys(
        "display pastedContents timestamp project",
        "the history of what was typed into Claude Code, prompts alone: bring the files below ~/.claude/projects",
    ),
    _keys(
        "sessionId title dateCreated workspaceDirectory",
        "the list of Continue's sessions, without a message: bring the files beside it that are named by these ids",
    ),
    _keys(
        "id ts task tokensIn tokensOut",
        "the list of tasks of Cline, Roo Code or Kilo Code, without a message: bring tasks/ID/ui_messages.json",
    ),
    _keys(
        "files_in_context model_usage",
        "what Cline, Roo Code or Kilo Code keep about a task, without a message: bring ui_messages.json beside it",
    ),
    _keys(
        "id projectID directory time",
        "what OpenCode keeps about a session, without a message: bring opencode.db, or what opencode export gives",
    ),
    _keys(
        "session_id cwd session_state",
        "the state of a session of Kiro's CLI, without a message: bring the .jsonl of the same name beside it",
    ),
    _keys(
        "traceSchema sessionId",
        "the trace that OpenClaw keeps beside a session: bring the .jsonl that is named by the session alone",
    ),
    _keys(
        "resourceLogs",
        "logs that OpenTelemetry exported, of no agent that is known here: bring its spans, or its files",
    ),
    _keys("resourceMetrics", "metrics that OpenTelemetry exported, numbers without a message: bring spans or logs"),
    _tables(
        "sessions message_nodes",
        "the store of Devin's CLI, which is not read here: bring the session as another format, ATIF for one",
    ),
    _tables(
        "agent_conversations ai_queries",
        "the store of Warp, which keeps prompts and no answers: bring the session of the agent that ran in it",
    ),
)


def neighbour_of(head: Head) -> str:
    """What the file is, and what to bring; "" for one that is none of these."""
    items = {path.removeprefix("item.") for path in head.shape if path.startswith("item.")}
    names = head.keys or items
    if names and all(name.startswith("agent:") for name in names):
        return (
            "the list of an OpenClaw or Hermes gateway's sessions: bring the .jsonl files beside it, named by their ids"
        )
    return next(
        (
            one.what for one in NEIGHBOURS
            if (one.tables and one.tables <= head.tables.keys()) or (one.keys and one.keys <= names)
        ),
        "",
    )  # fmt: skip

"""Where coding agents keep their sessions in a person's home, so that ``ingest --from`` finds them.

Patterns are those of ``Path.glob``, below the home folder; of each agent several, for its versions and for the systems
that it runs on. Files whose names match and that hold no session are refused when they are read, like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG

EDITORS = (
    ".config/Code/User", ".config/Code - Insiders/User", ".config/VSCodium/User", ".vscode-server/data/User",
    "Library/Application Support/Code/User",
)  # fmt: skip


def _editors(rest: str) -> tuple[str, ...]:
    return tuple(f"{editor}/{rest}" for editor in EDITORS)


PLACES: dict[str, tuple[str, ...]] = {
    "acpx": (".acpx/sessions/*.stream*.ndjson",),
    "aider": (".aider.chat.history.md", "*/.aider.chat.history.md", "*/*/.aider.chat.history.md"),
    "amp": (".local/share/amp/threads/T-*.json",),
    "antigravity": (
        ".gemini/antigravity/brain/*/.system_generated/logs/transcript_full.jsonl",
        ".gemini/antigravity-cli/brain/*/.system_generated/logs/transcript_full.jsonl",
    ),
    "claude-code": (".claude/projects/**/*.jsonl",),
    "cline": (
        ".cline/data/sessions/*/*.messages.json",
        *_editors("globalStorage/saoudrizwan.claude-dev/tasks/*/ui_messages.json"),
    ),
    "codex": (
        ".codex/sessions/**/*.jsonl", ".codex/sessions/**/*.jsonl.zst",
        ".codex/archived_sessions/*.jsonl", ".codex/archived_sessions/*.jsonl.zst",
    ),
    "continue": (".continue/sessions/*-*.json",),
    "copilot": (".copilot/session-state/**/*.jsonl", *_editors("workspaceStorage/*/chatSessions/*.json*")),
    "crush": (".crush/crush.db", "*/.crush/crush.db", "*/*/.crush/crush.db", "*/*/*/.crush/crush.db"),
    "cursor": (
        ".cursor/projects/*/agent-transcripts/**/*.jsonl", ".config/Cursor/User/globalStorage/state.vscdb",
        "Library/Application Support/Cursor/User/globalStorage/state.vscdb",
    ),
    "droid": (".factory/sessions/**/*.jsonl", ".factory/sessions/**/*.settings.json"),
    "gemini-cli": (".gemini/tmp/*/chats/*.json*",),
    "goose": (".local/share/goose/sessions/*.jsonl", ".local/share/goose/sessions/sessions.db"),
    "gptme": (".local/share/gptme/logs/*/conversation.jsonl",),
    "grok": (".grok/sessions/**/chat_history.jsonl",),
    "hermes": (".hermes/sessions/session_*.json", ".hermes/state.db"),
    "iflow": (".iflow/projects/**/*.jsonl",),
    "kilo": _editors("globalStorage/kilocode.kilo-code/tasks/*/ui_messages.json"),
    "kimi": (".kimi-code/sessions/**/wire.jsonl", ".kimi/sessions/**/wire.jsonl"),
    "kiro": (
        ".kiro/sessions/cli/*.jsonl", ".local/share/kiro-cli/data.sqlite3",
        "Library/Application Support/kiro-cli/data.sqlite3",
        *(f"{place}/globalStorage/kiro.kiroagent/workspace-sessions/*/*.json" for place in (
            ".config/Kiro/User", "Library/Application Support/Kiro/User",
        )),
    ),
    "openclaw": (".openclaw/agents/*/sessions/*.jsonl", ".clawdbot/agents/*/sessions/*.jsonl"),
    "opencode": (
        ".local/share/opencode/opencode*.db",
        *(f"{project}.opencode/opencode.db" for project in ("", "*/", "*/*/", "*/*/*/")),
    ),
    "openhands": (".openhands/conversations/*/events/*.json", ".openhands/conversations/*/base_state.json"),
    "pi": (".pi/agent/sessions/**/*.jsonl", ".omp/agent/sessions/**/*.jsonl"),
    "qoder": (".qoder/projects/**/*.jsonl",),
    "qwen-code": (".qwen/projects/*/chats/*.jsonl",),
    "roo": _editors("globalStorage/rooveterinaryinc.roo-cline/tasks/*/ui_messages.json"),
    "vibe": (".vibe/logs/session/*/messages.jsonl", ".vibe/logs/session/*/meta.json"),
    "windsurf": (".windsurf/transcripts/*.jsonl",),
    "zed": (".local/share/zed/threads/threads.db", "Library/Application Support/Zed/threads/threads.db"),
}  # fmt: skip
"""Agent -> where its files lie."""


@dataclass(frozen=True, slots=True)
class Found:
    """Files of one agent."""

    agent: str
    files: tuple[Path, ...]
    size: int
    newest: datetime


def recordings_below(home: Path, agents: Iterable[str]) -> Iterator[Found]:
    """What there is of each of these agents, in the order of their names; nothing of those without files."""
    for agent in sorted(set(agents)):
        seen = {path: stat for pattern in PLACES[agent] for path in home.glob(pattern) if (stat := _plain(path))}
        if seen:
            newest = max(stat[1] for stat in seen.values())
            size = sum(stat[0] for stat in seen.values())
            yield Found(agent, tuple(sorted(seen)), size, datetime.fromtimestamp(newest, UTC))


def _plain(path: Path) -> tuple[int, float] | None:
    """Size and time of a plain file; None for links, folders, and what went away or may not be looked at."""
    try:
        stat = path.lstat()
    except OSError:
        return None
    return (stat.st_size, stat.st_mtime) if S_ISREG(stat.st_mode) and stat.st_size else None

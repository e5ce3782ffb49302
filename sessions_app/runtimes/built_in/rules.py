"""Answers without a model: fixed rules over the same tools, which say so. For workspaces without a key.

A word of the question picks the rule; each rule calls tools, in the log and with the rights of who asks, as a model's
calls are. What the tools gave decides what is called next, so that a turn that is gone on with comes to the same end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from sessions_app.drafts import ToolDraft
from sessions_app.models import Agent
from sessions_app.rendering import numbers, text

from .. import Ended, Outcome, Waits, calls
from ..run import TurnRun
from .tools import DeskTools

NO_MODEL = (
    "No model answered this. The workspace has no key of the Anthropic API, so fixed rules looked for a word that they "
    "know and read with the same tools; an admin can enter a key under Settings, Secrets."
)
KNOWN = "They know: what failed, what waits, usage, tools, triggers, search for WORDS; all else lists the sessions."
SHOWN = 5
"""Sessions, hits or runs in one answer."""
Json = dict[str, Any]
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class _NoAnswer(Exception):
    """A tool refused, or gave more than is kept; the message says which and why."""


class _Waiting(Exception):
    """A rule of the workspace has a person decide about a call."""


class _Interrupted(Exception):
    """A person stopped the turn."""


def advance(turn: TurnRun) -> Outcome:
    """Answer the message of a turn."""
    question = next((event.text for event in turn.events_of_turn("user_message") if not event.depth), "")
    looked_at = _Look(turn, DeskTools(turn))
    try:
        found = _rule_of(question)(looked_at, question)
    except _NoAnswer as none:
        found = str(none)
    except _Waiting:
        return Waits()
    except _Interrupted:
        return Ended(calls.cancelled(turn))
    said = "\n\n".join((NO_MODEL, found, KNOWN))
    turn.append(turn.event("agent_message", f"{looked_at.prefix}:answer", said))
    return Ended()


class _Look:
    """The tools as the rules use them, and the agent that the chat is about."""

    def __init__(self, turn: TurnRun, tools: DeskTools) -> None:
        self._turn, self._tools, self._count = turn, tools, 0
        retries = sum(event.data.get("status") == "retry" for event in turn.events_of_turn("status"))
        self.prefix = f"rules:{turn.turn}:{retries}"
        """Of the natural keys of this try."""
        named = str(turn.session.metadata.get("about_agent", ""))
        here = Agent.objects.filter(workspace_id=turn.session.workspace_id)
        self.about = here.filter(pk=named).first() if _UUID.fullmatch(named) else None

    @property
    def agent_id(self) -> str:
        return str(self.about.pk) if self.about else ""

    def ask(self, name: str, **arguments: Any) -> Json:
        """What a tool gives. Raises ``_NoAnswer``, ``_Waiting`` and ``_Interrupted``."""
        self._count += 1
        key = f"{self.prefix}:{self._count}"
        turn, id_ = self._turn, f"{self._turn.session_id}:{key}"
        if turn.interrupted:
            raise _Interrupted
        turn.append(turn.event("tool_call", key, tool=ToolDraft(call_id=id_, name=name, arguments=arguments)))
        if not calls.finish_open_calls(turn, self._tools.execute):
            raise _Waiting
        if turn.interrupted:
            raise _Interrupted
        result = next(event for event in turn.events_of_turn("tool_result") if event.call_id == id_)
        try:
            if result.tool_status == "ok":
                return orjson.loads(result.text)
        except orjson.JSONDecodeError:
            raise _NoAnswer(f"{name} gave more than is kept; ask for less at once.") from None
        raise _NoAnswer(f"{name} gave no answer: {_line(result.text)}.")


def _latest(look: _Look, question: str) -> str:
    found = look.ask("list_live_agent_sessions", agent=look.agent_id, limit=SHOWN)["sessions"]
    lines = [f"{_session(row)} {_cite(row)}" for row in found]
    return _listed("The latest sessions", lines, "There are no sessions.")


def _failed(look: _Look, question: str) -> str:
    found = look.ask("list_live_agent_sessions", agent=look.agent_id, has_errors=True, limit=SHOWN)["sessions"]
    lines = []
    for row in found:
        first = _first_error(look, row["id"])
        why = f": “{_line(_reason(first))}”" if first else ""
        lines.append(f"{_session(row)}{why} {_cite(row, first)}")
    return _listed("The latest sessions with errors", lines, "No session has errors.")


def _first_error(look: _Look, session_id: str) -> Json | None:
    """The first error of a session, else the first call that failed, among its first results."""
    for kind, limit in (("error", 1), ("tool_result", 50)):
        read = look.ask("read_live_agent_session", session_id=session_id, kind=kind, limit=limit)["events"]
        failed = (one for one in read if kind == "error" or one.get("untrusted_tool", {}).get("status") == "error")
        if first := next(failed, None):
            return first
    return None


def _reason(event: Json) -> str:
    tool = event.get("untrusted_tool", {})
    said = event.get("untrusted_text") or tool.get("result") or ""
    return f"{tool['name']}: {said}" if tool.get("name") else str(said)


def _waiting(look: _Look, question: str) -> str:
    asked = look.ask("list_live_agent_sessions", agent=look.agent_id, needs_approval=True, limit=50)
    here = {row["id"] for row in asked["sessions"]}
    pending = look.ask("list_pending_approvals", limit=50)["approvals"] if here else []
    lines = [
        f"{_line(row['untrusted_tool'].get('name', ''))}, asked at {row['requested_at']} [{row['session_id']}]"
        for row in pending
        if row["session_id"] in here
    ]
    return _listed("Calls that wait for a person, who decides under Approvals", lines, "Nothing waits for a person.")


def _usage(look: _Look, question: str) -> str:
    found = look.ask("list_live_agent_sessions", agent=look.agent_id, sort="-cost", limit=SHOWN)["sessions"]
    lines = []
    for row in found:
        used = look.ask("get_agent_session_usage", session_id=row["id"], limit=1)["session"]["usage"] or {}
        total = used.get("total_tokens")
        tokens = f"{total:,} tokens" if isinstance(total, int) else "tokens unknown"
        lines.append(f"{_session(row)}, {tokens} {_cite(row)}")
    return _listed("The sessions that cost the most", lines, "There are no sessions.")


def _tools(look: _Look, question: str) -> str:
    if not look.about:
        return "This chat is about no agent: begin one on the page of the agent."
    found = look.ask("list_available_tools", agent=look.agent_id)
    called = [_line(name) for name in found["untrusted_called"]]
    defined = [
        _line(one.get("name") or one.get("server") or "") if isinstance(one, dict) else _line(one)
        for one in found["untrusted_defined"]
    ]
    return f"Defined: {', '.join(defined) or 'none'}. Called in its latest sessions: {', '.join(called) or 'none'}."


def _triggers(look: _Look, question: str) -> str:
    runs = look.ask("list_agent_trigger_runs", limit=50)["untrusted_runs"]
    own = [run for run in runs if not look.about or (run.get("agent") or {}).get("id") == look.agent_id]
    lines = [
        f"{run['kind']} “{_line(run['name'])}”, {run['status']} at {run['fired_at']}"
        + (f" [{run['session_id']}]" if run["session_id"] else f": {_line(run['error'])}")
        for run in own[:SHOWN]
    ]
    return _listed("The latest trigger runs", lines, "None of the latest 50 trigger runs is of this agent.")


def _search(look: _Look, question: str) -> str:
    words = (_SEARCH.search(question) or [question, question])[1].strip()
    scope = f"agent:{look.about.slug} " if look.about else ""
    found = look.ask("search_live_agent_sessions", query=f"{scope}{words}"[:500], limit=SHOWN)["sessions"]
    lines = []
    for row in found:
        for hit in row["untrusted_hits"][:2]:
            around = "".join(piece["text"] for piece in hit["snippet"])
            lines.append(f"“{_line(around)}” {_cite(row, hit)}")
    return _listed(f"Found for “{_line(words)}”", lines, f"Nothing was found for “{_line(words)}”.")


_SEARCH = re.compile(r"\b(?:search(?: for)?|find|look for|mentions?)\b\s*:?\s*(.+)", re.IGNORECASE | re.DOTALL)
RULES: tuple[tuple[re.Pattern[str], Callable[[_Look, str], str]], ...] = (
    (_SEARCH, _search),
    (re.compile(r"\b(wait|pending|approv|stuck)", re.IGNORECASE), _waiting),
    (re.compile(r"\b(fail|error|wrong|broke|crash)", re.IGNORECASE), _failed),
    (re.compile(r"\b(usage|cost|token|money|spen[dt]|expensive)", re.IGNORECASE), _usage),
    (re.compile(r"\b(trigger|schedule|webhook)", re.IGNORECASE), _triggers),
    (re.compile(r"\btools?\b", re.IGNORECASE), _tools),
)
"""The first whose words stand in the question."""


def _rule_of(question: str) -> Callable[[_Look, str], str]:
    return next((rule for words, rule in RULES if words.search(question)), _latest)


def _session(row: Json) -> str:
    cost = row["cost"]["amount"]
    facts = [row["status"], _counted(row["turn_count"], "turn"), _counted(row["error_count"], "error")]
    facts += [numbers.money(cost)] if cost is not None else ["cost unknown"]
    return f"“{_line(row['untrusted_title'])}”, {', '.join(facts)}"


def _cite(session: Json, found: Json | None = None) -> str:
    return f"[{session['id']}#{found['seq']}]" if found else f"[{session['id']}]"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _listed(head: str, lines: Iterable[str], none: str) -> str:
    written = "\n".join(f"- {line}" for line in lines)
    return f"{head}:\n\n{written}" if written else none


def _line(untrusted: str) -> str:
    """Words of a stranger in a line, without what would be a citation or Markdown of ours."""
    return re.sub(r"[\[\]`*_<>#|\\]", " ", text.first_line(str(untrusted), 100)).strip() or "untitled"

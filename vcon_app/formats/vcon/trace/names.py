"""Members of trace entries under the names of VAC (draft-birkholz-verifiable-agent-conversations s3.8).

Recorders use the names of the models' APIs, of other drafts, or VAC's own in another spelling (``text``,
``token_usage``, ``modelId``). A member is renamed where VAC has a place for it that nothing else fills, and kept else.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from ....drafts import Json
from ...common.values import dict_of, text_of

TYPES = frozenset({"user", "assistant", "tool-call", "tool-result", "reasoning", "system-event"})
"""The discriminators of VAC s3.8; anything else is an unknown entry."""
NEEDED = {
    **dict.fromkeys(TYPES, "type"), "tool-call": "input", "tool-result": "output", "system-event": "event-type"
}  # fmt: skip
"""A member that an entry of each type has when its members have VAC's names."""
COMMON = frozenset({"type", "id", "timestamp", "parent-id", "children", "token-usage", "model-id", "agent-id"})
MEMBERS = {
    "user": COMMON | {"content"},
    "assistant": COMMON | {"content"},
    "tool-call": COMMON | {"name", "input", "call-id"},
    "tool-result": COMMON | {"name", "output", "call-id", "status", "is-error"},
    "reasoning": COMMON | {"content", "encrypted", "subject"},
    "system-event": COMMON | {"event-type", "data"},
}
ALL_MEMBERS = frozenset().union(*MEMBERS.values())
KINDS = {
    "event": "system-event",
    "system": "system-event",
    "developer": "system-event",
    "thinking": "reasoning",
    "thought": "reasoning",
    "tool-use": "tool-call",
    "function-call": "tool-call",
    "function-call-output": "tool-result",
    "tool-output": "tool-result",
    "human": "user",
    "agent": "assistant",
    "model": "assistant",
    "ai": "assistant",
}
ROLES = {
    **{name: kind for name, kind in KINDS.items() if kind in ("user", "assistant", "system-event") and name != "event"},
    "user": "user", "assistant": "assistant", "tool": "tool-result", "function": "tool-result",
}  # fmt: skip
"""Types of entries that only say whose they are."""
SPEAKERS = ("role", "speaker", "author", "sender", "from")
TEXTS = ("text", "message", "body", "parts", "blocks", "prompt", "response", "output-text", "utterance", "markdown",
         "value")  # fmt: skip
"""Where the words of a message stand that has no ``content``, the likeliest first."""
_SHARED = {
    "entry-id": "id",
    "time": "timestamp", "created-at": "timestamp", "created": "timestamp",
    "usage": "token-usage", "tokens": "token-usage", "usage-metadata": "token-usage",
    "metrics": "token-usage", "model": "model-id", "model-name": "model-id", "llm": "model-id",
}  # fmt: skip
_CALL_ID = dict.fromkeys(("tool-use-id", "tool-call-id"), "call-id")
ALIASES: dict[str, dict[str, str]] = {
    **dict.fromkeys(("user", "assistant"), _SHARED | dict.fromkeys(TEXTS, "content")),
    "reasoning": _SHARED
    | dict.fromkeys(("thinking", "thought", "reasoning", *TEXTS, "summary"), "content")
    | {"encrypted-content": "encrypted"},
    "tool-call": _SHARED | _CALL_ID | dict.fromkeys(("tool-name", "tool"), "name")
    | dict.fromkeys(("arguments", "args", "parameters", "tool-input", "tool-arguments"), "input"),
    "tool-result": _SHARED | _CALL_ID | dict.fromkeys(("tool-name", "tool"), "name")
    | dict.fromkeys(("result", "tool-output", "tool-result", "content", "response", *TEXTS), "output"),
    "system-event": _SHARED | {"details": "data"},
}  # fmt: skip
"""Per type: other names of its members, in the spelling of VAC; of several the first given here is taken."""
_NAMES_OF = {kind: {name: name for name in sorted(MEMBERS[kind])} | aliases for kind, aliases in ALIASES.items()}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def _snake(name: str) -> str:
    return name.replace("-", "_")


def _camel(name: str) -> str:
    first, *others = name.split("-")
    return first + "".join(map(str.capitalize, others))


COUNTS = frozenset({"input_tokens", "output_tokens", "prompt_tokens", "completion_tokens", "total_tokens",
                    "cache_read_input_tokens", "cache_creation_input_tokens", "reasoning_tokens"})  # fmt: skip
"""Counts that some recorders write beside the words of a message instead of in a map of their own."""
ABOUT = ("metadata", "response_metadata", "meta", "raw")
"""Maps in which others have what the model said of its response."""
INNER_CALLS = frozenset({"tool-calls", "tool_calls", "toolCalls"})
"""Calls that stand in the message that makes them, as in the chat API of OpenAI."""
_NAMES = ALL_MEMBERS.union(*ALIASES.values())
_SNAKES = {form: name for name in COUNTS for form in (name, _camel(name.replace("_", "-")))}
OTHER_NAMES = frozenset(form for name in _NAMES for form in (name, _snake(name), _camel(name))) - ALL_MEMBERS | {
    *ABOUT, *_SNAKES,
}  # fmt: skip
"""With none of these an entry has VAC's names, if it has the member that its type needs."""


@cache
def in_our_spelling(name: str) -> str:
    """``toolUseId`` and ``tool_use_id`` as ``tool-use-id``."""
    return _CAMEL.sub("-", name).lower().replace("_", "-") if len(name) < 40 else name


def fold(raw: dict[str, Any]) -> dict[str, Any]:
    """The entry with VAC's member names; the same object when it has them already."""
    kind = raw.get("type")
    if type(kind) is str and NEEDED.get(kind) in raw and OTHER_NAMES.isdisjoint(raw):
        return raw
    kind, said_by = _kind_of(raw)
    if kind not in TYPES:
        return raw if "type" in raw else {**raw, "type": raw.get("kind")}
    entry = _unwrapped({key: value for key, value in raw.items() if key not in said_by}, kind)
    folded = _renamed(entry, kind)
    folded["type"] = kind
    if kind in ("user", "assistant", "reasoning"):
        _gather(folded)
    return _with_event_type(folded, raw) if kind == "system-event" else folded


def _kind_of(raw: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The type of an entry and the members that said it; of a ``message`` without more, the role of who speaks."""
    said = next((name for name in raw if in_our_spelling(name) in ("type", "kind")), "")
    kind = in_our_spelling(text_of(raw.get(said)))
    if kind in ("", "message", "msg", "chat"):
        for name in SPEAKERS:
            if role := ROLES.get(text_of(raw.get(name)).lower()):
                return role, (said, name)
    return KINDS.get(kind, kind), (said,)


def _unwrapped(entry: dict[str, Any], kind: str) -> dict[str, Any]:
    """What stands in ``message`` or ``function`` as the API has it, with the rest of the entry."""
    if kind in ("user", "assistant") and "content" not in entry and "content" in dict_of(entry.get("message")):
        inner = {name: value for name, value in entry["message"].items() if name not in entry and name != "role"}
        return {name: value for name, value in entry.items() if name != "message"} | inner
    if kind == "tool-call" and "name" in dict_of(entry.get("function")):
        return {name: value for name, value in entry.items() if name != "function"} | entry["function"]
    return entry


def _renamed(entry: dict[str, Any], kind: str) -> dict[str, Any]:
    """Each member under VAC's name for it, where nothing else has that; every other one under its own."""
    known = MEMBERS[kind]
    folded = {key: value for key, value in entry.items() if key in known}
    others = {key: in_our_spelling(key) for key in entry if key not in known}
    taken = set()
    for spelling, member in _NAMES_OF[kind].items():
        for key, name in others.items():
            if name == spelling and _is_free(member, folded) and _fits(member, entry[key]):
                folded[member] = entry[key]
                taken.add(key)
    return folded | {key: value for key, value in entry.items() if key in others and key not in taken}


def _gather(entry: dict[str, Any]) -> None:
    """Counts and model of a response that stand beside its words, or in a map about it."""
    if _is_free("token-usage", entry):
        beside = {key: entry[key] for key in entry if _SNAKES.get(key) in COUNTS}
        told = next((found for name in ABOUT if (found := _usage_in(entry.get(name)))), None)
        if beside or told:
            entry["token-usage"] = beside or told
        for key in beside:
            del entry[key]
    if _is_free("model-id", entry):
        inner = (dict_of(entry.get(name)) for name in ABOUT)
        models = (one.get(name) for one in inner for name in ("model", "model_id", "model_name", "modelId"))
        if model := next((name for name in models if isinstance(name, str) and name), None):
            entry["model-id"] = model


def _usage_in(about: Json) -> Json:
    names = ("usage", "token_usage", "tokenUsage", "usage_metadata", "usageMetadata", "tokens")
    return next((found for name in names if (found := dict_of(dict_of(about).get(name)))), None)


def _is_free(member: str, folded: dict[str, Any]) -> bool:
    return folded.get(member) in (None, "", [])


def _fits(member: str, value: Json) -> bool:
    """A text that names a model, counts that are a map, words or blocks: other members may share the name."""
    if member in ("content", "output"):
        return value not in (None, "", [], {}) and not isinstance(value, (bool, int, float))
    if member in ("model-id", "name", "encrypted"):
        return isinstance(value, str) and bool(value)
    return isinstance(value, dict) and bool(value) if member == "token-usage" else value is not None


def _with_event_type(entry: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """An entry of a role that is no event of VAC: a prompt of the system, in its words."""
    if "event-type" in entry:
        return entry
    words = next((entry.pop(name) for name in ("content", *TEXTS) if entry.get(name)), None)
    entry["event-type"] = text_of(raw.get("role")) or "system"
    if words is not None:
        entry.setdefault("data", {"text": words})
    return entry

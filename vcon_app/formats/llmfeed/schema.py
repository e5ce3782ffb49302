"""What the published schema of llmfeed ("V1.1 Corrected") lets the blocks of a feed be, as far as it speaks of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...drafts import Json, Losses
from ..common.jsonio import dumps
from ..common.times import moment_of
from .block_text import parsed

FOUND = "x-found-"
"""Before the name of a block, or of a member of ``trust``, that the schema does not allow as it came."""
Check = Callable[[Json], bool]
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_uri(value: Json) -> bool:
    return isinstance(value, str) and bool(_URI.fullmatch(value))


def _is_time(value: Json) -> bool:
    return isinstance(value, str) and moment_of(value).at is not None and moment_of(value).fault is None


def _one_of(*words: str) -> Check:
    return lambda value: isinstance(value, str) and value in words


def _map(required: tuple[str, ...] = (), **members: Check) -> Check:
    def check(value: Json) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value for name in required)
            and all(fits(value[name]) for name, fits in members.items() if name in value)
        )

    return check


def _list(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


TRUST: dict[str, Check] = {
    "signed_blocks": _is_texts, "algorithm": _one_of("ed25519"), "canonicalization": _is_uri,
    "public_key_hint": _is_uri, "scope": _one_of("partial", "full"), "certifier": _is_uri,
}  # fmt: skip
BLOCKS: dict[str, Check] = {
    "intent": _map(primary=_is_text, secondary=_is_texts, context=_is_text),
    "prompts": _list(_map(
        ("intent",), intent=_is_text, keywords=_is_texts, content=_is_text, role=_one_of("system", "user", "assistant"),
    )),
    "capabilities": _list(_map(
        ("name", "method", "path", "description"), name=_is_text, path=_is_text,
        method=_one_of("GET", "POST", "PUT", "DELETE", "PATCH"),
        input_schema=_map(required=_is_texts, optional=_is_texts),
        requires_user_consent=lambda value: isinstance(value, bool), audience=_is_texts, rate_limit=_is_text,
        llm_trust_level_required=_one_of("any-agent", "certified-only", "high-trust"),
    )),
    "data": lambda value: isinstance(value, (dict, list, str)),
    "summary": _is_text,
    "audience": _list(_one_of("llm", "developer", "human", "agent", "certified_medical_agent")),
    "agent_behavior": _map(),
    "agent_guidance": _map(
        interaction_tone=_one_of("professional", "casual", "formal", "friendly"), consent_hint=_is_text,
        risk_tolerance=_one_of("low", "medium", "high"), fallback_behavior=_is_text, proactive_offer=_is_text,
        immediate_actions=_is_texts, conversation_starter=_is_text,
    ),
    "attachments": _list(lambda value: isinstance(value, dict)),
}  # fmt: skip
METADATA: dict[str, Check] = {"lang": _is_text, "tags": _is_texts, "generated_at": _is_time, "origin": _is_uri}


def fitted_blocks(kept: dict[str, str], losses: Losses) -> dict[str, str]:
    """Blocks of a feed as the schema allows them; what it does not is written under another name, and told."""
    made: dict[str, str] = {}
    for name, text in kept.items():
        if name == "trust":
            made |= _trust(text, losses)
        elif name in BLOCKS and not BLOCKS[name](parsed(text)):
            losses.lose(f"the block {name}", f"written as {FOUND}{name}: the schema does not allow it so")
            made[FOUND + name] = text
        else:
            made[name] = text
    return made


def _trust(text: str, losses: Losses) -> dict[str, str]:
    trust = parsed(text)
    if not isinstance(trust, dict):
        losses.lose("the block trust", f"written as {FOUND}trust: the schema does not allow it so")
        return {f"{FOUND}trust": text}
    fitted = fitted_members(trust, TRUST, "trust", losses)
    if "signed_blocks" not in fitted:  # the schema requires it; null says that it was not there
        fitted = {"signed_blocks": [], f"{FOUND}signed_blocks": None, **fitted}
    return {"trust": text if fitted == trust else dumps(fitted).decode()}


def fitted_members(found: dict[str, Json], checks: dict[str, Check], where: str, losses: Losses) -> dict[str, Json]:
    """An object whose members fit; the others stand in it under another name."""
    wrong = {name for name, check in checks.items() if name in found and not check(found[name])}
    for name in sorted(wrong):
        losses.lose(f"{name} of {where}", f"written as {FOUND}{name}: the schema does not allow it so")
    return {(FOUND if name in wrong else "") + name: value for name, value in found.items()}


def as_found(blocks: dict[str, Any]) -> dict[str, Any]:
    """The blocks of a feed of ours under the names that they came with."""
    if not any(name.startswith(FOUND) for name in (*blocks, *_members(blocks.get("trust")))):
        return blocks
    made = _renamed(blocks)
    return {**made, "trust": _renamed(made["trust"])} if isinstance(made.get("trust"), dict) else made


def _members(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _renamed(found: dict[str, Json]) -> dict[str, Json]:
    """Names that were there before stay: nobody hides a block behind another one. Null: the member was not there."""
    added = {name.removeprefix(FOUND) for name, value in found.items() if name.startswith(FOUND) and value is None}
    added = {name for name in added if not found.get(name)}
    there = {
        name: value for name, value in found.items() if name not in added and name.removeprefix(FOUND) not in added
    }
    return {(rest if (rest := name.removeprefix(FOUND)) not in there else name): value for name, value in there.items()}

"""Tools as the model is offered them: one name each, and a schema that the Messages API takes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sessions_app import canonical
from sessions_app.runtimes.calls import Result
from sessions_app.services.log.sanitise import storable, text

MAX_NAME = 64
MAX_DESCRIPTION = 4_000
_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_UNION = ("oneOf", "anyOf", "allOf")


@dataclass(frozen=True, slots=True)
class Offer:
    """One tool. ``server`` and ``name`` are what its provider, the policy and the log call it."""

    name: str
    server: str | None
    description: str
    schema: dict[str, Any]
    run: Callable[[Any], Result]
    by_person: bool = False
    address: str = ""
    """Of the server, or the line that starts it."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of its names, schema and server's address: with another one, grants for it are void."""
        return canonical.digest(
            {"tool": self.name, "server": self.server, "address": self.address, "schema": self.schema}
        )

    def definition(self, shown: str) -> dict[str, Any]:
        """Definition of the tool for the Messages API, under ``name``."""
        described = (text(self.description) or "")[:MAX_DESCRIPTION]
        return {"name": shown, "description": described, "input_schema": self.schema}


class Unusable(ValueError):
    """A tool whose schema the Messages API would refuse, and the whole request with it."""


def schema_of(schema: Any) -> dict[str, Any]:
    """The schema as the API takes it: an object, whose unions at the top are left to the tool itself to check."""
    given = storable(schema) if isinstance(schema, dict) else {}
    if given.get("type", "object") != "object":
        raise Unusable(f"its input is {given['type']!r:.60}, and only an object will do")
    properties = given.get("properties")
    strange = next((name for name in properties if not _PROPERTY.fullmatch(name)), None) if properties else None
    if strange is not None:
        raise Unusable(f"it has a property {strange!r:.80}; names have up to 64 letters, digits, dots, dashes and _")
    return {"type": "object"} | {key: value for key, value in given.items() if key not in _UNION}


def shown_name(server: str | None, name: str, taken: Iterable[str] = ()) -> str:
    """Name of a tool for the model: ``server__tool``, with a hash where that is too long, strange or taken."""
    plain = f"{server}__{name}" if server else name
    fitting = re.sub(r"[^A-Za-z0-9_-]", "_", plain)
    if plain == fitting and len(plain) <= MAX_NAME and plain not in taken:
        return plain
    digest = hashlib.sha256(f"{server or ''}/{name}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{fitting[: MAX_NAME - 9]}_{digest}"


def named(offers: Iterable[Offer]) -> tuple[dict[str, Offer], list[str]]:
    """Offers by the name that the model knows them by, and a sentence for each name that two would have had."""
    names: dict[str, Offer] = {}
    told: list[str] = []
    for offer in offers:
        if any((offer.server, offer.name) == (other.server, other.name) for other in names.values()):
            told.append(f"{_called(offer)} is there twice; the first one is used")
            continue
        name, plain = shown_name(offer.server, offer.name, names), shown_name(offer.server, offer.name)
        if name != plain:
            told.append(f"{_called(offer)} and {_called(names[plain])} have one name; the model knows it as {name}")
        names[name] = offer
    return names, told


def _called(offer: Offer) -> str:
    return f'the tool "{offer.server}/{offer.name}"' if offer.server else f'the tool "{offer.name}"'

"""Extension slots: places of the desk that an app above this one fills, so that nothing here depends on that app.

An app registers a provider for a slot as it loads (see ``vcon_app/apps.py``). A view asks the slot for its parts and
hands them to the template, which shows each with ``{% part %}``. A slot that nobody filled has no parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PROVENANCE = "provenance"
"""``(session_ids)``: where sessions came from, see ``queries/sessions/provenance.py``. Without parts."""
IMPORTED = "imported"
"""``(import_id)``: a query set of the ids of its sessions. Without parts."""
SESSION_ACTIONS = "session actions"
"""``(request, session)``: beside the title of a session."""
SESSION_LINE = "session line"
"""``(request, session, signature)``: the end of the line of facts under the title."""
SESSION_NOTICES = "session notices"
"""``(request, session, signature)``: what has to be known before anything below is read."""
SESSION_FACTS = "session facts"
"""``(request, session)``: columns of "About this session"."""
EVENT_ACTIONS = "event actions"
"""``(request, session, seq)``: above the tabs of the inspector."""
EVENT_SOURCE = "event source"
"""``(request, event)``: under the tab "source"."""
EVENT_RAW = "event raw"
"""``(request, event)``: under the tab "raw"."""
EVENT_RECORD = "event record"
"""``(event)``: the record that an event was read from, see ``queries/log/event_record.py``. Without parts."""
SETTINGS_SECTIONS = "settings sections"
"""``(request, shown)``: sections of the settings page; ``shown`` has forms that came back with errors."""
AGENT_GRAPH = "agent graph"
"""``(request, agent)``: beside the title of the graph of an agent."""
DESK_TOOLS = "desk tools"
"""``()``: a list of ``DeskTool``, with which the assistant of the desk reads. Without parts."""
HOME_START = "home start"
"""``(request)``: the first way to begin, on the home page of an empty workspace."""

Provider = Callable[..., Any]
_providers: defaultdict[str, list[Provider]] = defaultdict(list)


@dataclass(frozen=True, slots=True)
class Part:
    """A template, and all the values that it shows."""

    template: str
    context: dict[str, Any]


class ToolRefused(Exception):
    """A tool of the desk says no; the message is its reason, in words for whoever called it."""


@dataclass(frozen=True, slots=True)
class DeskTool:
    """A tool that reads. ``schema`` is a JSON schema; ``run`` takes who reads, a member, and the arguments, and gives
    text with no more in it than the member may read. It raises ``ToolRefused``.
    """

    name: str
    description: str
    schema: dict[str, Any]
    run: Callable[[Any, dict[str, Any]], str]


def register(slot: str, provider: Provider) -> None:
    """Fill a slot: called once for each provider, while the apps load. It gives a ``Part``, or None for nothing."""
    _providers[slot].append(provider)


def providers(slot: str) -> list[Provider]:
    """In the order in which they were registered."""
    return _providers.get(slot, [])


def parts(slot: str, *about: Any) -> list[Part]:
    """What the providers of a slot give for a page."""
    given = (provider(*about) for provider in providers(slot))
    return [part for part in given if part is not None]

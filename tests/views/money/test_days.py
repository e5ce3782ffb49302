"""Days of the filters of usage and of tool calls are chosen in a calendar, as in the list of sessions."""

from __future__ import annotations

import re

import pytest


def field(client, path: str, name: str) -> str:
    return re.findall(rf'<input name="{name}"[^>]*>', client.get(path).content.decode())[0]


@pytest.mark.parametrize("path", ["/usage/", "/usage/calls/"])
def test_a_day_is_chosen_in_a_calendar_and_anything_else_stays_as_it_was_written(viewer, workspace, path):
    for name in ("from", "to"):
        assert 'type="date"' in field(viewer, path, name)
        assert 'type="date"' in field(viewer, f"{path}?{name}=2026-01-31", name)
        moment = field(viewer, f"{path}?{name}=2026-01-31T09:30Z", name)
        assert 'type="date"' not in moment and 'value="2026-01-31T09:30Z"' in moment, "a calendar would lose it"
        wrong = field(viewer, f"{path}?{name}=yesterday!", name)
        assert 'type="date"' not in wrong and 'value="yesterday!"' in wrong and 'aria-invalid="true"' in wrong

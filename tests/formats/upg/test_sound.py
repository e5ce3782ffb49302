"""A graph that leaves is one that the reference accepts, whatever the graph was that came in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vcon_app.drafts import Finding, Losses

from .tools import drafts, of_one, sessions, written

NODE = {"id": "d", "type": "decision", "title": "D"}
EDGE = {"id": "e", "type": "agent_session_creates_decision", "source": "s", "target": "d"}


def graph(nodes: list[Any], edges: list[Any]) -> dict[str, Any]:
    made = of_one()
    return made | {"nodes": [*made["nodes"], *nodes], "edges": edges}


@pytest.mark.parametrize(
    ("nodes", "edges", "left"),
    [
        ([NODE], [{**EDGE, "target": "gone"}], "edges"),
        ([NODE], [{**EDGE, "source": 7}], "edges"),
        ([NODE], [{**EDGE, "id": ""}], "edges"),
        ([NODE], ["no edge"], "edges"),
        ([{**NODE, "type": None}], [], "nodes"),
        (["no node"], [], "nodes"),
    ],
)
def test_what_cannot_stand_in_a_graph_stands_beside_it(nodes: list[Any], edges: list[Any], left: str) -> None:
    losses = Losses()
    made = json.loads(written(*sessions(graph(nodes, edges))[0], losses))

    assert [one for one in drafts(made) if isinstance(one, Finding) and one.severity == "error"] == []
    assert len(made["x-found"][left]) == 1 and losses.total()


@pytest.mark.parametrize("change", [{"title": " "}, {"title": 7}, {"properties": ["a"]}])
def test_a_node_is_mended_where_it_can_be(change: dict[str, Any]) -> None:
    made = json.loads(written(*sessions(graph([{**NODE, **change}], [EDGE]))[0]))

    assert [one for one in drafts(made) if isinstance(one, Finding) and one.severity == "error"] == []
    assert "d" in {node["id"] for node in made["nodes"]}

"""The description names each shape by its class: of two classes with one name the later would describe both. And every
list comes in pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pydantic import BaseModel

from config.api import api as described


def below(shape: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in shape.__subclasses__():
        yield one
        yield from below(one)


def test_no_two_shapes_have_one_name():
    assert described.get_openapi_schema()["components"]["schemas"]
    named = defaultdict(set)
    for shape in below(BaseModel):
        if shape.__module__.startswith(("sessions_app.api", "vcon_app.api")):
            named[shape.__name__].add(shape.__module__)
    assert {name: modules for name, modules in named.items() if len(modules) > 1} == {}


def test_every_list_takes_a_limit_and_a_cursor():
    """Unknown parameters are refused, so a list that is always short has to know them, too."""
    schema = described.get_openapi_schema()
    shapes = schema["components"]["schemas"]
    lists = {}
    for path, methods in schema["paths"].items():
        answer = methods.get("get", {}).get("responses", {}).get(200, {}).get("content", {}).get("application/json", {})
        shape = shapes.get(answer.get("schema", {}).get("$ref", "").rpartition("/")[2], {})
        if {"items", "next_cursor"} <= shape.get("properties", {}).keys():
            lists[path] = {one["name"] for one in methods["get"].get("parameters", ()) if one["in"] == "query"}
    del lists["/api/v1/sessions/{session_id}/export/report"]  # its query is the options of the format, and it is whole
    assert len(lists) > 30
    assert {path for path, known in lists.items() if not {"limit", "cursor"} <= known} == set()

"""The description names each shape by its class: of two classes with one name the later would describe both."""

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

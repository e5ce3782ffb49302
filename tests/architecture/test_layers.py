"""Dependencies point one way: config, vcon_app, sessions_app; and inside an app doors, services, queries, models."""

from __future__ import annotations

from .imports import EXCEPTIONS, PACKAGES, edges, imports_of, modules

LAYERS = (
    {"ids", "counts", "encryption", "extensions", "guarded_http", "migrations", "models", "drafts", "prepared"}
    | {"compiled"},
    {"queries"},
    {"services", "registry"},
    {"runtimes"},
    {"channels"},
    {"api", "apps", "live", "management", "tasks", "templatetags", "urls", "views"},
)
"""Parts of an app; each may import its own layer and those before it."""
PURE = (
    "vcon_app.formats", "vcon_app.drafts", "vcon_app.registry", "vcon_app.signing", "sessions_app.rendering",
    "sessions_app.ids", "sessions_app.retry_after", "sessions_app.stop_signal", "sessions_app.drafts",
    "sessions_app.event_chain",
    "sessions_app.canonical", "sessions_app.row_chain", "sessions_app.policy", "sessions_app.search",
    "sessions_app.changes", "sessions_app.bill", "sessions_app.prices", "sessions_app.summary", "sessions_app.phrases",
)  # fmt: skip
"""These know no Django, no settings and no other part of an app but those among them."""


def layer(name: str) -> int | None:
    """Number of a module's layer in its app; None for what has none (an app itself, pure parts)."""
    part = (name.split(".") + [""])[1]
    return next((number for number, parts in enumerate(LAYERS) if part in parts), None)


def is_pure(name: str) -> bool:
    return any(name == pure or name.startswith(f"{pure}.") for pure in PURE)


def test_import_graph_is_not_empty():
    assert len(modules()) > 80
    assert ("vcon_app.tasks", "vcon_app.services.imports.import_jobs") in set(edges())


def test_packages_import_only_those_below():
    rank = PACKAGES.index
    assert [(a, b) for a, b in edges() if rank(a.split(".")[0]) < rank(b.split(".")[0])] == []


def test_parts_of_an_app_import_only_those_below():
    def upwards(importer: str, imported: str) -> bool:
        mine, theirs = layer(importer), layer(imported)
        return mine is not None and theirs is not None and mine < theirs

    assert [(a, b) for a, b in edges() if upwards(a, b)] == []


def test_every_part_of_an_app_has_its_place():
    parts = {name.split(".")[1] for name in modules() if name.startswith(PACKAGES[:2]) and "." in name}
    pure = {name.split(".")[1] for name in PURE}
    assert parts - set().union(*LAYERS) - pure == set()


def test_pure_parts_import_neither_django_nor_the_rest_of_the_app():
    impure = [
        (name, imported)
        for name in modules()
        if is_pure(name)
        for imported in set(imports_of(name))
        if imported.split(".")[0] in ("django", "ninja", "celery", "psycopg", *PACKAGES)
        and not is_pure(imported)
        and imported != "vcon_app"
        and (name, imported) not in EXCEPTIONS
    ]
    assert impure == []


def circle_among(graph: dict[str, set[str]]) -> list[str]:
    """Names of modules that import each other in a circle, the first at both ends; none when there is no circle."""
    finished: set[str] = set()
    for start in sorted(graph):
        path, waiting = [start], [iter(sorted(graph[start]))]
        while waiting:
            imported = next(waiting[-1], None)
            if imported is None:
                finished.add(path.pop())
                waiting.pop()
            elif imported in path:
                return [*path[path.index(imported) :], imported]
            elif imported not in finished:
                path.append(imported)
                waiting.append(iter(sorted(graph[imported])))
    return []


def test_no_modules_import_each_other_in_a_circle():
    """Also under ``if TYPE_CHECKING``: what needs another's type belongs to it, or both to a third."""
    graph: dict[str, set[str]] = {name: set() for name in modules()}
    for name, imported in edges():
        if imported in graph:
            graph[name].add(imported)
    assert circle_among(graph) == []
    assert circle_among({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_signing_imports_no_format():
    def of_formats(name: str) -> bool:
        return name.startswith("vcon_app.formats")

    assert [edge for edge in edges() if edge[0].startswith("vcon_app.signing") and of_formats(edge[1])] == []


def test_exceptions_are_still_needed():
    assert [edge for edge in EXCEPTIONS if edge[1] not in imports_of(edge[0])] == []

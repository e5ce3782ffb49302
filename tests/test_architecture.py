"""Dependencies point one way: config, vcon_app, sessions_app; and inside an app doors, services, queries, models."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from tests.places import ROOT

PACKAGES = ("sessions_app", "vcon_app", "config")
"""Each may import itself and those before it."""
LAYERS = (
    {"ids", "encryption", "extensions", "migrations", "models", "drafts"},
    {"queries"},
    {"services", "registry"},
    {"runtimes"},
    {"channels"},
    {"api", "apps", "live", "management", "tasks", "templatetags", "urls", "views"},
)
"""Parts of an app; each may import its own layer and those before it."""
PURE = (
    "vcon_app.formats", "vcon_app.drafts", "vcon_app.registry", "vcon_app.signing", "sessions_app.rendering",
    "sessions_app.ids", "sessions_app.drafts",
)  # fmt: skip
"""These know no Django, no settings and no other part of an app but those among them."""
RECORD_ROOMS = ("documents", "trust", "redaction", "exports", "imports")
"""Folders of ``vcon_app.services``; each may import itself and those before it, imports nothing of exports."""
RECORD_PAGES = ("imports/", "redaction/", "sources/", "trust/")
"""Folders of templates that belong to vcon_app."""
PURE_CALLS = {"cron_times.in_words", "place_of"}
"""Functions of queries and services that template tags may call: they read nothing."""
EXCEPTIONS: dict[tuple[str, str], str] = {}
"""(module, what it imports): why it may."""
FILES_OF_A_FOLDER = 22
"""Python files that a reader can overlook in a folder; more of them want rooms of their own."""
VCON = "vcon_app.formats.vcon"
WINGS = ("file", "trace", "rules", "reading", "writing", "redacting")
"""Parts of the vCon format; each may import those before it, and everybody only what its ``__init__`` names."""


@cache
def modules() -> dict[str, Path]:
    """Name -> file of every module of ours, tests and tools left out."""
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {name_of(path): path for path in files}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(name: str) -> Iterator[str]:
    """Absolute names of the modules that a module imports, also inside of functions."""
    for imported in names_imported_by(name):
        # `from package import module` imports the module, `from module import name` the module it is in
        yield imported if imported in modules() else imported.rpartition(".")[0] or imported


@cache
def names_imported_by(name: str) -> tuple[str, ...]:
    """Absolute names of all that a module imports, also inside of functions: ``json``, ``pathlib.Path``."""
    return tuple(_names_imported_by(name))


def _names_imported_by(name: str) -> Iterator[str]:
    path = modules()[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            source = ".".join(filter(None, (base, node.module)))
            yield from (f"{source}.{alias.name}" for alias in node.names)


def edges() -> Iterator[tuple[str, str]]:
    """Imports among modules of ours, without those that are allowed by name."""
    for name in modules():
        for imported in set(imports_of(name)):
            if imported.split(".")[0] in PACKAGES and (name, imported) not in EXCEPTIONS:
                yield name, imported


def layer(name: str) -> int | None:
    """Number of a module's layer in its app; None for what has none (an app itself, pure parts)."""
    part = (name.split(".") + [""])[1]
    return next((number for number, parts in enumerate(LAYERS) if part in parts), None)


def is_pure(name: str) -> bool:
    return any(name == pure or name.startswith(f"{pure}.") for pure in PURE)


def test_there_is_something_to_walk():
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


def test_services_of_records_depend_one_way():
    def room(name: str) -> str:
        return name.removeprefix("vcon_app.services.").split(".")[0]

    among = {(room(a), room(b)) for a, b in edges() if a.startswith("vcon_app.services.") and room(b) in RECORD_ROOMS}
    allowed = {(a, b) for number, a in enumerate(RECORD_ROOMS) for b in RECORD_ROOMS[: number + 1]}
    assert among - (allowed - {("imports", "exports"), ("imports", "redaction")}) == set()
    assert {("exports", "trust"), ("imports", "documents")} <= among


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


def wing(name: str) -> str | None:
    """The wing of the vCon format that a module is in, if it is in one."""
    below = name.removeprefix(f"{VCON}.").split(".")[0] if name.startswith(f"{VCON}.") else None
    return below if below in WINGS else None


def test_wings_of_the_vcon_format_import_only_those_below():
    between = {(wing(a), wing(b)) for a, b in edges() if wing(a) and wing(b) and wing(a) != wing(b)}
    assert len(between) > 5
    assert [(a, b) for a, b in between if WINGS.index(a) < WINGS.index(b)] == []


def test_a_wing_of_the_vcon_format_is_entered_through_its_face():
    faces = {f"{VCON}.{part}": import_module(f"{VCON}.{part}") for part in WINGS}
    named = {*faces, *(f"{face}.{name}" for face, module in faces.items() for name in module.__all__)}
    inner = [
        (importer, imported)
        for importer in modules()
        for imported in names_imported_by(importer)
        if wing(imported) and wing(importer) != wing(imported) and imported not in named
    ]
    assert inner == []


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


def test_transactions_open_in_services_only():
    outside = [
        name
        for name, path in modules().items()
        if ".services." not in name and ".migrations." not in name and "transaction.atomic" in path.read_text()
    ]
    assert outside == []


def test_only_append_writes_events():
    writers = [
        name
        for name, path in modules().items()
        if "Event.objects.create" in (text := path.read_text()) or "Event.objects.bulk_create" in text
    ]
    assert writers == []
    copies = [name for name, path in modules().items() if "COPY sessions_app_event" in path.read_text()]
    assert copies == ["sessions_app.services.log.events"]


def test_every_task_name_is_that_of_a_task():
    from config.celery import app
    from sessions_app.services import task_queue
    from vcon_app.services import task_names

    app.loader.import_default_modules()
    constants = [*vars(task_queue).values(), *vars(task_names).values()]
    names = {value for value in constants if isinstance(value, str) and ".tasks." in value}
    assert len(names) >= 3 and names - set(app.tasks) == set()


def test_what_beat_calls_is_there():
    from config.celery import app

    app.loader.import_default_modules()
    assert [entry["task"] for entry in app.conf.beat_schedule.values() if entry["task"] not in app.tasks] == []


def test_folders_hold_few_python_files():
    folders = Counter(path.parent for package in (*PACKAGES, "tests") for path in (ROOT / package).rglob("*.py"))
    crowded = {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > FILES_OF_A_FOLDER}
    assert crowded == {}


def templates() -> dict[str, str]:
    """Name -> source of every template."""
    files = (ROOT / "templates").rglob("*.html")
    return {str(path.relative_to(ROOT / "templates")): path.read_text(encoding="utf-8") for path in files}


def test_no_line_of_a_template_is_longer_than_140_characters():
    long = [
        f"{name}:{number}"
        for name, source in templates().items()
        for number, line in enumerate(source.splitlines(), 1)
        if len(line) > 140
    ]
    assert long == []


def test_templates_of_the_desk_load_no_tags_of_the_app_above_it():
    above = {path.stem for path in (ROOT / "vcon_app" / "templatetags").glob("*.py")}
    loaded = [
        (name, library)
        for name, source in templates().items()
        if not name.startswith(RECORD_PAGES)
        for libraries in re.findall(r"{% load (.*?) %}", source)
        for library in libraries.split()
        if library in above
    ]
    assert loaded == []


def test_template_tags_read_no_database():
    """What a page costs in queries stands in its view."""
    reads = [(name, call) for name in modules() if ".templatetags." in name for call in calls_that_read(name)]
    assert [(name, call) for name, call in reads if call not in PURE_CALLS] == []


def calls_that_read(name: str) -> Iterator[str]:
    """Calls of a module to what it imports from queries and services, and each use of a manager."""
    tree = ast.parse(modules()[name].read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and {"queries", "services"} & set((node.module or "").split("."))
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "objects":
            yield ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[0] in imported:
            yield ast.unparse(node.func)

"""Who imports whom among the modules of the product, read once from their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.places import ROOT

PACKAGES = ("sessions_app", "vcon_app", "config")
"""Each may import itself and those before it."""
EXCEPTIONS: dict[tuple[str, str], str] = {}
"""(module, what it imports): why it may."""


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

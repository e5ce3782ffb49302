"""Folders of one layer depend on each other one way, and none of them is crowded."""

from __future__ import annotations

from collections import Counter
from importlib import import_module

from tests.places import ROOT

from .imports import PACKAGES, edges, modules, names_imported_by

RECORD_ROOMS = (
    "documents",
    "spans",
    "trust",
    "checkpoints",
    "receipts",
    "transparency",
    "redaction",
    "shares",
    "exports",
    "imports",
    "erasure",
    "evidence",
)
"""Folders of ``vcon_app.services``; each may import itself and those before it, imports nothing of exports."""
VCON = "vcon_app.formats.vcon"
WINGS = ("file", "trace", "rules", "reading", "writing", "redacting")
"""Parts of the vCon format; each may import those before it, and everybody only what its ``__init__`` names."""
FILES_OF_A_FOLDER = 22
"""Python files that a reader can overlook in a folder; more of them want rooms of their own."""


def test_services_of_records_depend_one_way():
    def room(name: str) -> str:
        return name.removeprefix("vcon_app.services.").split(".")[0]

    among = {(room(a), room(b)) for a, b in edges() if a.startswith("vcon_app.services.") and room(b) in RECORD_ROOMS}
    allowed = {(a, b) for number, a in enumerate(RECORD_ROOMS) for b in RECORD_ROOMS[: number + 1]}
    assert among - (allowed - {("imports", "exports"), ("imports", "redaction")}) == set()
    assert {("exports", "trust"), ("imports", "documents")} <= among


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


def test_folders_hold_few_python_files():
    folders = Counter(path.parent for package in (*PACKAGES, "tests") for path in (ROOT / package).rglob("*.py"))
    folders = Counter({folder: count for folder, count in folders.items() if folder.name != "migrations"})
    crowded = {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > FILES_OF_A_FOLDER}
    assert crowded == {}

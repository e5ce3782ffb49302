"""A backup's directory: what lies where in it, and the manifest that says what has to be there.

``database.dump`` (pg_dump, custom format), ``documents/`` by SHA-256, ``checkpoints/``, ``data/`` (keys, and whatever
else lies in the data directory and cannot be made again), ``manifest.json``.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, BinaryIO

from .tables import Failed, Tables, in_dump

DUMP, DOCUMENTS, CHECKPOINTS, DATA, MANIFEST = "database.dump", "documents", "checkpoints", "data", "manifest.json"
VERSION = 1
CHUNK = 1024 * 1024


def sha256_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hash_of(file)


def hash_of(file: BinaryIO) -> str:
    """SHA-256 of what is left of a stream."""
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def write(folder: Path, tables: Tables, about: dict[str, Any]) -> dict[str, Any]:
    """Write the manifest of what lies in a folder, and return it."""
    manifest = about | {
        "version": VERSION,
        "tables": {name: content.as_json() for name, content in sorted(tables.items())},
        "files": _files(folder),
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return manifest


def read(folder: Path) -> dict[str, Any]:
    """The manifest. Raises ``Failed``."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["version"] != VERSION:
            raise Failed(f"{folder} is a backup of version {manifest['version']}, and this reads version {VERSION}")
        return {"files": {}, "tables": {}, **manifest}
    except FileNotFoundError:
        raise Failed(f"{folder} holds no backup: there is no {MANIFEST}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise Failed(f"{folder / MANIFEST} cannot be read: {fault}") from None


def check(folder: Path) -> dict[str, Any]:
    """The manifest, after everything it names was read again and found to be what it says. Raises ``Failed``."""
    manifest = read(folder)
    found = _files(folder)
    for name, wanted in manifest["files"].items():
        if name not in found:
            raise Failed(f"{folder / name} is missing")
        if found[name] != wanted:
            raise Failed(f"{folder / name} is not what was backed up: its size or its SHA-256 differs")
    if added := sorted(set(found) - set(manifest["files"])):
        raise Failed(f"{folder / added[0]} is not of this backup")
    compare(in_dump(folder / DUMP), manifest["tables"], folder / DUMP)
    return manifest


def compare(found: Tables, wanted: dict[str, Any], place: object) -> None:
    """Raise ``Failed`` with the first table that has not the rows that it should have."""
    for name, content in wanted.items():
        if name not in found:
            raise Failed(f"{place} has no table {name}")
        if found[name].as_json() != content:
            raise Failed(
                f"{place} has {found[name].rows} rows in {name} that are not the {content['rows']} of the backup"
            )


def _files(folder: Path) -> dict[str, dict[str, Any]]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path != folder / MANIFEST)
    return {str(path.relative_to(folder)): {"size": path.stat().st_size, "sha256": sha256_of(path)} for path in paths}

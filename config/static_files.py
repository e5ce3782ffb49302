"""Static files of production: compressed, and with a hash of their content in the name, so that browsers keep them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

COMMENTS = re.compile(r"""^\s*//.*\n|(?<=[;{},)])\ +//\ [^"'`/\n]*$|^[ \t]+|^\n""", re.MULTILINE)
"""Of our scripts, whose texts end in the line that they begin in (a test): comments, indents, empty lines. Behind code
a comment goes that has no quotation mark: it could be a text otherwise."""
IMPORT = re.compile(r'^@import "([\w-]+\.css)";$', re.MULTILINE)
"""A sheet beside this one, so that addresses in it hold here too."""


class HashedFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # a class without types
    """Storage of collectstatic that puts imported style sheets into the ones that import them, for a page is not shown
    before the last of its sheets is there: the session's are 14 in one. Scripts come without their comments.

    It also writes the hashed names into the ``import`` lines of our own scripts: without them a page would load
    ``keyboard.js`` of the last release beside the scripts of this one.
    """

    support_js_module_import_aggregation = True
    # Django takes every *.js. Ours alone: a comment in django-htmx's hx-sse-2.js shows import("../htmx"), and
    # collectstatic stops at a file that is not there.
    _js_module_import_aggregation_patterns = (
        "js/*.js",
        CompressedManifestStaticFilesStorage._js_module_import_aggregation_patterns[1],
    )

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """As Django's, of what is written anew. ``paths``: name -> the storage that has it, and its name there."""
        if not dry_run:
            for name in [name for name in paths if name.startswith(("css/", "js/"))]:
                text = _read(paths, name)
                written = COMMENTS.sub("", text) if name.startswith("js/") else _with_imports(text, paths, name)
                if written != text:
                    self.delete(name)
                    self._save(name, ContentFile(written.encode()))
                    paths[name] = (self, name)
        yield from super().post_process(paths, dry_run, **options)


def _with_imports(sheet: str, paths: dict[str, Any], name: str) -> str:
    folder = PurePosixPath(name).parent
    return IMPORT.sub(lambda found: _read(paths, str(folder / found[1])), sheet)


def _read(paths: dict[str, Any], name: str) -> str:
    storage, path = paths[name]
    with storage.open(path) as file:
        return str(file.read().decode())

"""What collectstatic writes with the storage of production."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import override_settings

HASHED = re.compile(r"(.+)\.[0-9a-f]{12}\.js")
IMPORTED = re.compile(r"""^import\s*(?:.*?\s+from\s*)?["'](.+?)["'];$""", re.MULTILINE)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Our own scripts as collectstatic writes them."""
    root = tmp_path_factory.mktemp("static")
    storage = settings.STORAGES | {"staticfiles": {"BACKEND": "config.static_files.HashedFilesStorage"}}
    with override_settings(STATIC_ROOT=root, STORAGES=storage):
        call_command("collectstatic", verbosity=0, interactive=False)
    return sorted((root / "js").rglob("*.js"))


def test_scripts_import_each_other_by_hashed_names(scripts):
    imports = [(script, name) for script in scripts for name in IMPORTED.findall(script.read_text())]
    for script, name in imports:
        assert HASHED.fullmatch(name), f"{script.name} imports {name}"
        assert (script.parent / name).is_file(), f"{script.name} imports {name}"
    sources = (settings.BASE_DIR / "static" / "js").rglob("*.js")
    assert len(imports) == sum(len(IMPORTED.findall(source.read_text())) for source in sources) > 5


def test_each_script_is_there_once_under_one_name(scripts):
    names = [HASHED.fullmatch(str(script))[1] for script in scripts]
    assert len(names) == len(set(names)) == len(list((settings.BASE_DIR / "static" / "js").rglob("*.js")))

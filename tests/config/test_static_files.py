"""What collectstatic writes with the storage of production."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.test import override_settings

from config import prepare

HASHED = re.compile(r"(.+)\.[0-9a-f]{12}\.js")
HASH = re.compile(r"\.[0-9a-f]{12}(?=\.js)")
IMPORTED_SHEET = re.compile(r'^@import "(.+?)";$', re.MULTILINE)
RULES = re.compile(r"url\(.*?\)")
"""Addresses in a sheet are written anew; what follows the last of them is as it was."""
IMPORTED = re.compile(r"""(?:^import\s*(?:.*?\s+from\s*)?|\bimport\()["'](.+?)["']\)?""", re.MULTILINE)


@pytest.fixture(scope="module")
def scripts(collected: Path) -> list[Path]:
    """Our own scripts as collectstatic writes them."""
    return sorted((collected / "js").rglob("*.js"))


def test_scripts_import_each_other_by_hashed_names(scripts):
    imports = [(script, name) for script in scripts for name in IMPORTED.findall(script.read_text())]
    for script, name in imports:
        assert HASHED.fullmatch(name), f"{script.name} imports {name}"
        assert (script.parent / name).is_file(), f"{script.name} imports {name}"
    sources = (settings.BASE_DIR / "static" / "js").rglob("*.js")
    assert len(imports) == sum(len(IMPORTED.findall(source.read_text())) for source in sources) > 5


def test_scripts_come_without_comments_and_are_otherwise_as_they_were(collected, scripts):
    for script in scripts:
        source = settings.BASE_DIR / "static" / HASH.sub("", str(script.relative_to(collected)))
        lines = [line.strip() for line in source.read_text().splitlines()]
        kept = [HASH.sub("", line).replace('import"', 'import "') for line in script.read_text().splitlines()]
        written = [line for line in lines if line and not line.startswith("//")]
        assert len(kept) == len(written)
        for line, source_line in zip(kept, written, strict=True):
            assert source_line.removeprefix(line).lstrip()[:2] in ("", "//"), source_line


def test_no_script_has_a_text_over_several_lines():
    for source in (settings.BASE_DIR / "static" / "js").rglob("*.js"):
        lines = source.read_text().splitlines()
        assert [line for line in lines if line.count("`") % 2 and not line.lstrip().startswith("//")] == []


def test_each_script_is_there_once_under_one_name(scripts):
    names = [HASHED.fullmatch(str(script))[1] for script in scripts]
    assert len(names) == len(set(names)) == len(list((settings.BASE_DIR / "static" / "js").rglob("*.js")))


def test_a_sheet_holds_the_sheets_that_it_imports(collected):
    source = settings.BASE_DIR / "static" / "css"
    packed = {sheet.name: IMPORTED_SHEET.findall(sheet.read_text()) for sheet in source.glob("*.css")}
    packed = {name: names for name, names in packed.items() if names}
    assert {"desk.css", "session-page.css"} <= packed.keys()
    for name, names in packed.items():
        [written] = (collected / "css").glob(f"{name.removesuffix('.css')}.????????????.css")
        sheet = written.read_text()
        assert "@import" not in sheet
        rules = [RULES.split((source / one).read_text())[-1] for one in names]
        assert [rule for rule in rules if rule not in sheet] == []
        assert [sheet.index(rule) for rule in rules] == sorted(sheet.index(rule) for rule in rules)
    assert re.search(r"url\(\"\.\./fonts/inter-latin\.[0-9a-f]{12}\.woff2\"\)", _one(collected, "desk").read_text())


def test_scripts_of_the_release_before_stay_for_a_week(tmp_path):
    source, root = tmp_path / "source", tmp_path / "static"
    (source / "js").mkdir(parents=True)
    storage = settings.STORAGES | {"staticfiles": {"BACKEND": "config.static_files.HashedFilesStorage"}}
    finders = ["django.contrib.staticfiles.finders.FileSystemFinder"]

    def deployed(text: str) -> Path:
        """The script of this release, and what of it is there."""
        before = there()
        (source / "js" / "palette.js").write_text(text)
        prepare.static_files()
        [written] = there() - before
        return written

    def there() -> set[Path]:
        return set(root.glob("js/palette.*.js"))

    with override_settings(
        DEBUG=False, STATIC_ROOT=root, STORAGES=storage, STATICFILES_DIRS=[source], STATICFILES_FINDERS=finders
    ):
        first, second = deployed("let one = 1;\n"), deployed("let two = 22;\n")
        assert there() == {first, second}
        week_ago = time.time() - 8 * 86_400
        os.utime(first, (week_ago, week_ago))
        os.utime(second, (week_ago, week_ago))  # in use until the next release, however long it was
        third = deployed("let three = 333;\n")
        assert there() == {second, third}


def _one(collected: Path, name: str) -> Path:
    return next((collected / "css").glob(f"{name}.*.css"))

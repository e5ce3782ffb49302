"""Folders that others write into: no link is followed out of them, or in them, however late it is put there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vcon_app.services.imports.folder_files import NotPlain, files_in, open_file


@pytest.fixture
def folder(tmp_path):
    """A folder with a file in a folder in it, beside a secret."""
    (tmp_path / "secret").write_text("root:x:0:0")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.jsonl").write_text("root:x:0:0")
    (tmp_path / "watched" / "sub").mkdir(parents=True)
    (tmp_path / "watched" / "sub" / "a.jsonl").write_text("plain")
    return tmp_path / "watched"


def test_a_plain_file_is_opened(folder):
    with open_file(folder / "sub" / "a.jsonl", folder) as file:
        assert file.read() == b"plain"


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "sub/a.jsonl", "nowhere", "loop.jsonl"])
def test_a_link_is_listed_and_not_opened(folder, target):
    link = folder / "loop.jsonl"
    link.symlink_to(target)
    assert link in list(files_in(folder))
    with pytest.raises(NotPlain, match="is a link"):
        open_file(link, folder)


def test_a_linked_folder_is_not_entered(folder):
    (folder / "linked").symlink_to("../outside")
    assert [path.name for path in files_in(folder)] == ["linked", "a.jsonl"]
    for place in (folder, None):
        with pytest.raises(NotPlain):
            open_file(folder / "linked", place)


def test_a_file_that_is_replaced_by_a_link_after_the_listing_is_not_opened(folder):
    (path,) = files_in(folder)
    path.unlink()
    path.symlink_to("../../secret")
    with pytest.raises(NotPlain):
        open_file(path, folder)


def test_a_folder_that_is_replaced_by_a_link_after_the_listing_is_not_entered(folder):
    (path,) = files_in(folder)
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to("../outside")
    assert path.read_text() == "root:x:0:0"
    with pytest.raises(NotPlain):
        open_file(path, folder)


def test_the_folder_itself_may_be_a_link_of_the_operators(folder):
    link = folder.parent / "current"
    link.symlink_to(folder)
    assert [path.name for path in files_in(link)] == ["a.jsonl"]
    open_file(link / "sub" / "a.jsonl", link).close()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_plain_file_is_not_waited_for(folder, make):
    make(folder / "pipe.jsonl")
    assert "pipe.jsonl" not in [path.name for path in files_in(folder)]
    with pytest.raises(NotPlain):
        open_file(folder / "pipe.jsonl", folder)


def test_no_descriptor_is_left_open(folder):
    before = len(list(Path("/proc/self/fd").iterdir()))
    (folder / "link").symlink_to("/etc/passwd")
    for _ in range(20):
        open_file(folder / "sub" / "a.jsonl", folder).close()
        with pytest.raises(NotPlain):
            open_file(folder / "link", folder)
    assert len(list(Path("/proc/self/fd").iterdir())) == before

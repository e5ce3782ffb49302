"""Commands start without loading what only some of them need: pages and the libraries of model providers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from django.core.management import get_commands, load_command_class

from config import commands
from tests.places import ROOT

OURS = ("config", "sessions_app", "vcon_app")


def test_no_command_checks_the_whole_project_first():
    """Django's checks are for who develops it (`manage.py check`), and load every page: two seconds of CPU."""
    found = {name: load_command_class(app, name) for name, app in get_commands().items() if app in OURS}
    assert len(found) > 25
    assert [name for name, command in found.items() if command.requires_system_checks] == ["migrate"]  # Django's


def test_only_what_runs_a_model_loads_the_library_of_its_provider_at_its_start():
    modules = (path for app in OURS for path in (ROOT / app).rglob("*.py"))
    loads = {path for path in modules if re.search(r"^(import|from) anthropic\b", path.read_text(), re.M)}
    assert {path.relative_to(ROOT).parts[:2] for path in loads} == {("sessions_app", "runtimes")}


@pytest.mark.parametrize(
    ("arguments", "starts"),
    [
        (["verify", "a.zip", "--key", "a.pem"], False),
        (["verify", "a.zip", "--key=a.pem"], False),
        (["verify", "a.zip"], True),
        (["export", "ID", "--key", "a.pem"], True),
    ],
)
def test_who_checks_a_file_with_a_key_is_made_no_database(monkeypatch, tmp_path, arguments, starts):
    started = []

    @contextmanager
    def on_demand(cluster):
        started.append(cluster)
        yield False

    monkeypatch.setattr(commands.env, "load_dotenv", lambda: None)
    monkeypatch.setattr(commands.env, "read", lambda: SimpleNamespace(database_url="", data_dir=tmp_path))
    monkeypatch.setattr(commands.postgres, "on_demand", on_demand)
    monkeypatch.setattr(commands, "_execute", lambda given: len(given))
    assert commands.run(["manage.py", *arguments]) == 1 + len(arguments)
    assert bool(started) is starts


def test_who_has_read_enough_of_a_pipe_is_told_of_no_fault():
    """`verify bundle.zip | head -1`."""
    read, written = os.pipe()
    os.close(read)
    ran = subprocess.run([sys.executable, "manage.py", "help"], cwd=ROOT, stdout=written, stderr=subprocess.PIPE)
    os.close(written)
    assert (ran.returncode, ran.stderr) == (141, b"")

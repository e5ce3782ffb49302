"""The files for containers: what they name is there, and the steps of the image that need no engine work."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

from config import env
from config.processes import single_part
from config.storage_url import location
from tests.places import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DESK = {name: service for name, service in SERVICES.items() if "build" in service}
OF_OTHERS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
"""Read by the package that speaks S3."""


def instructions(name: str) -> list[str]:
    lines = re.sub(r"\\\n\s*", "", DOCKERFILE).splitlines()
    return [line.split(maxsplit=1)[1] for line in lines if line.startswith(f"{name} ")]


def test_everything_that_the_image_copies_is_there_and_let_through():
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    sources = [word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert {"config", "templates", "static", "manage.py", "requirements/app.txt"} <= set(sources)
    for source in sources:
        assert (ROOT / source).exists(), source
        assert source.split("/")[0] in let_through, source


def test_the_image_runs_as_nobody_special_and_installs_only_what_has_a_hash():
    assert instructions("USER") == ["10001"]
    assert all("--require-hashes" in line for run in instructions("RUN") for line in run.split("&&") if "pip" in line)
    assert len(instructions("FROM")) == 2, "what only the build needs stays behind"
    assert "config.processes.alive" in instructions("HEALTHCHECK")[0]
    assert (ROOT / "config/processes/alive.py").exists()
    assert os.access(ROOT / "script/countersign", os.X_OK)


@pytest.mark.parametrize("name", DESK)
def test_each_part_of_the_composition_is_a_command_with_its_options(name):
    kind, *options = DESK[name]["command"]
    assert kind in get_commands()
    if kind in single_part.KINDS:
        parser = argparse.ArgumentParser(exit_on_error=False)
        single_part.add_arguments(kind, parser)
        parser.parse_args(options)
        assert DESK[name]["depends_on"] == {"prepare": {"condition": "service_completed_successfully"}}


def test_the_composition_has_every_part_and_every_queue():
    commands = [DESK[name]["command"] for name in DESK]
    only = {command[command.index("--only") + 1] for command in commands if "--only" in command}
    assert {command[0] for command in commands} == {"prepare", *single_part.KINDS}
    assert only == set(single_part.WORKERS)


def test_the_composition_sets_what_the_desk_reads_and_nothing_else():
    for service in DESK.values():
        names = set(service["environment"]) - OF_OTHERS
        assert names <= {*env.OURS, *env.COMMON}
        assert {"DATABASE_URL", "CELERY_BROKER_URL", "STORAGE_URL", "SECRET_KEY"} <= names
    values = next(iter(DESK.values()))["environment"]
    told = {name: re.sub(r"\$\{[^}]*\}", "x" * 40, value) for name, value in values.items() if name not in OF_OTHERS}
    told = {name: value for name, value in told.items() if ":-}" not in values[name] and not value.startswith("/run/")}
    read = env.read(told)
    assert read.storage == location(values["STORAGE_URL"])
    assert (read.database_url or "").startswith("postgresql://countersign_desk:")


def test_everything_that_is_waited_for_says_whether_it_is_well():
    for service in SERVICES.values():
        for name, wait in service.get("depends_on", {}).items():
            healthy = wait["condition"] != "service_healthy" or SERVICES[name]["healthcheck"]["test"]
            assert name in SERVICES and healthy
        for volume in service.get("volumes", []):
            assert volume.split(":")[0] in COMPOSE["volumes"]


def test_no_secret_stands_in_the_files():
    lines = (ROOT / "compose.yaml").read_text()
    values = set(re.findall(r"^\s*\w*(?:PASSWORD|PASS|SECRET_KEY|ACCESS_KEY|API_KEY|SIGNING_KEY): (.+)$", lines, re.M))
    assert len(values) > 4
    known = r"\$\{\w+:\?set it in \.env\}|\$\{\w+:-\}|/run/secrets/\w+"
    assert [value for value in values if not re.fullmatch(known, value)] == []


def test_the_steps_of_the_image_collect_static_files_and_leave_no_key(tmp_path):
    copied = tmp_path / "app"
    for name in ("config", "sessions_app", "vcon_app", "templates", "static", "script"):
        shutil.copytree(ROOT / name, copied / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("manage.py", "pyproject.toml"):
        shutil.copy(ROOT / name, copied / name)
    place = {name: value for name, value in os.environ.items() if name not in {*env.OURS, *env.COMMON}}
    data = tmp_path / "data"
    subprocess.run([copied / "script/image", data], env=place | {"PYTHON": sys.executable}, check=True, timeout=120)
    assert [path.name for path in data.iterdir()] == ["static"], "no key, no log: they are each installation's own"
    assert (data / "static/.collected").exists() and list((data / "static/css").glob("session.*.css"))
    told = subprocess.run(
        [copied / "script/countersign", "help", "web"],
        env=place | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COUNTERSIGN_DATA_DIR": str(data)},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "--processes" in told.stdout, told.stderr

"""docs/retention.md: its program runs, its commands are there, and its words are those of the API."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
from django.core.management import call_command

from sessions_app.api.retention.schemas import RetentionPolicy
from sessions_app.models import Role, Session
from sessions_app.services import audit
from sessions_app.services.people import api_keys
from tests.places import DOCS

from ..conftest import SOURCE

PAGE = (DOCS / "retention.md").read_text()


def test_the_program_of_the_page(desk_server, workspace, tmp_path):
    key = api_keys.create_api_key(workspace, "Program", Role.AGENT, by=audit.COMMAND)[1]
    (program,) = re.findall(r"```python\n(.+?)```", PAGE, re.S)
    environment = {
        "PYTHONPATH": str(SOURCE), "COUNTERSIGN_URL": desk_server, "COUNTERSIGN_API_KEY": key,
        "COUNTERSIGN_SPOOL": str(tmp_path),
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    said = "10 40 rules\n21 60\n40 earlier messages are left out here; counted from them:\n"
    assert (done.stdout, done.stderr) == (said, "")


@pytest.mark.django_db
def test_the_commands_of_the_page(agent, capsys):
    session = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
    (block,) = re.findall(r"```sh\n(.+?)```", PAGE, re.S)
    lines = [shlex.split(line, comments=True)[1:] for line in block.splitlines()]
    assert len(lines) == 5
    for line in lines:
        call_command(*(str(session.pk) if word == "SESSION" else word for word in line))
    assert "on hold" in capsys.readouterr().out


def test_the_words_of_the_page_are_those_of_the_api():
    table = PAGE.split("|---|---|\n", 1)[1].split("\n\n", 1)[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == set(RetentionPolicy.model_fields)

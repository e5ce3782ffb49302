"""What libraries ask their own users is answered by the desk, and by nobody else."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.sdk.bad_desks import LIES, answering, lying, nobody

from .libraries import PATIENCE, SOURCE, python_with
from .test_langchain import ASKED, EDITED, edit


def became(name):
    """What each form of a library ran at a desk that approves, edits, denies, and is not there."""
    form = Path(__file__).with_name(f"forms_of_{name.replace('-', '_')}.py")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "COUNTERSIGN_API_KEY": "cs_test"}
    with (
        answering(lying(lambda said: None)) as yes,
        answering(lying(edit)) as edits,
        answering(lying(LIES["denied"])) as no,
        nobody() as gone,
    ):
        command = [str(python_with(name)), str(form), yes, edits, no, gone]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_approvals_of_the_agent_framework():
    assert became("agent-framework") == {
        "answered": [[ASKED], [], [], []],
        "asked_once": [[ASKED], [], [], []],
        "approved_elsewhere": [[ASKED], [], [], []],
    }


def test_confirmations_of_google_adk():
    decided = [[[ASKED], False], [[EDITED], False], [[], False], [[], False]]
    assert became("google-adk") == {"always": decided, "a function": decided, "never": decided}

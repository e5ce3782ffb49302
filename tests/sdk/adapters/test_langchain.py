"""Every form in which a graph of LangChain asks is answered as it can be, and what it cannot take is no."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from countersign import canonical

from tests.sdk.bad_desks import APPROVAL, LIES, SESSION, answering, lying, nobody

from .libraries import PATIENCE, SOURCE, python_with

ASKED, EDITED = {"order": "4711", "amount": 40.0}, {"order": "4711", "amount": 4.5}


def edit(said):
    """Approved, with another amount."""
    named = canonical.digest(SESSION, APPROVAL, said["tool"]["name"], None, EDITED)
    said["status"] = "approved_edited"
    said["decision"] |= {"arguments": EDITED, "digest": named}


def test_each_form_runs_what_was_decided_and_nothing_else():
    program = [str(python_with("langchain")), str(Path(__file__).with_name("forms_of_langchain.py"))]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "COUNTERSIGN_API_KEY": "cs_test"}
    with (
        answering(lying(lambda said: None)) as yes,
        answering(lying(edit)) as edits,
        answering(lying(LIES["denied"])) as no,
        nobody() as gone,
    ):
        done = subprocess.run(
            [*program, yes, edits, no, gone], capture_output=True, text=True, env=environment, timeout=PATIENCE
        )
    assert done.returncode == 0, done.stderr
    ran, edited, none, stuck = [[ASKED], "done"], [[EDITED], "done"], [[], "done"], [[], "cannot deny"]
    assert json.loads(done.stdout) == {
        "per call": [ran, edited, none, none],
        "per call, no edit": [ran, none, none, none],
        "no edit": [ran, none, none, none],
        "only approve": [ran, stuck, stuck, stuck],
        "per call, only approve": [ran, stuck, stuck, stuck],
        "inbox": [ran, edited, none, none],
        "something else": [[[], "interrupted"]] * 4,
    }

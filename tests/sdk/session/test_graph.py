"""The program of the page about the graph: what it tells stands there as a decision with its evidence."""

from __future__ import annotations

import re
import subprocess
import sys

from sessions_app.models import GraphNode
from tests.places import DOCS

from ..conftest import SOURCE

PAGE = (DOCS / "graph.md").read_text()


def test_the_program_of_the_page_tells_a_decision_and_its_evidence(desk_server, agent_key, tmp_path):
    (program,) = re.findall(r"```python\n(.+?)```", PAGE, re.S)
    known = {"PYTHONPATH": str(SOURCE), "COUNTERSIGN_URL": desk_server, "COUNTERSIGN_API_KEY": agent_key}
    done = subprocess.run(
        [sys.executable, "-c", program], env=known | {"COUNTERSIGN_SPOOL": str(tmp_path)}, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    decision = GraphNode.objects.get(kind="decision", session__external_id="triage-2026-05")
    evidence = GraphNode.objects.get(kind="evidence")
    assert (decision.status, decision.told["rationale"]) == ("proposed", "Nobody used them in May")
    assert (evidence.about_id, evidence.told["direction"]) == (decision.pk, "supports")

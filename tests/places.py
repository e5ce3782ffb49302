"""Where things lie: the project, its samples, and the corpus of other people's files beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SAMPLES = ROOT / "tests" / "samples"
CORPUS = ROOT.parent / "shared" / "corpus"

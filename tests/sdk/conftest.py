"""The package in ``sdk/`` as its users have it: imported here, and as the commands that its installer writes."""

from __future__ import annotations

import sys

from tests.places import ROOT

SOURCE = ROOT / "sdk" / "src"
if str(SOURCE) not in sys.path:
    sys.path.insert(0, str(SOURCE))

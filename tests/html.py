"""Pages as tests compare them."""

from __future__ import annotations

import re
from typing import Any


def on_one_line(page: Any) -> str:
    """HTML, or that of a response, without the whitespace by which a template is laid out in lines."""
    html = page if isinstance(page, str) else page.content.decode()
    collapsed = re.sub(r"\s+", " ", html)
    return re.sub(r" >", ">", re.sub(r"> | (?=</)", lambda found: found[0].strip(), collapsed))

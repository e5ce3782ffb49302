"""Run the example of a page of docs/gate as it stands, but for the time that it waits. Arguments: page, seconds."""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from pathlib import Path


async def main(page: str, wait: str) -> None:
    source = re.search(r"```python\n(.+?)```", Path(page).read_text(), re.S)[1]
    assert source.count("wait=3600") == 1, "the example does not say how long it waits"
    code = compile(source.replace("wait=3600", f"wait={wait}"), page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await eval(code, {"__name__": "page"})  # noqa: S307 - the page's own example


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

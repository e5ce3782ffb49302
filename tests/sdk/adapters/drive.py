"""Run the example of a page of docs/gate as its reader would, with a model that follows a script. Without pytest.

Arguments: name, page, seconds to wait, calls in the model's first answer. Standard input: addresses of desks (JSON).
Prints what became of each.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
ARGUMENTS = {"order": "4711", "amount": 40.0}
MODEL = r'OpenAIChatClient\(model="gpt-5"\)|"(openai:)?gpt-5"|"gemini-3-pro"'


def example(page: str, wait: float) -> CodeType:
    """The code of a page, with the time of the test and with the model that the test brings."""
    source = re.search(r"```python\n(.+?)```", Path(page).read_text(), re.S)[1]
    source, waits = re.subn(r"wait=3600", f"wait={wait}", source)
    source, models = re.subn(MODEL, "model", source)
    assert waits == models == 1, f"{page}: the example does not say how long it waits, or which model it runs"
    return compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


async def run(name: str, code: CodeType, desk: str, calls: int) -> dict[str, Any]:
    os.environ["COUNTERSIGN_URL"] = desk  # read by the example before it first waits
    ran: list[Any] = []

    def pay_back(order: str, amount: float) -> str:
        if order == "broken":
            raise ValueError("there is no such order")
        ran.append({"order": order, "amount": amount})
        return f"Paid {amount} back for {order}."

    library = import_module(f"scripted_{name.replace('-', '_')}")
    model = library.model([dict(ARGUMENTS, order=str(4711 + number)) for number in range(calls)])
    page: dict[str, Any] = {"model": model, "pay_back": pay_back, "__name__": "page"}
    error = ""
    try:
        running = eval(code, page)  # noqa: S307 - the page's own example
        if inspect.isawaitable(running):
            await running
    except Exception:
        error = traceback.format_exc()
    return {"ran": ran, "told": library.told(model), "error": error}


async def main(name: str, page: str, wait: str, calls: str) -> list[dict[str, Any]]:
    code = example(page, float(wait))
    desks = json.load(sys.stdin)
    return await asyncio.gather(*(run(name, code, desk, int(calls)) for desk in desks))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))

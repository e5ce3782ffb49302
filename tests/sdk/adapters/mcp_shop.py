"""An MCP server with one tool, which writes down what it did in the file that LEDGER names."""

from __future__ import annotations

import json
import os
from pathlib import Path

from mcp.server.mcpserver import MCPServer

shop = MCPServer("shop")


@shop.tool()
def refund(order: str, amount: float) -> str:
    """Pay money back."""
    with Path(os.environ["LEDGER"]).open("a") as ledger:
        ledger.write(json.dumps({"order": order, "amount": amount}) + "\n")
    return f"Paid {amount} back for {order}."


if __name__ == "__main__":
    shop.run("stdio")

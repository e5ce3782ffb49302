"""The desk as an MCP server, at ``/mcp``: read-only tools with which an agent looks at agents."""

"""The desk as MCP servers: ``/mcp`` has read-only tools with which an agent looks at agents, ``/mcp/recording`` tools
by which it records what its sessions led to.
"""

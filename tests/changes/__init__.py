"""Files that tool calls changed."""

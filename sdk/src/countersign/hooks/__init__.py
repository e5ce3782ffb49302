"""The hooks that `countersign hooks` writes into a coding agent's settings, and takes out again."""

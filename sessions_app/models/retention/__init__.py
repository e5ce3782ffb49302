"""How long a session is kept in sight: its policy, and what was pruned by it."""

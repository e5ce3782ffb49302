"""State of sessions over the API: its route, what it is sent and what it answers."""

"""What the API tells of a session beside its events."""

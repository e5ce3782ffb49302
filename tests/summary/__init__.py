"""What happened in a session, by rules."""

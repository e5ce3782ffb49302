"""What is read out of a session's log, over the API."""

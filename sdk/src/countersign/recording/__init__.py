"""What a program reports of itself: written to a spool on disk at once, brought to the desk by a thread."""

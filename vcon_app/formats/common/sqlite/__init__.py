"""SQLite files: opened without trusting them, and their rows as records."""

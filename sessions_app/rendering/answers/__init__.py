"""Answers of the assistant of the desk, and what they cite."""

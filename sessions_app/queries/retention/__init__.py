"""What is out of sight in a session, what a strategy would take, and what the sweep is to look at."""

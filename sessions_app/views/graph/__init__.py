"""Pages of what sessions led to."""

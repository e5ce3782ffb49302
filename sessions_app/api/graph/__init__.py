"""What sessions led to, over the API."""

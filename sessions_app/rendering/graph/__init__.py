"""What sessions led to, as a picture: pure."""

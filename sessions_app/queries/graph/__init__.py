"""What sessions led to, and under which definition and rules."""

"""What programs that report to a desk pay for it, and whether anything is lost."""

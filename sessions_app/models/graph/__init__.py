"""What sessions led to: decisions, and evidence for and against them."""

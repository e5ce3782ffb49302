"""What sessions led to: decisions and evidence, recorded here or told by events."""

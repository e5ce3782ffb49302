"""What several formats share: bytes to JSON, lines, times, findings, keys. No format stands in here."""

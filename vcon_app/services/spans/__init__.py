"""Spans that exporters send over OTLP: kept at once, told as events of a session by a worker."""

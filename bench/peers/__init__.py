"""How soon are pages ready in a browser, here and in two others that take OpenTelemetry? See ``__main__``."""

"""What is searched, and for what: the words of a text, what somebody typed, what of a text is marked. Pure."""

"""The whole run of a session in one band: what each stretch of it holds, and the picture of that."""

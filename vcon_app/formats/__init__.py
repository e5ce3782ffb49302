"""One module (or package) per file format, each pure: bytes in, drafts out, and back. ``common`` is what they share.

``contract`` says what a format declares and which functions it has; ``vcon_app.registry`` finds them all.
"""

"""How what stands in a transcript is shown. Pure functions: text in, text or safe HTML out, no database.

Everything in a transcript is hostile input. ``text`` makes it readable and harmless as text, ``markdown``
as HTML; ``diff`` and ``toolline`` say what a tool call did; ``numbers`` writes tokens, money and time.
"""

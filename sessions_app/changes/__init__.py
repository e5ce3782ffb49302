"""Files that tool calls changed, as the calls say: nobody has looked at the files. Pure.

``calls`` reads one call in the dialects of the coding agents, ``stated`` an event by which a recorder states a change,
``shell`` what a command evidently writes; ``history`` puts the changes of one file together, as far as its text is
known. Everything here is hostile input, and every piece of work is bounded.
"""

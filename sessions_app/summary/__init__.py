"""What happened in a session, kept by rules that read one event after the other: no model, no second reading.

``state.Summary`` carries everything from event to event and is stored between appends, so that an append of one event
costs the same in a session of ten as in one of 50,000.
"""

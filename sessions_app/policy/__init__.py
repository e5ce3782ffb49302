"""Rules for calls of agents: read, checked and evaluated. Pure: values in, an outcome out, no database, no clock.

``reading`` makes rules of JSON or says what is wrong with it, ``evaluation`` says what they make of one call, ``terms``
what they ask of a decision. What each rule means is in docs/policies.md.
"""

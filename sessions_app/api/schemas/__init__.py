"""JSON of the API: a module for each router, with what it is sent and what it answers, made from rows.

Unknown is null, never 0. Times are UTC with "Z", money is a decimal string in US dollars.
"""

"""Share links: the page that one shows, the switch of a workspace, and how a link opens and ends. ``exports.sharing``
makes one.
"""

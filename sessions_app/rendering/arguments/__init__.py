"""Arguments of a call in the form that a person reads them in before they decide; pure, and safe as HTML.

``shape.shape_of`` chooses: a command, SQL, a mail, a diff, a table, a tree. Nothing is left out without saying so.
"""

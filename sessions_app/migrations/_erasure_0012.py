"""SQL of erasure since approvals have steps, views, notices and grants of their own: these go with their session."""

from __future__ import annotations

from ._erasure_0010 import ERASE

OF_APPROVALS = ("escalationstep", "cardview", "notice")
FIRST_OF_APPROVALS = "DELETE FROM sessions_app_slacknotice n"
LAST_OF_SESSION = "DELETE FROM sessions_app_session WHERE id = erased;"

DELETE_OF_APPROVALS = "".join(
    f"""DELETE FROM sessions_app_{table} o USING sessions_app_approval a
        WHERE o.approval_id = a.id AND a.session_id = erased;
    """
    for table in OF_APPROVALS
)
# What was posted to others stands in these bodies; they have no foreign key, since they outlive what they tell of.
DELETE_MESSAGES = """DELETE FROM sessions_app_outgoingmessage o USING sessions_app_approval a
        WHERE o.subject_id = a.id AND a.session_id = erased;
    """
DELETE_GRANTS = "DELETE FROM sessions_app_grant WHERE session_id = erased;\n    "

REPLACE = ERASE.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
BACKWARD = REPLACE
FORWARD = REPLACE.replace(FIRST_OF_APPROVALS, DELETE_OF_APPROVALS + DELETE_MESSAGES + FIRST_OF_APPROVALS).replace(
    LAST_OF_SESSION, DELETE_GRANTS + LAST_OF_SESSION
)

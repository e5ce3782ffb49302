"""SQL of erasure: the one function that deletes a session's log, and the triggers of tombstones.

The function belongs to the owner of the tables and runs with the owner's rights (SECURITY DEFINER), since whoever calls
it may not delete events. So it believes nobody: it looks for the tombstone itself, one that this very transaction wrote
and that states the log's true end. ``pg_temp`` stands last in its search path, where it would come first unnamed: a
caller's temporary table called sessions_app_tombstone must not be taken for ours (CREATE FUNCTION, "Writing SECURITY
DEFINER Functions Safely").
"""

from __future__ import annotations

from ._append_only import backward, forward

DELETED = (
    "approval", "event", "eventlink", "eventtext", "toolcall", "modelrequest", "turn", "queuedmessage", "turninflight",
    "slackreply", "budget",
)  # fmt: skip
"""Tables of which every row of the session goes. What was spent (ledger, usage of turns and calls) stays."""

ERASE = f"""
CREATE FUNCTION countersign_erase_session(erased uuid, tombstone uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET countersign.erase = 'on' AS $$
DECLARE
    last integer;
BEGIN
    SELECT last_seq INTO last FROM sessions_app_session WHERE id = erased FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no session %', erased USING ERRCODE = 'no_data_found';
    END IF;
    PERFORM FROM sessions_app_tombstone t
    WHERE t.id = tombstone AND t.kind = 'session' AND t.subject_id = erased
      AND t.transaction = pg_current_xact_id()::text::bigint
      AND t.last_seq = last
      AND t.last_link = coalesce((SELECT encode(l.hash, 'hex') FROM sessions_app_eventlink l
                                  WHERE l.session_id = erased ORDER BY l.last_seq DESC LIMIT 1), '')
      AND (t.counts ->> 'events')::bigint = (SELECT count(*) FROM sessions_app_event e WHERE e.session_id = erased);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'session % is erased only by the transaction that writes its true tombstone', erased
            USING ERRCODE = 'restrict_violation';
    END IF;

    DELETE FROM sessions_app_vote v USING sessions_app_approval a WHERE v.approval_id = a.id AND a.session_id = erased;
    DELETE FROM sessions_app_slacknotice n USING sessions_app_approval a
        WHERE n.approval_id = a.id AND a.session_id = erased;
    {"".join(f"DELETE FROM sessions_app_{table} WHERE session_id = erased;{chr(10)}    " for table in DELETED)}
    DELETE FROM sessions_app_unsealedhead WHERE kind = 'session' AND chain_id = erased;
    UPDATE sessions_app_modelrequest SET counted_in_id = NULL WHERE counted_in_id = erased;
    UPDATE sessions_app_triggerrun SET session_id = NULL, input_text = '' WHERE session_id = erased;
    UPDATE sessions_app_session SET parent_id = NULL WHERE parent_id = erased;
    UPDATE sessions_app_session SET continues_id = NULL WHERE continues_id = erased;
    DELETE FROM sessions_app_session WHERE id = erased;
END $$;
REVOKE ALL ON FUNCTION countersign_erase_session(uuid, uuid) FROM PUBLIC;
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION countersign_erase_session(uuid, uuid) SET search_path = pg_catalog, %I, pg_temp',
                   current_schema());
END $$;
"""

IN_TRANSACTION = """
CREATE FUNCTION countersign_in_transaction() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    NEW.transaction := pg_current_xact_id()::text::bigint;
    RETURN NEW;
END $$;
CREATE TRIGGER in_transaction BEFORE INSERT ON sessions_app_tombstone
    FOR EACH ROW EXECUTE FUNCTION countersign_in_transaction();
"""

FORWARD = forward("sessions_app_tombstone", "tombstones") + IN_TRANSACTION + ERASE
BACKWARD = """
DROP FUNCTION countersign_erase_session(uuid, uuid);
DROP TRIGGER in_transaction ON sessions_app_tombstone;
DROP FUNCTION countersign_in_transaction();
""" + backward("sessions_app_tombstone")

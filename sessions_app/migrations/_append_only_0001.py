"""Triggers that keep the log and the audit chain append-only, whoever holds the connection.

What 0001 made, and no more: a table that is added later gets its trigger from the migration that makes it, because
whoever changed this file would change what an installation of 2026 is believed to have.
Whole sessions may be erased by setting ``countersign.erase`` for the transaction (retention will need it).
"""

TABLES = {
    "sessions_app_event": "events",
    "sessions_app_auditentry": "audit entries",
    "sessions_app_ledgerentry": "ledger entries",
}

FORWARD = """
CREATE FUNCTION countersign_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('countersign.erase', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% are append-only: % refused', TG_ARGV[0], TG_OP USING ERRCODE = 'restrict_violation';
END $$;
""" + "".join(
    f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}"
    f" FOR EACH ROW EXECUTE FUNCTION countersign_append_only('{name}');\n"
    for table, name in TABLES.items()
)

BACKWARD = (
    "".join(f"DROP TRIGGER append_only ON {table};\n" for table in TABLES) + "DROP FUNCTION countersign_append_only();"
)

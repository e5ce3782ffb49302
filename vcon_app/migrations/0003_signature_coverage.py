from django.db import migrations, models

# The events of a file are those of its document; where others stand between them, no range is claimed.
RANGES = """
UPDATE vcon_app_importedsession link SET first_seq = found.first_seq, last_seq = found.last_seq
FROM (
    SELECT own.id, min(event.seq) AS first_seq, max(event.seq) AS last_seq, count(*) AS events
    FROM vcon_app_importedsession own
    JOIN vcon_app_sourcedocument document ON document.id = own.document_id
    JOIN sessions_app_event event ON event.session_id = own.session_id AND event.document = document.sha256
        AND (own.member = '' OR starts_with(event.pointer, own.member || ': '))
    WHERE own.events > 0
    GROUP BY own.id
) found
WHERE found.id = link.id AND found.events = found.last_seq - found.first_seq + 1
"""
COVERS = """
UPDATE vcon_app_importedsession
SET signature = signature || jsonb_build_object(
    'covers', jsonb_build_object('first_seq', first_seq, 'last_seq', last_seq))
WHERE first_seq IS NOT NULL AND NOT signature ? 'uncovered'
  AND signature->>'state' IN ('valid', 'valid_untrusted', 'valid_expired')
"""
REPEATS = """
UPDATE vcon_app_importedsession again SET signature = link.signature
FROM vcon_app_import repeated, vcon_app_importedsession link
WHERE again.imported_id = repeated.id AND repeated.duplicate_of_id = link.imported_id
  AND again.session_id = link.session_id AND again.member = link.member AND link.signature ? 'covers'
"""
# A signature that leaves parts out is checked again by the next sweep, which sees which events are in them.
CHECK_AGAIN = """
UPDATE vcon_app_import SET checked_against = 'before coverage'
WHERE checked_against <> '' AND id IN (
    SELECT imported_id FROM vcon_app_importedsession WHERE signature ? 'uncovered')
"""
FORGET = "UPDATE vcon_app_importedsession SET signature = signature - 'covers' WHERE signature ? 'covers'"


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0001_initial"),
        ("vcon_app", "0002_waiting_for"),
    ]

    operations = [
        migrations.AddField(
            model_name="importedsession",
            name="first_seq",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="importedsession",
            name="last_seq",
            field=models.IntegerField(null=True),
        ),
        migrations.RunSQL([RANGES, COVERS, REPEATS, CHECK_AGAIN], [FORGET]),
    ]

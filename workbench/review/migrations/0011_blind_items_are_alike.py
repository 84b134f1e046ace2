from django.db import migrations

#: A card that hides its role: as workbench.review.blindness.BLIND_STAGE has it.
_HIDES = "state = 'waiting' AND (stage = 'second' OR (stage = 'first' AND is_blind))"


class Migration(migrations.Migration):
    """Cards that wait for a blind decision are alike in the queue: each is required, and none comes before another for
    its role. The not-found of their run waits for them, and comes back once they are decided."""

    dependencies = [("review", "0010_kinds_are_checked")]

    operations = [
        migrations.RunSQL(
            f"""
            UPDATE review_queueitem SET is_required = true, priority = 0.5 WHERE {_HIDES};
            DELETE FROM review_queueitem WHERE candidate_id IS NULL AND state = 'waiting'
            AND run_id IN (SELECT run_id FROM review_queueitem WHERE {_HIDES});
            SET CONSTRAINTS ALL IMMEDIATE
            """,
            migrations.RunSQL.noop,
        ),
    ]

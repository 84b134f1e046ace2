from django.conf import settings
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    """With which chance the draw took a card to be decided blind."""

    dependencies = [
        ('documents', '0016_line_marks'),
        ('questions', '0016_run_follows'),
        ('review', '0015_check_share_is_checked'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='queueitem',
            name='blind_chance',
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name='review',
            name='blind_chance',
            field=models.FloatField(null=True),
        ),
        AddConstraintNotValid(
            model_name='queueitem',
            constraint=models.CheckConstraint(condition=models.Q(('blind_chance__isnull', True), models.Q(('blind_chance__gt', 0), ('blind_chance__lte', 1)), _connector='OR'), name='blind_chance_is_one'),
        ),
        AddConstraintNotValid(
            model_name='review',
            constraint=models.CheckConstraint(condition=models.Q(('blind_chance__isnull', True), models.Q(('blind', True), ('blind_chance__gt', 0), ('blind_chance__lte', 1)), _connector='OR'), name='drawn_review_is_blind'),
        ),
    ]

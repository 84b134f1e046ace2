"""Documents of a collection that are nearly the same find each other by a few hashes of their text."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('documents', '0014_fields'),
    ]

    operations = [
        migrations.CreateModel(
            name='Likeness',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('share', models.FloatField()),
                ('first', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='documents.document')),
                ('second', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='documents.document')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('first', 'second'), name='likeness_once'), models.CheckConstraint(condition=models.Q(('first__lt', models.F('second'))), name='likeness_of_two_documents'), models.CheckConstraint(condition=models.Q(('share__gte', 0), ('share__lte', 1)), name='likeness_is_a_share')],
            },
        ),
        migrations.CreateModel(
            name='Sketch',
            fields=[
                ('document', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='documents.document')),
                ('hashes', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('collection', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='documents.collection')),
            ],
            options={
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['hashes'], name='sketch_by_hash')],
            },
        ),
    ]

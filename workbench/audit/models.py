"""The trail: what happened, its place in the hash chain, and what still waits for a place.

These three tables are append-only for everyone: triggers refuse UPDATE, DELETE and TRUNCATE
(``protection.py``). A fourth, no part of the trail, remembers when the chain was last verified.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Func, Q
from django.utils.translation import gettext_lazy as _


class ClockTimestamp(Func):
    """The server's time now; unlike ``Now`` it moves on inside a statement."""

    function = "CLOCK_TIMESTAMP"
    output_field = models.DateTimeField()


class RandomUUID(Func):
    """A random UUID made by the database."""

    function = "GEN_RANDOM_UUID"
    output_field = models.UUIDField()


class ActorKind(models.TextChoices):
    """Who acted: a person, the installation itself, a background worker, or a language model."""

    PERSON = "person", _("person")
    SYSTEM = "system", _("system")
    WORKER = "worker", _("worker")
    MODEL = "model", _("model")


class AuditEventQuerySet(models.QuerySet["AuditEvent"]):
    """Events; which of them a person may read is for :func:`workbench.trail.selectors.events_visible_to`."""

    def of_object(self, obj: models.Model) -> AuditEventQuerySet:
        return self.filter(object_type=object_type_of(obj), object_id=str(obj.pk))


class AuditEvent(models.Model):
    """One thing that happened. Holds ids, hashes and decisions, never document text."""

    # A default of the database, and a trigger sets it once more: no writer chooses the time.
    created_at = models.DateTimeField(db_default=ClockTimestamp(), editable=False)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    # A copy: the name as it was then.
    actor_name = models.CharField(max_length=254)
    actor_kind = models.CharField(max_length=8, choices=ActorKind.choices)
    action = models.CharField(max_length=80, help_text=_("Dotted, such as verdict.overridden."))
    object_type = models.CharField(max_length=40, blank=True)
    object_id = models.CharField(max_length=80, blank=True)
    # A plain number: deleting a collection never touches the trail.
    collection_id = models.BigIntegerField(null=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    reason = models.TextField(blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    # Makes the event's hash unguessable, so that an export may show the hashes of other collections' events.
    salt = models.UUIDField(db_default=RandomUUID(), editable=False)

    objects = AuditEventQuerySet.as_manager()

    class Meta:
        db_table = "audit_event"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=~Q(action=""), name="audit_event_has_an_action"),
            models.CheckConstraint(
                condition=Q(actor_kind__in=ActorKind.values), name="audit_actor_kind_is_known"
            ),
            models.CheckConstraint(condition=~Q(actor_name=""), name="audit_event_names_its_actor"),
        ]
        indexes = [
            models.Index(fields=["collection_id", "-id"], name="audit_by_collection"),
            models.Index(fields=["object_type", "object_id", "-id"], name="audit_by_object"),
            models.Index(fields=["created_at"], name="audit_by_time"),
            models.Index(
                fields=["action", "id"], name="audit_by_action", opclasses=["varchar_pattern_ops", "int8_ops"]
            ),
            models.Index(fields=["request_id"], name="audit_by_request", condition=~Q(request_id="")),
        ]

    def __str__(self) -> str:
        return f"{self.pk} {self.action}"


class AuditSeal(models.Model):
    """An event's place in the hash chain, given by the one sealer.

    ``event_hash`` is the SHA-256 of the event's canonical JSON, ``hash`` that of ``prev_hash + event_hash``
    (``verifier.py``); the first ``prev_hash`` is 64 zeros.
    """

    position = models.BigIntegerField(primary_key=True)
    event = models.OneToOneField(AuditEvent, on_delete=models.PROTECT, related_name="seal")
    event_hash = models.CharField(max_length=64)
    prev_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)
    sealed_at = models.DateTimeField(db_default=ClockTimestamp(), editable=False)

    class Meta:
        db_table = "audit_seal"
        ordering = ["position"]
        constraints = [
            models.CheckConstraint(condition=Q(position__gte=1), name="audit_positions_start_at_one"),
        ]

    def __str__(self) -> str:
        return f"{self.position} {self.hash[:12]}"


class AuditPending(models.Model):
    """An event that waits for its seal. A trigger adds the row with the event; the sealer takes it away.

    So the sealer finds events that commit late with a low id, and an event that is neither sealed nor waiting
    has lost its seal.
    """

    event_id = models.BigIntegerField(primary_key=True)

    class Meta:
        db_table = "audit_pending"

    def __str__(self) -> str:
        return str(self.event_id)


class AuditVerification(models.Model):
    """What one reading of the whole chain found, so that monitoring knows how old the last one is. No part of the
    trail, and proof of nothing: who can write to the database can write here too."""

    created_at = models.DateTimeField(db_default=ClockTimestamp(), editable=False)
    ok = models.BooleanField()
    events = models.BigIntegerField()
    position = models.BigIntegerField()

    class Meta:
        db_table = "audit_verification"

    def __str__(self) -> str:
        return f"{self.pk} {'whole' if self.ok else 'broken'}"


def object_type_of(obj: models.Model) -> str:
    """The word by which the trail knows a kind of object: ``document``, ``run``, ``candidate``."""
    return str(obj._meta.model_name)

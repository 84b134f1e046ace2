"""Shapes of the API of the reviewer's day."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from workbench.review.models import (
    Comment,
    EmailWish,
    Notification,
    QueueItem,
    Regeneration,
    Reopening,
    Signature,
    SignatureMeaning,
    TextChange,
)
from workbench.review.presenters import why_words
from workbench.runs.models import RoleChoice

from .serializers import sight_in


class ReopeningSerializer(serializers.ModelSerializer[Reopening]):
    """Why and by whom a signature was set aside."""

    reopened_by = serializers.CharField(source="reopened_by.name", read_only=True)

    class Meta:
        model = Reopening
        fields = ["id", "signature", "reopened_by", "reason", "reopened_at"]
        read_only_fields = fields


class TextChangeSerializer(serializers.ModelSerializer[TextChange]):
    """A passage of a signed run that a new version changed; ``candidate`` is null for a not-found, which rests on the
    whole document."""

    class Meta:
        model = TextChange
        fields = ["candidate", "document", "state", "created_at"]
        read_only_fields = fields


class SignatureSerializer(serializers.ModelSerializer[Signature]):
    """Name, time and meaning, bound to the SHA-256 of the record's canonical JSON; and what new versions of the
    documents changed of the text since."""

    record = serializers.SerializerMethodField()
    reopening = ReopeningSerializer(read_only=True, allow_null=True, default=None)
    text_changes = TextChangeSerializer(many=True, read_only=True)

    class Meta:
        model = Signature
        fields = [
            "id", "run", "signer_name", "meaning", "record_sha256", "record", "signed_at", "reopening", "text_changes",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.JSONField(allow_null=True))
    def get_record(self, signature: Signature) -> Any:
        """The signed record; null while a card of the run, opened again, is hidden from the caller."""
        return None if getattr(signature, "is_withheld", False) else signature.record


class SignSerializer(serializers.Serializer[Any]):
    """A signature to be given."""

    run = serializers.IntegerField(min_value=1)
    password = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)
    meaning = serializers.ChoiceField(choices=SignatureMeaning.choices)
    record_sha256 = serializers.RegexField("^[0-9a-f]{64}$")


class SigningSerializer(serializers.Serializer[Any]):
    """What would be signed now, and what must be decided first."""

    record_sha256 = serializers.CharField()
    record = serializers.JSONField()
    waiting = serializers.ListField(child=serializers.IntegerField(), help_text="Keys of queue items.")


class ReopenSerializer(serializers.Serializer[Any]):
    """A run to be reopened."""

    run = serializers.IntegerField(min_value=1)
    reason = serializers.CharField(max_length=2000)


class EvidenceSerializer(serializers.Serializer[Any]):
    """Lines of a document, both ends inclusive and 1-based, their role and what they show."""

    document = serializers.IntegerField(min_value=1)
    page_start = serializers.IntegerField(min_value=1, max_value=10**6)
    line_start = serializers.IntegerField(min_value=1, max_value=10**6)
    page_end = serializers.IntegerField(min_value=1, max_value=10**6)
    line_end = serializers.IntegerField(min_value=1, max_value=10**6)
    role = serializers.ChoiceField(choices=RoleChoice.choices)
    reason = serializers.CharField(max_length=2000)


class NotFoundSerializer(serializers.Serializer[Any]):
    """A word on a run that found nothing. Whoever refutes it says in the comment where the answer stands."""

    decision = serializers.ChoiceField(choices=["confirm", "refute"])
    comment = serializers.CharField(max_length=4000, required=False, allow_blank=True, default="")


class RegenerationSerializer(serializers.ModelSerializer[Regeneration]):
    """A new version of an answer on its way."""

    class Meta:
        model = Regeneration
        fields = ["id", "run", "state", "failure", "answer", "created_at", "finished_at"]
        read_only_fields = fields


class ChoiceSerializer(serializers.Serializer[Any]):
    """A role, and a word on it."""

    role = serializers.ChoiceField(choices=RoleChoice.choices)
    comment = serializers.CharField(max_length=4000, required=False, allow_blank=True, default="")


class WordSerializer(serializers.Serializer[Any]):
    """A decision or second review that was written."""

    id = serializers.IntegerField()
    role = serializers.ChoiceField(choices=RoleChoice.choices, allow_null=True)
    comment = serializers.CharField()
    created_at = serializers.DateTimeField()


class CandidateThenSerializer(serializers.Serializer[Any]):
    """A candidate's role at a moment, and now."""

    candidate_id = serializers.CharField(source="candidate.candidate_id")
    machine_role = serializers.CharField(allow_null=True)
    role = serializers.CharField(allow_null=True)
    role_now = serializers.CharField(allow_null=True)
    review = serializers.IntegerField(source="decision.pk", default=None, allow_null=True)


class RunThenSerializer(serializers.Serializer[Any]):
    """A run at a moment."""

    at = serializers.DateTimeField()
    existed = serializers.BooleanField()
    state = serializers.CharField()
    review_state = serializers.CharField()
    candidates = CandidateThenSerializer(many=True)
    answer_version = serializers.IntegerField(source="answer.version", default=None, allow_null=True)
    signature = serializers.IntegerField(source="signature.pk", default=None, allow_null=True)


class QueueItemSerializer(serializers.ModelSerializer[QueueItem]):
    """Something that waits for a person. ``is_hidden``: decide before you look at the machine's role."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    claimed_by = serializers.CharField(source="claimed_by.name", default=None, allow_null=True)
    assigned_to = serializers.CharField(source="assigned_to.name", default=None, allow_null=True)
    is_hidden = serializers.SerializerMethodField()
    why = serializers.SerializerMethodField()

    class Meta:
        model = QueueItem
        fields = [
            "id", "collection", "run", "candidate", "state", "stage", "is_required", "is_blind", "is_hidden",
            "priority", "why", "claimed_by", "claimed_until", "assigned_to", "created_at", "decided_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_is_hidden(self, item: QueueItem) -> bool:
        """Whether the caller must not see the machine's role yet."""
        return sight_in(self.context).hides(item=item, run=item.run)

    def get_why(self, item: QueueItem) -> list[str]:
        """Why it waits, in words."""
        return why_words(item, is_hidden=self.get_is_hidden(item))


class HandOverSerializer(serializers.Serializer[Any]):
    """Another reviewer by key, and a word to them."""

    person = serializers.IntegerField(min_value=1)
    note = serializers.CharField(max_length=300, required=False, allow_blank=True, default="")


class BulkSerializer(serializers.Serializer[Any]):
    """What would be approved at once."""

    digest = serializers.CharField()
    total = serializers.IntegerField()
    items = serializers.ListField(child=serializers.IntegerField())
    left_out = serializers.DictField(child=serializers.IntegerField())


class BulkApproveSerializer(serializers.Serializer[Any]):
    """The digest of the preview that is approved."""

    digest = serializers.CharField(max_length=64)
    comment = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")


class BulkOutcomeSerializer(serializers.Serializer[Any]):
    """What became of it."""

    approved = serializers.IntegerField()
    refused = serializers.DictField(child=serializers.IntegerField())


class CommentSerializer(serializers.ModelSerializer[Comment]):
    """A person's words on a run, or on one of its candidates."""

    author = serializers.CharField(source="author.name", read_only=True)

    class Meta:
        model = Comment
        fields = ["id", "run", "candidate", "author", "body", "created_at"]
        read_only_fields = fields


class CommentCreateSerializer(serializers.Serializer[Any]):
    """Words to be said; ``@name`` tells a member."""

    run = serializers.IntegerField(min_value=1)
    candidate = serializers.IntegerField(min_value=1, required=False, allow_null=True, default=None)
    body = serializers.CharField(max_length=4000)


class NotificationsReadSerializer(serializers.Serializer[Any]):
    """Which notifications were read; without ``ids`` all of them."""

    ids = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), required=False, max_length=1000
    )


class WishSerializer(serializers.Serializer[Any]):
    """When the caller is told by e-mail: ``each`` notification at once, ``daily`` in one mail, ``none`` never."""

    email = serializers.ChoiceField(choices=EmailWish.choices)


class NotificationSerializer(serializers.ModelSerializer[Notification]):
    """What the caller was told."""

    actor = serializers.CharField(source="actor.name", read_only=True)

    class Meta:
        model = Notification
        fields = ["id", "kind", "actor", "run", "candidate", "comment", "created_at", "read_at"]
        read_only_fields = fields

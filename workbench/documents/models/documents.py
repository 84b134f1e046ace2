"""Collections, their documents, and what is known of a document besides its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import Permission, member_condition
from workbench.infra.leases import Retried

from ..restrictions import open_to

if TYPE_CHECKING:
    from workbench.accounts.models import User


class CollectionQuerySet(models.QuerySet["Collection"]):
    """Collections, filtered by what a user may do."""

    def visible_to(self, user: User, permission: Permission = Permission.VIEW) -> CollectionQuerySet:
        """Collections where the user has the permission."""
        return self.filter(member_condition(user, permission))


class Collection(models.Model):
    """A collection. Only members can see its documents, questions and labels."""

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(_("name"), max_length=160)
    description = models.TextField(_("description"), blank=True)
    language = models.CharField(max_length=8, default="en")
    default_strategy = models.CharField(max_length=40, blank=True)
    allowed_endpoints = models.JSONField(default=list, blank=True)
    # The configured endpoint and model to use; empty: the first one with an allowed address.
    model_endpoint = models.CharField(max_length=40, blank=True, default="", db_default="")
    model_name = models.CharField(max_length=120, blank=True, default="", db_default="")
    # Weights of the fixed multi-criteria properties. A missing property has the strategy's default weight.
    criteria_weights = models.JSONField(default=dict, blank=True)
    strategy_options = models.JSONField(null=True, blank=True)  # by strategy: its own settings here
    # Incremented with every change of searchable text. Local lexical indexes of workers compare against it.
    index_epoch = models.BigIntegerField(default=0)
    legal_hold = models.BooleanField(default=False)
    # Days after which a document is deleted automatically; None: never.
    retention_days = models.PositiveIntegerField(null=True, blank=True)
    # Days between deletion and erasure of the text, in which the deletion can be undone; 0: immediate erasure.
    erasure_delay_days = models.PositiveSmallIntegerField(default=7)
    # Whether its labels are used to train and evaluate the installation's model.
    contributes_to_training = models.BooleanField(default=True, db_default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = CollectionQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """The collection's page."""
        return reverse("documents:collection", args=[self.slug])


class DocumentStatus(models.TextChoices):
    """The status of a document. The last five are final. A deleted document waits for its erasure and is no longer
    asked. An erased one is a tombstone: its hash, its figures and the decisions about it, but no text."""

    QUEUED = "queued", _("queued")
    PARSING = "parsing", _("parsing")
    STORING = "storing", _("storing")
    EMBEDDING = "embedding", _("embedding")
    READY = "ready", _("ready")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")
    DELETED = "deleted", _("deleted, to be erased")
    ERASED = "erased", _("erased")


WORKING_STATUSES = (
    DocumentStatus.QUEUED,
    DocumentStatus.PARSING,
    DocumentStatus.STORING,
    DocumentStatus.EMBEDDING,
)


#: Documents that nobody reads into the product now, and nobody deleted.
RESTING_STATUSES = (DocumentStatus.READY, DocumentStatus.FAILED, DocumentStatus.CANCELLED)

#: Documents deleted by somebody or at the end of their retention.
DELETED_STATUSES = (DocumentStatus.DELETED, DocumentStatus.ERASED)


def readable(path: str = "") -> Q:
    """The filter that keeps rows whose document may be read: nobody reads a deleted one, even while its text waits for
    the erasure. ``path`` leads from the filtered model to its document."""
    return ~Q(**{f"{path}__status__in" if path else "status__in": DELETED_STATUSES})


class DocumentQuerySet(models.QuerySet["Document"]):
    """Documents, filtered by what a user may do."""

    def visible_to(self, user: User, permission: Permission = Permission.VIEW) -> DocumentQuerySet:
        """Documents in collections where the user has the permission, except those restricted to others."""
        return self.filter(member_condition(user, permission, prefix="collection"), open_to(user))

    def readable(self) -> DocumentQuerySet:
        """Documents whose text may be read and carried out: all but the deleted ones."""
        return self.filter(readable())

    def ready(self) -> DocumentQuerySet:
        """Documents that can be asked."""
        return self.filter(status=DocumentStatus.READY)

    def newest(self) -> DocumentQuerySet:
        """Leaves out documents that a later, readable version replaced. Questions about a collection use these."""
        return self.exclude(later_versions__status=DocumentStatus.READY)


class Document(Retried):
    """An uploaded file and its processing status."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="documents")
    sha256 = models.CharField(max_length=64)
    name = models.CharField(max_length=255, help_text=_("The uploaded file's name."))
    title = models.CharField(max_length=400, blank=True)
    kind = models.CharField(max_length=16, blank=True)
    size = models.BigIntegerField()
    file = models.FileField(upload_to="", max_length=200)
    status = models.CharField(max_length=12, choices=DocumentStatus.choices, default=DocumentStatus.QUEUED)
    stage_done = models.PositiveIntegerField(default=0)
    stage_total = models.PositiveIntegerField(default=0)
    failure_code = models.CharField(max_length=40, blank=True)
    failure_reason = models.TextField(blank=True)
    warnings = models.JSONField(default=list, blank=True)
    page_count = models.PositiveIntegerField(default=0)
    line_count = models.PositiveIntegerField(default=0)
    section_count = models.PositiveIntegerField(default=0)
    section_depth = models.PositiveSmallIntegerField(default=0)
    passage_count = models.PositiveIntegerField(default=0)
    character_count = models.BigIntegerField(default=0)
    toc_source = models.CharField(max_length=12, blank=True)
    language = models.CharField(max_length=8, default="en")
    document_type = models.CharField(max_length=80, blank=True)
    issuer = models.CharField(max_length=160, blank=True)
    jurisdiction = models.CharField(max_length=80, blank=True)
    effective_date = models.DateField(null=True, blank=True)
    tags = models.JSONField(default=list, blank=True)
    version_of = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="later_versions"
    )
    version_number = models.PositiveIntegerField(default=1)
    uploaded_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField(default=0)
    # Deletion: who, why, from which status, and when the text goes (``erasure.py``, :mod:`workbench.erasure`).
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    deleted_at = models.DateTimeField(null=True, blank=True)
    deletion_reason = models.TextField(blank=True)
    status_before = models.CharField(max_length=12, blank=True)
    erase_at = models.DateTimeField(null=True, blank=True)
    erased_at = models.DateTimeField(null=True, blank=True)
    # When the files were gone too, and no earlier work could bring text back.
    settled_at = models.DateTimeField(null=True, blank=True)

    objects = DocumentQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "sha256"],
                condition=Q(erased_at__isnull=True),
                name="same_bytes_are_one_document",
            ),
            models.CheckConstraint(
                condition=Q(status=DocumentStatus.ERASED, erased_at__isnull=False)
                | (~Q(status=DocumentStatus.ERASED) & Q(erased_at__isnull=True)),
                name="an_erased_document_says_when",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=DELETED_STATUSES,
                    deleted_by__isnull=False,
                    deleted_at__isnull=False,
                    erase_at__isnull=False,
                )
                & ~Q(deletion_reason="")
                | ~Q(status__in=DELETED_STATUSES)
                & Q(deleted_by__isnull=True, deleted_at__isnull=True, erase_at__isnull=True),
                name="a_deleted_document_says_who_when_and_why",
            ),
            models.CheckConstraint(
                condition=Q(status__in=DocumentStatus.values), name="document_status_is_known"
            ),
            models.UniqueConstraint(fields=["version_of"], name="one_next_version"),
            models.CheckConstraint(condition=~Q(version_of=F("id")), name="no_version_of_itself"),
            models.CheckConstraint(
                condition=~Q(status=DocumentStatus.FAILED) | ~Q(failure_reason=""),
                name="failed_document_says_why",
            ),
        ]
        indexes = [
            models.Index(fields=["collection", "status"]),
            # Of the documents that wait or are read: the next of a collection, and those that somebody holds.
            models.Index(
                fields=["collection", "id"],
                condition=Q(status__in=WORKING_STATUSES),
                name="documents_at_work",
            ),
            models.Index(
                fields=["collection", "lease_until"],
                condition=Q(lease_until__isnull=False),
                name="documents_held",
            ),
            models.Index(
                fields=["collection", "-finished_at"],
                condition=Q(finished_at__isnull=False),
                name="documents_by_end",
            ),
            # Of those that the retention may delete: the oldest of a collection.
            models.Index(
                fields=["collection", "created_at"],
                condition=Q(status__in=RESTING_STATUSES),
                name="documents_by_age",
            ),
            models.Index(
                fields=["erase_at"],
                condition=Q(status__in=DELETED_STATUSES, settled_at__isnull=True),
                name="documents_to_erase",
            ),
        ]

    def __str__(self) -> str:
        return self.title or self.name

    def get_absolute_url(self) -> str:
        """The document page."""
        return reverse("documents:document", args=[self.pk])

    @property
    def public_id(self) -> str:
        """The readable ID in candidate IDs of collection questions: ``d42``."""
        return f"d{self.pk}"

    @property
    def has_usable_toc(self) -> bool:
        """Whether the dispatcher may rely on the table of contents."""
        return self.toc_source in {"outline", "headings", "markup"} and self.section_count > 0

    @property
    def is_restricted(self) -> bool:
        """Whether only some people can see it. Needs no query if the restriction was selected along."""
        return hasattr(self, "restriction")

    @property
    def is_readable(self) -> bool:
        """Whether its text may be read, as :func:`readable` says it of rows."""
        return self.status not in DELETED_STATUSES

    @property
    def is_working(self) -> bool:
        """Whether it is still being processed."""
        return self.status in WORKING_STATUSES


class FieldKind(models.TextChoices):
    """The type of a custom field."""

    TEXT = "text", _("text")
    DATE = "date", _("date")


class CollectionField(models.Model):
    """A custom field of the documents of a collection."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="fields")
    name = models.CharField(max_length=60)
    kind = models.CharField(max_length=8, choices=FieldKind.choices, default=FieldKind.TEXT)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(Lower("name"), F("collection"), name="field_once_a_collection"),
            models.CheckConstraint(condition=Q(kind__in=FieldKind.values), name="field_kind_is_known"),
            models.CheckConstraint(condition=~Q(name=""), name="field_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class Particular(models.TextChoices):
    """The built-in fields of a document besides its tags. Type and date set by a person are columns of the document."""

    PARTY = "party", _("Party")
    TYPE = "document_type", _("Document type")
    DATE = "effective_date", _("Effective from")


class DocumentField(models.Model):
    """A value of a document field, read from the text by the machine or set by a person.

    Both are kept. If a person has set a field, theirs counts and the machine's is only shown. ``definition`` None: one
    of :class:`Particular`. Dates are in ISO 8601.
    """

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="fields")
    definition = models.ForeignKey(
        CollectionField, on_delete=models.CASCADE, null=True, blank=True, related_name="values"
    )
    name = models.CharField(max_length=16, choices=Particular.choices, blank=True)
    value = models.CharField(max_length=160)
    # None: the machine read it, in this line.
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    page_num = models.PositiveIntegerField(null=True, blank=True)
    line_num = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "name", "value"],
                condition=Q(set_by__isnull=True),
                name="read_once",
            ),
            models.UniqueConstraint(
                fields=["document", "name", "definition", "value"],
                condition=Q(set_by__isnull=False),
                nulls_distinct=False,
                name="set_once",
            ),
            models.CheckConstraint(
                condition=Q(definition__isnull=True, name__in=Particular.values)
                | Q(definition__isnull=False, name=""),
                name="value_is_of_one_field",
            ),
            models.CheckConstraint(
                condition=Q(set_by__isnull=False, page_num__isnull=True, line_num__isnull=True)
                | Q(set_by__isnull=True, page_num__isnull=False, line_num__isnull=False)
                & Q(definition__isnull=True),
                name="what_was_read_has_a_place",
            ),
            models.CheckConstraint(condition=~Q(value=""), name="value_says_something"),
            # Type and date as a person sets them are columns of the document.
            models.CheckConstraint(
                condition=Q(set_by__isnull=True) | Q(name__in=["", Particular.PARTY]),
                name="set_type_and_date_are_columns",
            ),
        ]


class OfferState(models.TextChoices):
    """A person's answer to the suggestion of a new version."""

    OPEN = "open", _("open")
    ACCEPTED = "accepted", _("accepted")
    DECLINED = "declined", _("declined")


class VersionOffer(models.Model):
    """A document that looks like a new version of an older one: same title or file name, other bytes."""

    document = models.OneToOneField(Document, on_delete=models.CASCADE, related_name="version_offer")
    older = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="version_offers_made")
    state = models.CharField(max_length=12, choices=OfferState.choices, default=OfferState.OPEN)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    # When all decisions on the older version had been carried over or reopened.
    carried_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(state__in=OfferState.values), name="offer_state_is_known"),
            models.CheckConstraint(condition=~Q(document=F("older")), name="offer_joins_two_documents"),
            models.CheckConstraint(
                condition=Q(state=OfferState.OPEN, decided_by__isnull=True, decided_at__isnull=True)
                | (~Q(state=OfferState.OPEN) & Q(decided_by__isnull=False, decided_at__isnull=False)),
                name="offer_decided_by_a_person",
            ),
            models.CheckConstraint(
                condition=Q(carried_at__isnull=True) | Q(state=OfferState.ACCEPTED),
                name="only_an_accepted_offer_is_carried",
            ),
        ]

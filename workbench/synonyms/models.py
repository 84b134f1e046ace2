"""The dictionary of a collection: other ways its documents write a term."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import BooleanField, ExpressionWrapper, F, Q
from django.db.models.functions import Greatest, Least, Lower, Now
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import OfCollectionQuerySet, Permission
from workbench.documents.models import Collection

from .origins import origin_open_to

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: Longest term or variant, in characters.
MAX_TERM = 120


class EntryKind(models.TextChoices):
    """What the variant is to the term."""

    VARIANT = "variant", _("variant")
    ALIAS = "alias", _("alias")
    TRANSLATION = "translation", _("translation")


class EntryStatus(models.TextChoices):
    """Only approved entries are searched with. A removed one is rejected: it is not proposed again."""

    PROPOSED = "proposed", _("proposed")
    APPROVED = "approved", _("in use")
    REJECTED = "rejected", _("not in use")


class Language(models.TextChoices):
    """The languages the engine stems."""

    EN = "en", _("English")
    ES = "es", _("Spanish")


class EntryQuerySet(OfCollectionQuerySet["DictionaryEntry"]):
    def visible_to(self, user: User, permission: Permission = Permission.VIEW) -> EntryQuerySet:
        """Those in collections where the user holds the permission: pairs in use, and others unless they were learned
        from what is hidden from the user."""
        is_shown = Q(status=EntryStatus.APPROVED) | origin_open_to(user)
        return super().visible_to(user, permission).filter(is_shown)

    def with_sight(self, user: User) -> EntryQuerySet:
        """Each with ``sees_origin``: whether the user may see what it was learned from."""
        sees = ExpressionWrapper(origin_open_to(user), output_field=BooleanField())
        return self.annotate(sees_origin=sees)


class DictionaryEntry(models.Model):
    """Term and variant mean the same in a collection; the pair works in both directions."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="dictionary_entries")
    term = models.CharField(_("term"), max_length=MAX_TERM)
    variant = models.CharField(_("variant"), max_length=MAX_TERM)
    kind = models.CharField(_("kind"), max_length=12, choices=EntryKind.choices, default=EntryKind.ALIAS)
    language = models.CharField(
        _("language of the variant"), max_length=8, choices=Language.choices, default=Language.EN
    )
    status = models.CharField(max_length=12, choices=EntryStatus.choices, default=EntryStatus.PROPOSED)
    # The decision it was learned from; empty where a person wrote it.
    proposed_from = models.ForeignKey(
        "review.Review", on_delete=models.SET_NULL, null=True, blank=True, related_name="dictionary_entries"
    )
    proposed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(db_default=Now())
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    objects = EntryQuerySet.as_manager()

    class Meta:
        ordering = ["term", "variant", "id"]
        constraints = [
            models.UniqueConstraint(
                F("collection"),
                Least(Lower("term"), Lower("variant")),
                Greatest(Lower("term"), Lower("variant")),
                name="one_entry_per_pair",
            ),
            models.CheckConstraint(
                condition=~Q(term="") & ~Q(variant="") & ~Q(term__iexact=F("variant")),
                name="entry_pairs_two_terms",
            ),
            models.CheckConstraint(condition=Q(kind__in=EntryKind.values), name="entry_kind_is_known"),
            models.CheckConstraint(condition=Q(status__in=EntryStatus.values), name="entry_status_is_known"),
            models.CheckConstraint(
                condition=Q(status=EntryStatus.PROPOSED, decided_by__isnull=True, decided_at__isnull=True)
                | (~Q(status=EntryStatus.PROPOSED) & Q(decided_by__isnull=False, decided_at__isnull=False)),
                name="entry_decided_by_a_person",
            ),
        ]
        indexes = [models.Index(fields=["collection", "status", "term"])]

    def __str__(self) -> str:
        return f"{self.term} = {self.variant}"

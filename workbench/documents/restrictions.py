"""Restricted documents, which only some members of their collection can see: the single rule.

A restricted document is visible to the people it names and to admins of its collection, who can name themselves.
Everybody else finds neither the document nor anything based on it. ``visible_to`` of every model uses this module: rows
of documents by :func:`open_to`, rows of runs by ``workbench.runs.restrictions``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet
from django.db.models.functions import Cast, Now

from workbench.accounts.models import Membership
from workbench.accounts.permissions import Permission, roles_with

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from workbench.accounts.models import User
    from workbench.accounts.protocols import Collection


class Restriction(models.Model):
    """A document that only the people named here and the admins of its collection can see."""

    document = models.OneToOneField(
        "documents.Document", on_delete=models.CASCADE, primary_key=True, related_name="restriction"
    )
    readers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="+")
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())


def hidden_from(user: User | AnonymousUser) -> QuerySet[Restriction]:
    """The restrictions that hide their document from the person, for subqueries. The table only contains restricted
    documents, so it costs nothing without any."""
    if getattr(user, "is_system", False):
        return Restriction.objects.none()
    if not user.is_authenticated:
        return Restriction.objects.all()
    administered = Membership.objects.filter(user=user, role__in=roles_with(Permission.MANAGE))
    named = Restriction.readers.through.objects.filter(user=user)
    return Restriction.objects.exclude(pk__in=named.values("restriction_id")).exclude(
        document__collection__in=administered.values("collection_id")
    )


def open_to(user: User | AnonymousUser, path: str = "") -> Q:
    """The filter that keeps rows whose document is not restricted to others. ``path`` leads from the filtered model to
    its document. Rows without one are kept."""
    return ~Q(**{f"{path}__in" if path else "pk__in": hidden_from(user).values("pk")})


def hidden_documents(*, user: User, collection: Collection) -> frozenset[int]:
    """Keys of the documents in a collection that are hidden from the person."""
    keys = hidden_from(user).filter(document__collection=collection).values_list("pk", flat=True)
    return frozenset(keys)


def events_hidden(user: User | AnonymousUser) -> Q:
    """The condition for audit events about documents hidden from the person, because events name the file."""
    keys = hidden_from(user).annotate(key=Cast("pk", models.CharField())).values("key")
    return Q(object_type="document", object_id__in=keys)


def collection_open_to(user: User | AnonymousUser, path: str) -> Q:
    """The filter that keeps rows of collections without documents hidden from the person: for figures about a whole
    collection, which cannot leave anything out."""
    return ~Q(**{f"{path}__in": hidden_from(user).values("document__collection")})

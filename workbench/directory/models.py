"""What a company's directory says of people: accounts by SCIM, groups by SCIM or with a sign-on, and the roles that
groups stand for."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _

from workbench.accounts.models import MemberRole
from workbench.documents.models import Collection

MAX_NAME = 255


class DirectoryToken(models.Model):
    """The key of a directory: makes and changes accounts and groups, and reads nothing else. Only the hash is kept."""

    name = models.CharField(max_length=80)
    start = models.CharField(max_length=12, help_text="First characters of the key, to tell tokens apart.")
    key_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.start}…)"


class DirectoryPerson(models.Model):
    """What the directory says of an account: it is managed there. Withdrawn: the directory deleted it, the account is
    switched off and stays."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="directory", primary_key=True
    )
    user_name = models.CharField(max_length=MAX_NAME)
    external_id = models.CharField(max_length=MAX_NAME, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(Lower("user_name"), name="directory_user_name_once"),
        ]

    def __str__(self) -> str:
        return self.user_name


class UsedAssertion(models.Model):
    """A SAML assertion with which somebody came in; it opens nothing again."""

    name = models.CharField(max_length=255, unique=True)
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.name


class GroupSource(models.TextChoices):
    """Who says who belongs to a group: the directory, or the provider at each sign-on."""

    SCIM = "scim", _("directory")
    SIGN_ON = "sign_on", _("single sign-on")


class DirectoryGroup(models.Model):
    """A group of people; removed ones stay for the trail."""

    source = models.CharField(max_length=8, choices=GroupSource.choices)
    name = models.CharField(max_length=MAX_NAME)
    external_id = models.CharField(max_length=MAX_NAME, blank=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="directory_groups", blank=True)
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(source__in=GroupSource.values), name="group_source_is_known"),
            models.UniqueConstraint(
                fields=["source", "name"],
                condition=Q(removed_at__isnull=True),
                name="one_living_group_per_name",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class GroupRole(models.Model):
    """Whoever belongs to a group of this name, by whichever source, holds the role in the collection."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="group_roles")
    group = models.CharField(_("group"), max_length=MAX_NAME)
    role = models.CharField(max_length=16, choices=MemberRole.choices)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["group", "role"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["collection", "group", "role"], name="one_group_role"),
            models.CheckConstraint(condition=Q(role__in=MemberRole.values), name="group_role_is_known"),
            models.CheckConstraint(condition=~Q(group=""), name="group_role_names_a_group"),
        ]

    def __str__(self) -> str:
        return f"{self.group} · {self.role}"


class GroupGrant(models.Model):
    """A role that somebody holds through groups alone; one that was given by hand has no such row and stays."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=16, choices=MemberRole.choices)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "collection", "role"], name="one_group_grant"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} · {self.collection_id} · {self.role}"

"""People, and what each may do in each collection."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """A person who can log in (when a password is given)."""
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        """An administrator of the installation."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def system(self) -> User:
        """The audited user that commands and workers act as; it cannot log in."""
        user, created = self.get_or_create(email=SYSTEM_EMAIL, defaults={"name": "system", "is_system": True})
        if created:
            user.set_unusable_password()
            user.save(update_fields=["password"])
        return user


SYSTEM_EMAIL = "system@workbench.invalid"


class User(AbstractBaseUser, PermissionsMixin):
    """A person, known by e-mail address; or the ``system`` user of commands and workers."""

    email = models.EmailField(_("e-mail address"), unique=True)
    name = models.CharField(_("name"), max_length=120)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False, help_text=_("Administers the installation."))
    is_system = models.BooleanField(default=False)
    date_joined = models.DateTimeField(default=timezone.now)
    #: "" until one is chosen: pages then follow the browser.
    language = models.CharField(max_length=8, blank=True, default="")
    #: When the tour of the first login was ended or skipped; null until then.
    tour_ended_at = models.DateTimeField(null=True, blank=True)

    objects: UserManager = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS = ["name"]

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_system"], condition=models.Q(is_system=True), name="one_system_user"
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.email

    @property
    def is_waiting(self) -> bool:
        """Invited: no password set yet."""
        return not self.has_usable_password()

    def get_full_name(self) -> str:
        return str(self)

    def get_short_name(self) -> str:
        return self.name.split(" ")[0] if self.name else self.email


class MemberRole(models.TextChoices):
    ANALYST = "analyst", _("analyst")
    REVIEWER = "reviewer", _("reviewer")
    ANNOTATOR = "annotator", _("annotator")
    ADMIN = "admin", _("admin")
    AUDITOR = "auditor", _("auditor")


class Membership(models.Model):
    """One role of one person in one collection; a person may hold several."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    collection = models.ForeignKey(
        "documents.Collection", on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=16, choices=MemberRole.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "collection", "role"], name="one_membership_per_role"),
            models.CheckConstraint(
                condition=models.Q(role__in=MemberRole.values), name="membership_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.collection_id} · {self.role}"

"""API tokens, and stored responses of requests with an idempotency key."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from workbench.accounts.permissions import Permission


class ApiToken(models.Model):
    """An API token. It acts as its owner, within its scopes. Only its hash is stored; the key is shown once."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    start = models.CharField(max_length=12, help_text="First characters of the key, to tell tokens apart.")
    key_hash = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(expires_at__gt=models.F("created_at")), name="token_ends_after_it_began"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.start}…)"

    @property
    def permissions(self) -> frozenset[Permission]:
        """The permissions of the token, at most those of its owner."""
        return frozenset(Permission(scope) for scope in self.scopes if scope in set(Permission))


class IdempotentRequest(models.Model):
    """The response to a request with an idempotency key, stored for a day, so that repeating the request changes
    nothing."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=80)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    location = models.CharField(max_length=200, blank=True, db_default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_per_user")]
        indexes = [models.Index(fields=["created_at"])]

"""The base of the API's viewsets: keys that fit the database, and POSTs that can be repeated safely."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from django.core.files.uploadedfile import UploadedFile
from django.db import models, transaction
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import viewsets
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from workbench.errors import Conflict
from workbench.infra.addresses import number_in

from .conditions import completed, when_unchanged
from .filtering import Declares
from .models import IdempotentRequest
from .parameters import refuse_unknown

Row = TypeVar("Row", bound=models.Model)

#: A key in an address: digits that a column can hold.
KEY = "[0-9]{1,18}"
COLLECTION = OpenApiParameter("collection", OpenApiTypes.STR, description="Slug of the collection.")
RUN = OpenApiParameter("run", OpenApiTypes.INT, description="ID of the run.")
_KEPT = timedelta(days=1)

if TYPE_CHECKING:
    #: What a class of actions is mixed into: several apps have acts at the address of a collection.
    Actions = viewsets.GenericViewSet[Any]
else:
    Actions = object


def idempotency_key(request: Request) -> str | None:
    """The idempotency key of a request; None without one. Raises ``ValidationError`` for an invalid key."""
    key = request.headers.get("Idempotency-Key")
    if key is not None and not (1 <= len(key) <= 80 and key.isprintable()):
        raise ValidationError({"Idempotency-Key": ["Give 1 to 80 printable characters."]})
    return key


def number_parameter(request: Request, name: str) -> int | None:
    """A whole number from the query; None if it is not given. Raises ``ValidationError`` for anything else."""
    raw = request.query_params.get(name, "")
    if not raw:
        return None
    number = number_in(raw)
    if number is None:
        raise ValidationError({name: ["Give a whole number."]})
    return number


def checked(request: Request, shape: type[Serializer[Any]]) -> dict[str, Any]:
    """The validated body of a request. Raises ``ValidationError`` naming the invalid fields."""
    form = shape(data=request.data)
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)


class ApiViewSet(Declares, viewsets.GenericViewSet[Row]):
    """A viewset whose POSTs may have an idempotency key.

    The first request is executed and its response stored in the same transaction. Repeating it returns that response,
    marked ``Idempotency-Replayed``. A refused request is not stored and can be tried again.
    """

    lookup_value_regex = KEY

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuses unknown parameters, and wraps the handler of a POST for idempotency and ``If-Match``."""
        super().initial(request, *args, **kwargs)
        refuse_unknown(self, request)
        if request.method == "POST" and "If-Match" in request.headers:
            self.post = partial(when_unchanged, self, self.post)
        key = idempotency_key(request)
        if request.method == "POST" and key is not None and self.remembers_posts:
            self.post = partial(_once, self.post, key)

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Adds the location of a new resource, or the version of the one read."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        return completed(self, request, answer) if isinstance(answer, Response) else answer

    #: False where the service itself knows the key.
    remembers_posts = True
    post: Callable[..., Response]


def _once(
    handler: Callable[..., Response], key: str, request: Request, *args: Any, **kwargs: Any
) -> Response:
    mark = _fingerprint(request)
    with transaction.atomic():
        mine = IdempotentRequest.objects.filter(user=request.user)
        mine.filter(created_at__lt=timezone.now() - _KEPT).delete()
        # A second request with the key waits here for the first one's transaction to end.
        record, is_new = mine.get_or_create(user=request.user, key=key, defaults={"fingerprint": mark})
        if not is_new:
            return _replayed(record, mark)
        response = handler(request, *args, **kwargs)
        body = json.loads(JSONRenderer().render(response.data)) if response.data is not None else None
        mine.filter(pk=record.pk).update(
            status=response.status_code, body=body, location=response.get("Location", "")
        )
    return response


def _replayed(record: IdempotentRequest, mark: str) -> Response:
    if record.fingerprint != mark:
        raise Conflict(
            _("This idempotency key belongs to another request. Use a new one."), code="idempotency_reused"
        )
    headers = {"Idempotency-Replayed": "true"} | ({"Location": record.location} if record.location else {})
    return Response(record.body, status=record.status, headers=headers)


def _fingerprint(request: Request) -> str:
    """SHA-256 over address, content and the scopes of the caller's token; files by their bytes."""
    digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode())
    # A token that may do less is not given the answer of one that may do more.
    scopes = getattr(request.user, "token_scopes", None)
    digest.update(f"{None if scopes is None else sorted(scopes)}\n".encode())
    data = request.data
    pairs = data.lists() if hasattr(data, "lists") else [("", [data])]
    for name, values in sorted(pairs, key=lambda pair: pair[0]):
        for value in values:
            digest.update(f"\n{name}=".encode())
            if isinstance(value, UploadedFile):
                for chunk in value.chunks():
                    digest.update(chunk)
                value.seek(0)
            else:
                digest.update(json.dumps(value, sort_keys=True, default=str).encode())
    return digest.hexdigest()

"""The API of signatures and reopenings."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, checked
from workbench.api.conditions import address_of_object, created
from workbench.api.filtering import between_days, by_key, by_person, by_slug, one_of
from workbench.runs.models import Run
from workbench.runs.selectors import run_for

from .blindness import of_withheld_run
from .models import Reopening, Signature, SignatureMeaning, TextChange
from .signing import run_reopen, run_sign


class ReopeningSerializer(serializers.ModelSerializer[Reopening]):
    """The reopening of a signed run: person and reason."""

    reopened_by = serializers.CharField(source="reopened_by.name", read_only=True)

    class Meta:
        model = Reopening
        fields = ["id", "signature", "reopened_by", "reason", "reopened_at"]
        read_only_fields = fields


class TextChangeSerializer(serializers.ModelSerializer[TextChange]):
    """A passage of a signed run that a new document version changed. ``candidate`` is null for a not-found result,
    which covers the whole document."""

    class Meta:
        model = TextChange
        fields = ["candidate", "document", "state", "created_at"]
        read_only_fields = fields


class SignatureSerializer(serializers.ModelSerializer[Signature]):
    """A signature: name, time and meaning, bound to the SHA-256 of the record's canonical JSON. Includes later text
    changes by new document versions."""

    record = serializers.SerializerMethodField()
    reopening = ReopeningSerializer(read_only=True, allow_null=True, default=None)
    text_changes = TextChangeSerializer(many=True, read_only=True)

    class Meta:
        model = Signature
        fields = [
            "id", "run", "signer_name", "meaning", "record_sha256", "record", "signed_at", "reopening", "text_changes",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_record(self, signature: Signature) -> Any:
        """The signed record; null while a card of the run, opened again, is hidden from the caller."""
        return None if getattr(signature, "is_withheld", False) else signature.record


class SignSerializer(serializers.Serializer[Any]):
    """A signature to create."""

    run = serializers.IntegerField(min_value=1)
    password = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)
    meaning = serializers.ChoiceField(choices=SignatureMeaning.choices)
    record_sha256 = serializers.RegexField("^[0-9a-f]{64}$")


class ReopenSerializer(serializers.Serializer[Any]):
    """A run to reopen."""

    run = serializers.IntegerField(min_value=1)
    reason = serializers.CharField(max_length=2000)


class SignatureViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Signature]):
    """Signatures of runs, with the signed record. They are never deleted."""

    queryset = Signature.objects.none()
    serializer_class = SignatureSerializer
    filters = {
        "run": by_key("run", "ID of the run."),
        "collection": by_slug("run__collection__slug"),
        "signer": by_person("signer", "Signer."),
        "meaning": one_of("meaning", SignatureMeaning, "Meaning of the signature."),
        **between_days("signed_at"),
    }
    orderings = ("id", "meaning", "signed_at")
    # The fingerprint of a request must not be made of a password; a run is signed once anyway.
    remembers_posts = False

    def get_queryset(self) -> QuerySet[Signature]:
        runs = Run.objects.visible_to(self.request.user)
        rows = Signature.objects.filter(run__in=runs.values("pk")).select_related("reopening__reopened_by")
        rows = rows.prefetch_related("text_changes")
        return rows.annotate(is_withheld=of_withheld_run(user=self.request.user))

    @extend_schema(request=SignSerializer, responses={201: SignatureSerializer})
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Signs a run. Requires the caller's password. `record_sha256` is the hash from `GET /runs/{id}/signing/`; a
        record that has changed since is refused."""
        given = checked(request, SignSerializer)
        signature = run_sign(
            actor=request.user,
            run=run_for(user=request.user, pk=given["run"]),
            password=given["password"],
            meaning=given["meaning"],
            seen_sha256=given["record_sha256"],
        )
        return Response(SignatureSerializer(signature).data, status=status.HTTP_201_CREATED)


class ReopeningViewSet(ApiViewSet[Reopening]):
    """Reopening signed runs."""

    queryset = Reopening.objects.none()
    serializer_class = ReopenSerializer

    @extend_schema(request=ReopenSerializer, responses={201: ReopeningSerializer})
    def create(self, request: Request) -> Response:
        """Reopens a signed run. A reason is required."""
        given = checked(request, ReopenSerializer)
        run = run_for(user=request.user, pk=given["run"])
        reopening = run_reopen(actor=request.user, run=run, reason=given["reason"])
        reopening.refresh_from_db()
        at = address_of_object("signature", reopening.signature_id)
        return created(ReopeningSerializer(reopening).data, at=at)

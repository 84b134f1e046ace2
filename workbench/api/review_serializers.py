"""Shapes of the API of the reviewer's day."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from workbench.review.models import Reopening, Signature, SignatureMeaning


class ReopeningSerializer(serializers.ModelSerializer[Reopening]):
    """Why and by whom a signature was set aside."""

    reopened_by = serializers.CharField(source="reopened_by.name", read_only=True)

    class Meta:
        model = Reopening
        fields = ["id", "signature", "reopened_by", "reason", "reopened_at"]
        read_only_fields = fields


class SignatureSerializer(serializers.ModelSerializer[Signature]):
    """Name, time and meaning, bound to the SHA-256 of the record's canonical JSON."""

    record = serializers.JSONField(read_only=True)
    reopening = ReopeningSerializer(read_only=True, allow_null=True, default=None)

    class Meta:
        model = Signature
        fields = ["id", "run", "signer_name", "meaning", "record_sha256", "record", "signed_at", "reopening"]
        read_only_fields = fields


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

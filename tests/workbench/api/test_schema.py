"""The committed API description is the code's own, and valid."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver
from openapi_spec_validator import validate
from rest_framework import serializers

from tests.workbench.cast import Cast

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def test_the_committed_description_is_current(tmp_path: Path) -> None:
    fresh = tmp_path / "openapi.yaml"
    call_command("spectacular", "--fail-on-warn", "--file", str(fresh))
    committed = (ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8")
    assert fresh.read_text(encoding="utf-8") == committed, "run `make docs` and commit docs/openapi.yaml"


def test_the_description_is_valid_openapi() -> None:
    description = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8"))
    validate(description)
    assert {"/api/v1/documents/", "/api/v1/questions/", "/api/v1/runs/", "/api/v1/candidates/"} <= set(
        description["paths"]
    )


def test_every_body_has_one_form() -> None:
    """A generated client that may send a body two ways sends both."""
    description = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text(encoding="utf-8"))
    bodies = [
        operation["requestBody"]["content"]
        for operations in description["paths"].values()
        for operation in operations.values()
        if "requestBody" in operation
    ]
    assert bodies
    assert all(len(content) == 1 for content in bodies)


@pytest.mark.django_db
def test_it_is_served_as_kept_and_made_once(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    client.force_login(cast.reviewer)
    served = client.get("/api/v1/schema/")
    assert served.headers["Content-Type"] == "application/vnd.oai.openapi"
    assert served.content == (ROOT / "docs" / "openapi.yaml").read_bytes()

    monkeypatch.setattr("workbench.api.description.SchemaGenerator", None)
    assert client.get("/api/v1/schema/", {"version": "7"}).content == served.content
    assert client.get("/api/v1/schema/", {"lang": "xx"}).content == served.content


def test_what_may_be_empty_is_described_so() -> None:
    """Of choices that a row may leave open, a program that trusts the description refused the empty one."""
    resolver = get_resolver()
    list(resolver.url_patterns)  # reads every module of the API
    undescribed = []
    for one in _below(serializers.ModelSerializer):
        if not one.__module__.startswith("workbench."):
            continue
        may_be_empty = {field.name for field in one.Meta.model._meta.fields if field.choices and field.blank}
        undescribed += [
            f"{one.__name__}.{name}"
            for name, field in one().fields.items()
            if isinstance(field, serializers.ChoiceField) and field.source in may_be_empty
            if not (field.allow_blank or field.allow_null)
        ]
    assert undescribed == []


def _below(kind: type) -> set[type]:
    return set(kind.__subclasses__()) | {far for near in kind.__subclasses__() for far in _below(near)}

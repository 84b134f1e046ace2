"""A wrong setting is named at start, with a hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench.operations import checks


def ids(messages: list[Any]) -> list[str]:
    """The ids of the messages; each must carry a hint."""
    assert all(message.hint for message in messages)
    return [message.id for message in messages]


@pytest.mark.parametrize(
    ("check", "values", "expected"),
    [
        (checks.leases_outlive_heartbeats, {"LEASE_SECONDS": 30, "HEARTBEAT_SECONDS": 5}, []),
        (checks.leases_outlive_heartbeats, {"LEASE_SECONDS": 10, "HEARTBEAT_SECONDS": 5}, ["ops.E002"]),
        (checks.leases_outlive_heartbeats, {"LEASE_SECONDS": 10, "HEARTBEAT_SECONDS": 0}, ["ops.E002"]),
        (
            checks.messages_outlive_tasks,
            {"CELERY_BROKER_TRANSPORT_OPTIONS": {"visibility_timeout": 60}, "CELERY_TASK_TIME_LIMIT": 60},
            ["ops.E003"],
        ),
        (checks.broker_is_understood, {"CELERY_BROKER_URL": "redis://:x@host:1/0"}, []),
        (checks.broker_is_understood, {"CELERY_BROKER_URL": "amqp://host"}, ["ops.E004"]),
        (checks.broker_is_understood, {"CELERY_BROKER_URL": "host:6379"}, ["ops.E004"]),
        (checks.model_endpoint_is_complete, {"OPENAI_BASE_URL": ""}, []),
        (checks.model_endpoint_is_complete, {"OPENAI_BASE_URL": "https://models.example/v1"}, []),
        (checks.model_endpoint_is_complete, {"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"}, []),
        (checks.model_endpoint_is_complete, {"OPENAI_BASE_URL": "http://models.example/v1"}, ["ops.W006"]),
        (checks.model_endpoint_is_complete, {"OPENAI_BASE_URL": "models.example"}, ["ops.E006"]),
        (
            checks.model_endpoint_is_complete,
            {"OPENAI_BASE_URL": "http://localhost:8080/v1", "MODEL_NETWORKS": []},
            ["ops.E008"],
        ),
        (checks.model_endpoint_is_complete, {"OPENAI_BASE_URL": "https://10.0.0.7/v1"}, ["ops.E008"]),
    ],
)
def test_settings_are_checked(check: Any, values: dict[str, Any], expected: list[str], settings: Any) -> None:
    for name, value in values.items():
        setattr(settings, name, value)
    assert ids(check()) == expected


def test_the_shipped_settings_pass(settings: Any, tmp_path: Path) -> None:
    settings.WORKBENCH_HOME = tmp_path / "not" / "there" / "yet"
    for check in (checks.home_is_writable, checks.messages_outlive_tasks, checks.encoder_is_there):
        assert ids(check()) == []


def test_a_home_below_a_file_is_refused(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings.WORKBENCH_HOME = tmp_path / "file" / "home"
    assert ids(checks.home_is_writable()) == ["ops.E001"]


def test_an_encoder_folder_must_hold_an_encoder(settings: Any, tmp_path: Path) -> None:
    settings.EMBEDDER_FOLDER = str(tmp_path)
    assert ids(checks.encoder_is_there()) == ["ops.E005"]
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "tokenizer.json").write_text("{}")
    assert ids(checks.encoder_is_there()) == []

"""Where models and frozen rows lie: the product's file store, which worker and web need not share a disk for.

Nothing is overwritten. On a local disk a file is written under a temporary name and renamed; in an object store a
file is there as a whole or not at all. What is read back is checked: an artifact by ``training.artifacts``, frozen
rows by the hash that names them.
"""

from __future__ import annotations

import io
import json

import numpy as np
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from pydantic import ValidationError

from training.artifacts import (
    MANIFEST_FILE,
    MODEL_FILE,
    Artifact,
    ArtifactRefused,
    Manifest,
    read_artifact,
    write_artifact,
)
from training.snapshot import Dataset
from workbench.infra.stored import path_on_disk

_NAMES = ("groups", "questions", "collections", "lists", "label_ids", "roles")


class SnapshotLost(Exception):
    """Frozen rows that cannot be read back as they were written."""


def artifact_put(artifact: Artifact) -> None:
    """Stores model and manifest under the model's digest; the manifest last."""
    folder = _model_folder(artifact.manifest.version)
    local = path_on_disk(default_storage, folder)
    if local is not None:
        write_artifact(local, artifact)
        return
    _save(f"{folder}/{MODEL_FILE}", artifact.model)
    _save(f"{folder}/{MANIFEST_FILE}", artifact.manifest.model_dump_json(indent=2).encode())


def artifact_get(digest: str) -> Artifact:
    """The stored model. Raises :class:`ArtifactRefused` where there is no whole one."""
    folder = _model_folder(digest)
    local = path_on_disk(default_storage, folder)
    if local is not None:
        return read_artifact(local)
    try:
        manifest = Manifest.model_validate_json(_read(f"{folder}/{MANIFEST_FILE}"))
        return Artifact(manifest, _read(f"{folder}/{MODEL_FILE}"))
    except (OSError, ValidationError) as error:
        raise ArtifactRefused(f"no whole model artifact for {digest}: {error}") from error


def dataset_put(data: Dataset) -> str:
    """Stores the rows; returns the hash that names them."""
    name = _rows_file(data.digest)
    if not default_storage.exists(name):
        _save(name, _packed(data))
    return data.digest


def dataset_get(digest: str) -> Dataset:
    """The rows of that hash. Raises :class:`SnapshotLost` when they are gone or are not those rows."""
    try:
        data = _unpacked(_read(_rows_file(digest)))
    except (OSError, ValueError, KeyError) as error:
        raise SnapshotLost(f"the frozen rows {digest[:12]} cannot be read: {error}") from error
    if data.digest != digest:
        raise SnapshotLost(f"the frozen rows {digest[:12]} are not what was frozen")
    return data


def _packed(data: Dataset) -> bytes:
    buffer = io.BytesIO()
    names = json.dumps({name: getattr(data, name) for name in _NAMES}, ensure_ascii=False).encode()
    np.savez_compressed(
        buffer,
        features=data.features,
        labels=data.labels,
        weights=data.weights,
        names=np.frombuffer(names, dtype=np.uint8),
    )
    return buffer.getvalue()


def _unpacked(content: bytes) -> Dataset:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        names = json.loads(arrays["names"].tobytes())
        return Dataset(
            features=arrays["features"],
            labels=arrays["labels"],
            weights=arrays["weights"],
            **{name: tuple(names[name]) for name in _NAMES},
        )


def _model_folder(digest: str) -> str:
    return f"models/{digest}"


def _rows_file(digest: str) -> str:
    return f"snapshots/{digest}.npz"


def _read(name: str) -> bytes:
    with default_storage.open(name, "rb") as file:
        content: bytes = file.read()
    return content


def _save(name: str, content: bytes) -> None:
    if not default_storage.exists(name):
        default_storage.save(name, ContentFile(content))

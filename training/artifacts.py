"""Model artifacts: the fitted parts as a skops file, a manifest beside it, loaded only when both are right.

What may be in the file is fixed here, never taken from the file itself. Another scikit-learn version, a broken
checksum, another set of features or an unknown format refuses to load. Both files are written under temporary
names and renamed, the manifest last: without a manifest there is no artifact.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arbitration.errors import ArbitrationError
from training.reranker import FittedModel, Reranker

FORMAT = 1
MODEL_FILE = "model.skops"
MANIFEST_FILE = "manifest.json"

#: Types a file may hold beyond skops' own list. The optimiser is the state an MLP keeps of its training.
ALLOWED_TYPES = ("sklearn.neural_network._stochastic_optimizers.AdamOptimizer",)


class ArtifactRefused(ArbitrationError):
    """An artifact that must not be used; the message says why. The current champion stays."""


class Manifest(BaseModel):
    """What is known of a model without opening it.

    ``version`` names the model: hash of snapshot and configuration, since two dumps of one model differ in bytes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    version: str
    architecture: str
    feature_version: int
    feature_names: tuple[str, ...]
    threshold: float = Field(ge=0.0, le=1.0)
    blend_weight: float = Field(default=0.0, ge=0.0, le=1.0)
    embedding_space: str | None = None
    snapshot_hash: str
    config: dict[str, Any] = Field(default_factory=dict)
    metrics: dict[str, Any] = Field(default_factory=dict)
    questions: tuple[str, ...] = ()  # hashes of the questions it was trained on, for overlap checks
    libraries: dict[str, str] = Field(default_factory=dict)
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A model as two blobs, ready for any storage."""

    manifest: Manifest
    model: bytes


def library_versions() -> dict[str, str]:
    """Versions that decide whether a file means the same here as where it was written."""
    return {name: installed(name) for name in ("scikit-learn", "numpy", "skops")}


def model_version(*, snapshot_hash: str, config_digest: str) -> str:
    """The name of a model: the same data and configuration give the same name."""
    return hashlib.sha256(f"{snapshot_hash}:{config_digest}".encode()).hexdigest()[:12]


def pack(model: FittedModel, manifest: Manifest) -> Artifact:
    """The model's blob and its manifest, completed by checksum and library versions."""
    import skops.io

    parts = {
        "scaler": model.scaler,
        "classifiers": list(model.classifiers),
        "calibrator": model.calibrator,
    }
    blob: bytes = skops.io.dumps(parts)
    complete = {"sha256": hashlib.sha256(blob).hexdigest(), "libraries": library_versions()}
    return Artifact(manifest.model_copy(update=complete), blob)


def require_readable(artifact: Artifact) -> None:
    """Everything about a model that is known without scikit-learn: its format, that it is whole, and what wrote it.
    Raises :class:`ArtifactRefused`."""
    manifest = artifact.manifest
    if manifest.format != FORMAT:
        raise ArtifactRefused(f"artifact format {manifest.format} is unknown here; this code reads {FORMAT}")
    if hashlib.sha256(artifact.model).hexdigest() != manifest.sha256:
        raise ArtifactRefused("the model file does not match its checksum; it was damaged or replaced")
    written_by, here = manifest.libraries.get("scikit-learn"), installed("scikit-learn")
    if written_by != here:
        raise ArtifactRefused(
            f"the model was written by scikit-learn {written_by}, this is {here}; retrain it"
        )


def unpack(artifact: Artifact) -> Reranker:
    """The model, ready to score. Raises :class:`ArtifactRefused`."""
    require_readable(artifact)
    manifest = artifact.manifest
    reranker = Reranker(_fitted_model(_load(artifact.model)))
    if reranker.feature_count != len(manifest.feature_names):
        raise ArtifactRefused(
            f"the model reads {reranker.feature_count} features, its manifest names {len(manifest.feature_names)}"
        )
    return reranker


def _load(blob: bytes) -> Any:
    import skops.io

    try:
        return skops.io.loads(blob, trusted=list(ALLOWED_TYPES))
    except Exception as error:  # skops raises whatever a hostile or damaged file provokes
        raise ArtifactRefused(
            f"the model file holds what is not allowed or cannot be read: {error}"
        ) from error


def _fitted_model(parts: Any) -> FittedModel:
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    if not isinstance(parts, dict) or set(parts) != {"scaler", "classifiers", "calibrator"}:
        raise ArtifactRefused("the model file does not hold a scaler, classifiers and a calibrator")
    classifiers = parts["classifiers"]
    right = (
        type(parts["scaler"]) is StandardScaler
        and type(parts["calibrator"]) is IsotonicRegression
        and isinstance(classifiers, list)
        and classifiers
        and all(type(classifier) in (MLPClassifier, LogisticRegression) for classifier in classifiers)
    )
    if not right:
        raise ArtifactRefused("the model file holds parts of another kind than a reranker has")
    return FittedModel(parts["scaler"], tuple(classifiers), parts["calibrator"])


def write_artifact(folder: Path, artifact: Artifact) -> None:
    """Both files into ``folder``, each complete or not there at all."""
    folder.mkdir(parents=True, exist_ok=True)
    _replace(folder / MODEL_FILE, artifact.model)
    _replace(folder / MANIFEST_FILE, artifact.manifest.model_dump_json(indent=2).encode())


def read_artifact(folder: Path) -> Artifact:
    """The blobs in ``folder``. Raises :class:`ArtifactRefused` when there is no whole artifact."""
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST_FILE).read_bytes())
        return Artifact(manifest, (folder / MODEL_FILE).read_bytes())
    except (OSError, ValidationError) as error:
        raise ArtifactRefused(f"no whole model artifact in {folder.name}: {error}") from error


def _replace(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

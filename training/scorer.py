"""A deployed model as the engine's :class:`~arbitration.protocols.Scorer`."""

from __future__ import annotations

from dataclasses import dataclass

from arbitration.features import FEATURE_NAMES, FEATURE_VERSION, MEASURED_FEATURES
from training.artifacts import Artifact, ArtifactRefused, Manifest, require_readable, unpack
from training.reranker import Floats, Reranker


@dataclass(frozen=True, slots=True)
class RerankerScorer:
    """Calibrated probabilities of a loaded artifact. Thread-safe."""

    reranker: Reranker
    manifest: Manifest

    @property
    def version(self) -> str:
        """Model version, as recorded with each verdict."""
        return self.manifest.version

    @property
    def architecture(self) -> str:
        """What it is: ``logistic``, or the name of a neural network."""
        return self.manifest.architecture

    @property
    def feature_version(self) -> int:
        """The FEATURE_VERSION it was trained on."""
        return self.manifest.feature_version

    @property
    def threshold(self) -> float:
        """Decision threshold chosen on validation data."""
        return self.manifest.threshold

    def probabilities(self, features: Floats) -> Floats:
        """Calibrated probability of being evidence; shape (n,) for features of shape (n, n_features)."""
        return self.reranker.probabilities(features[:, : len(self.manifest.feature_names)])


def open_scorer(artifact: Artifact) -> RerankerScorer:
    """A scorer for the features this code computes. Raises :class:`ArtifactRefused` for any other model."""
    _require_features(artifact.manifest)
    return RerankerScorer(unpack(artifact), artifact.manifest)


def require_scorable(artifact: Artifact) -> None:
    """What :func:`open_scorer` checks, as far as it is known without loading the model. Raises
    :class:`ArtifactRefused`."""
    _require_features(artifact.manifest)
    require_readable(artifact)


def _require_features(manifest: Manifest) -> None:
    if manifest.feature_version != FEATURE_VERSION or manifest.feature_names not in (
        FEATURE_NAMES,
        MEASURED_FEATURES,
    ):
        raise ArtifactRefused(
            f"the model reads feature version {manifest.feature_version}, this code computes {FEATURE_VERSION}"
        )

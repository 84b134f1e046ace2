"""The trained model: what is stored, and the form in which the engine applies it to one candidate list.

scikit-learn's own prediction spends most of its time checking its input; for a hundred rows these few matrix
products are about ten times faster and give the same numbers. It takes seconds to import, too: only a process
that trains or opens a model pays for that, here and in the modules beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

Floats = npt.NDArray[np.float64]
_Singles = npt.NDArray[np.float32]

#: Share of the uncalibrated probability mixed in. Isotonic calibration is a step function: without this,
#: candidates on one step would tie and rank by chance. It moves a probability by at most this much.
TIE_BREAK = 1e-3


@dataclass(frozen=True, slots=True)
class FittedModel:
    """The fitted scikit-learn parts: what an artifact holds.

    The classifiers see scaled features; the mean of their probabilities of evidence is calibrated.
    """

    scaler: StandardScaler
    classifiers: tuple[MLPClassifier | LogisticRegression, ...]
    calibrator: IsotonicRegression


@dataclass(frozen=True, slots=True)
class _Layer:
    weights: _Singles
    bias: _Singles


class Reranker:
    """A fitted model as plain arrays; probabilities of evidence for feature rows."""

    def __init__(self, model: FittedModel) -> None:
        """Raises ``TypeError`` for a classifier that is neither logistic nor an MLP with relu."""
        self._mean = np.asarray(model.scaler.mean_, dtype=np.float64)
        self._scale = np.asarray(model.scaler.scale_, dtype=np.float64)
        self._members = tuple(_layers(classifier) for classifier in model.classifiers)
        self._steps_from = np.asarray(model.calibrator.X_thresholds_, dtype=np.float64)
        self._steps_to = np.asarray(model.calibrator.y_thresholds_, dtype=np.float64)

    @property
    def feature_count(self) -> int:
        """Number of columns it expects."""
        return len(self._mean)

    def probabilities(self, features: Floats) -> Floats:
        """Calibrated probability of being evidence; shape (n,) for features of shape (n, feature_count).

        Strictly increasing in the uncalibrated one. Raises ``ValueError`` for another number of columns.
        """
        return self.calibrated(self.raw(features))

    def raw(self, features: Floats) -> Floats:
        """Mean uncalibrated probability of the members."""
        if features.ndim != 2 or features.shape[1] != self.feature_count:
            raise ValueError(f"expected {self.feature_count} features a row, got shape {features.shape}")
        scaled = ((features - self._mean) / self._scale).astype(np.float32)
        return np.asarray(np.mean([_forward(member, scaled) for member in self._members], axis=0))

    def calibrated(self, raw: Floats) -> Floats:
        """Calibration of uncalibrated probabilities, ties of the step function broken."""
        steps = np.interp(raw, self._steps_from, self._steps_to)
        return np.asarray((1 - TIE_BREAK) * steps + TIE_BREAK * raw)


def _forward(layers: tuple[_Layer, ...], scaled: _Singles) -> Floats:
    values = scaled
    for layer in layers[:-1]:
        values = np.maximum(values @ layer.weights + layer.bias, 0.0)
    logits = (values @ layers[-1].weights + layers[-1].bias)[:, 0].astype(np.float64)
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -60.0, 60.0))))


def _layers(classifier: Any) -> tuple[_Layer, ...]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    if isinstance(classifier, LogisticRegression):
        return (_layer(classifier.coef_.T, classifier.intercept_),)
    if isinstance(classifier, MLPClassifier) and classifier.activation == "relu":
        pairs = zip(classifier.coefs_, classifier.intercepts_, strict=True)
        return tuple(_layer(weights, bias) for weights, bias in pairs)
    raise TypeError(f"no reranker can be made of a {type(classifier).__name__}")


def _layer(weights: npt.ArrayLike, bias: npt.ArrayLike) -> _Layer:
    return _Layer(np.ascontiguousarray(weights, dtype=np.float32), np.asarray(bias, dtype=np.float32))

"""The encoder of this installation."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from arbitration.adapters.endpoints import Endpoint
from arbitration.adapters.openai_embedder import OpenAIEmbedder
from arbitration.errors import ArbitrationError
from arbitration.protocols import CrossEncoder, Embedder
from workbench.infra.model_endpoints import default_address
from workbench.infra.outbound import model_rule

from .models import EmbeddingSpace


@lru_cache(maxsize=1)
def current_embedder() -> Embedder:
    """The configured encoder, loaded once per process (after the fork)."""
    if settings.EMBEDDER_OPENAI_MODEL:
        address = settings.EMBEDDER_BASE_URL or default_address()
        return OpenAIEmbedder(
            Endpoint(
                name=address,
                base_url=address,
                model=settings.EMBEDDER_OPENAI_MODEL,
                api_key=settings.EMBEDDER_API_KEY
                or ("" if settings.EMBEDDER_BASE_URL else settings.OPENAI_API_KEY),
            ),
            dimensions=settings.EMBEDDER_DIMENSIONS or None,
            address_rule=model_rule(base_url=address),
        )
    # onnxruntime takes 30 MB of every process; a web process embeds nothing and goes without.
    from arbitration.adapters.onnx_embedder import default_embedder

    return default_embedder(folder=Path(settings.EMBEDDER_FOLDER) if settings.EMBEDDER_FOLDER else None)


def local_reranker() -> CrossEncoder | None:
    """The local cross-encoder; None if no folder is set."""
    if not settings.RERANK_FOLDER:
        return None
    # As above: only workers score.
    from arbitration.adapters.onnx_reranker import reranker_of

    return reranker_of(Path(settings.RERANK_FOLDER))


def local_reranker_state() -> str:
    """Folder and file of the local cross-encoder, for cache keys; empty if there is none."""
    if not settings.RERANK_FOLDER:
        return ""
    model = Path(settings.RERANK_FOLDER) / "model.onnx"
    try:
        facts = model.stat()
    except OSError:
        return f"{model.parent.name} missing"
    return f"{model.parent.name} {_sum_of(model, facts.st_mtime_ns, facts.st_size)}"


@lru_cache(maxsize=4)
def _sum_of(model: Path, _changed_ns: int, _size: int) -> str:
    with model.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def active_space() -> EmbeddingSpace:
    """The active embedding space."""
    return EmbeddingSpace.objects.get(is_active=True)


#: Numbers of a vector that an index of half precision can hold (pgvector).
WIDEST = 4000


class TooWide(ArbitrationError):
    """The encoder's vectors have too many dimensions for an index."""


def require_indexable(width: int) -> None:
    """Raises :class:`TooWide` for vectors with too many dimensions for an index."""
    if width > WIDEST:
        raise TooWide(
            _(
                "The encoder gives vectors of %(width)d numbers; at most %(widest)d can be indexed. Set "
                "EMBEDDER_DIMENSIONS where the model can give shorter ones, or choose another model."
            )
            % {"width": width, "widest": WIDEST}
        )


class AnotherEncoder(ArbitrationError):
    """The encoder's vectors cannot be compared with those of the active space."""


def require_encoder_of(space: EmbeddingSpace, *, embedder: Embedder) -> None:
    """Raises :class:`AnotherEncoder` if the space belongs to another encoder."""
    if embedder.space != space.name:
        raise _another_encoder(embedder.space, active=space.name)


def space_hold(space: EmbeddingSpace) -> None:
    """Keeps the space active until the transaction ends; many can hold it at the same time. Raises
    :class:`AnotherEncoder` if another one has become active."""
    sql = "SELECT * FROM documents_embeddingspace WHERE id = %s FOR SHARE"
    if not EmbeddingSpace.objects.raw(sql, [space.pk])[0].is_active:
        raise _another_encoder(space.name, active=active_space().name)


def _another_encoder(encoder: str, *, active: str) -> AnotherEncoder:
    return AnotherEncoder(
        _(
            "The encoder (%(encoder)s) is not that of the active embedding space (%(space)s). The operator either "
            "sets the former encoder again, or changes over with: manage.py reembed --new-encoder"
        )
        % {"encoder": encoder, "space": active}
    )

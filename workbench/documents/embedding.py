"""Which encoder this installation uses."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from django.conf import settings

from arbitration.protocols import Embedder
from workbench.ops.outbound import model_rule

from .models import EmbeddingSpace


@lru_cache(maxsize=1)
def current_embedder() -> Embedder:
    """The configured encoder, loaded once per process (after the fork)."""
    if settings.EMBEDDER_OPENAI_MODEL:
        from arbitration.adapters.endpoints import Endpoint
        from arbitration.adapters.openai_embedder import OpenAIEmbedder

        address = settings.OPENAI_BASE_URL or "https://api.openai.com/v1"
        return OpenAIEmbedder(
            Endpoint(
                name=address,
                base_url=address,
                model=settings.EMBEDDER_OPENAI_MODEL,
                api_key=settings.OPENAI_API_KEY,
            ),
            address_rule=model_rule(base_url=address),
        )
    from arbitration.adapters.onnx_embedder import default_embedder

    return default_embedder(folder=Path(settings.EMBEDDER_FOLDER) if settings.EMBEDDER_FOLDER else None)


def active_space() -> EmbeddingSpace:
    """The space that questions are asked in."""
    return EmbeddingSpace.objects.get(is_active=True)

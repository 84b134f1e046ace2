"""The description of the API as it is served."""

from __future__ import annotations

from functools import cache

from django.conf import settings
from django.http import HttpResponse
from django.utils.translation import get_language, override
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class DescriptionView(SpectacularAPIView):
    """OpenAPI, as YAML or JSON. It is the same for everybody and takes seconds to generate, so each process generates
    it once per format and language."""

    def _get_schema_response(self, request: Request) -> HttpResponse:
        language = get_language()
        known = language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
        renderer = type(request.accepted_renderer)
        filename = self._get_filename(request, self.api_version)
        return HttpResponse(
            _described(renderer, known),
            content_type=renderer.media_type,
            headers={"Content-Disposition": f'inline; filename="{filename}"'},
        )


@cache
def _described(renderer: type[BaseRenderer], language: str) -> bytes:
    with override(language):
        return renderer().render(SchemaGenerator().get_schema(request=None, public=True))

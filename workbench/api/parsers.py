"""Reads JSON bodies with limited depth. DATA_UPLOAD_MAX_MEMORY_SIZE limits their length."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser, get_encoding
from rest_framework.utils import json as strict_json

from arbitration import bounded_json


class BoundedJSONParser(JSONParser):
    """Like the framework's parser, for untrusted bodies. Raises ``ParseError``."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        encoding = get_encoding(parser_context or {})
        try:
            text = stream.read().decode(encoding)
            return bounded_json.loads(text, parse_constant=strict_json.strict_constant)
        except bounded_json.TooDeep as error:
            raise ParseError(_("This JSON is nested too deeply.")) from error
        except json.JSONDecodeError as error:
            raise ParseError(_("This is not valid JSON: %(problem)s.") % {"problem": error}) from error
        except ValueError as error:
            raise ParseError(_("This is not valid JSON.")) from error

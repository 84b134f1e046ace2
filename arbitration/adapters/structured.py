"""JSON answers: the schema sent to an endpoint, and the validation that never trusts it was obeyed."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from arbitration import bounded_json
from arbitration.capped import MOST_CHARACTERS, MOST_OF_A_REPLY, capped_all
from arbitration.errors import LLMFailure
from arbitration.spans import without_spans

Model = TypeVar("Model", bound=BaseModel)

_THINKING, _THOUGHT = "<think>", "</think>"
_OPENING = re.compile(r"[{\[]")
#: Places in a prose answer where a JSON value may begin that are tried before giving up.
_MAX_STARTS = 50
_PLAIN_NAME = re.compile(r"\w{1,40}")
#: Keywords that OpenAI's strict mode does not take.
_NOT_STRICT = ("default", "title", "minLength", "maxLength", "uniqueItems")
#: A refusal opens an answer: how far its first words are looked for.
_OPENING_WORDS = 400
_REFUSALS = re.compile(
    r"\W*(?:i(?:['’]m| am) (?:very |really |so )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai|lo siento|lamento)?"
    r"[\s,.;:-]*(?:pero |but )?(?:as an ai[^,.]{0,40}, )?"
    r"(?:i (?:can(?:no|['’])t|am (?:unable|not able) to|won['’]t|will not|must decline)|no puedo|no me es posible)"
    r"\b.{0,40}?\b(?:help|assist|comply|do that|provide|answer|fulfil|continue|ayudar|responder|cumplir|request)",
    re.IGNORECASE | re.DOTALL,
)


@lru_cache(maxsize=256)
def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON schema; made once, so not to be changed."""
    return model.model_json_schema()


@lru_cache(maxsize=256)
def strict_schema(model: type[BaseModel]) -> tuple[dict[str, Any], bool]:
    """The model's JSON schema, and whether it can be enforced strictly; made once, so not to be changed.

    Strict mode wants every property required, no other allowed and no defaults. A model with an open map
    (``dict[str, int]``) cannot have that; its schema is sent as it is.
    """
    schema = json_schema(model)
    if schema.get("type") != "object" or _has_open_map(schema):
        return schema, False
    strict = _strict(schema)
    return strict, True


def _has_open_map(node: Any) -> bool:
    if isinstance(node, list):
        return any(_has_open_map(item) for item in node)
    if not isinstance(node, dict):
        return False
    if node.get("additionalProperties", False) is not False:
        return True
    if node.get("type") == "object" and "properties" not in node:
        return True
    return any(_has_open_map(value) for value in node.values())


def _strict(node: Any) -> Any:
    """The schema node with the strict mode's rules applied all the way down."""
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    properties = node.get("properties")
    strict = {
        key: _strict(value) for key, value in node.items() if key not in (*_NOT_STRICT, "properties", "$defs")
    }
    for named in ("properties", "$defs"):  # their keys are names, not keywords: none may be dropped
        if named in node:
            strict[named] = {name: _strict(value) for name, value in node[named].items()}
    if isinstance(properties, dict):
        strict["required"] = list(properties)
        strict["additionalProperties"] = False
    if "$ref" in strict:  # strict mode takes a reference alone, without siblings
        strict = {"$ref": strict["$ref"]}
    return strict


def parse_answer(text: str, model: type[Model]) -> Model:
    """The answer as ``model``; JSON may be wrapped in prose, a code block or thinking.

    Raises ``LLMFailure``: ``refused`` when the text says so instead of answering, ``unparseable`` when it
    holds no JSON, ``wrong_schema`` when the JSON is not what was asked for, or holds two answers that
    differ: a passage quoted before the answer must not be taken for it. A text in it that is too long is cut
    (:mod:`arbitration.capped`); a reply that is too long as a whole is ``unparseable``.
    """
    check_length(text)
    answers: list[Model] = []
    misfit: ValidationError | None = None
    for candidate in _json_candidates(text):
        try:
            answers.append(model.model_validate_json(_with_short_texts(candidate)))
        except ValidationError as error:
            misfit = misfit or error
    if answers and all(answer == answers[0] for answer in answers):
        return answers[0]
    if answers:
        raise LLMFailure(
            "wrong_schema", f"the answer holds {len(answers)} different {model.__name__} objects"
        )
    if misfit is not None:
        raise LLMFailure("wrong_schema", f"the answer does not fit {model.__name__}: {_places(misfit)}")
    if looks_like_refusal(text):
        raise LLMFailure("refused", "the model declined to answer")
    raise LLMFailure("unparseable", "the answer holds no JSON")


def check_length(text: str) -> None:
    """Raises ``LLMFailure`` (``unparseable``) when a reply is longer than any that is asked for: it is not read."""
    if len(text) > MOST_OF_A_REPLY:
        raise LLMFailure("unparseable", f"the answer has {len(text)} characters, over {MOST_OF_A_REPLY}")


def _with_short_texts(answer: str) -> str:
    """JSON whose texts are cut where they are too long."""
    if len(answer) <= MOST_CHARACTERS:
        return answer
    try:
        return json.dumps(capped_all(json.loads(answer)))
    except RecursionError:  # nested too deeply to be an answer, which the validation will say
        return answer


def looks_like_refusal(text: str) -> bool:
    """Whether a text opens with the usual words of refusal (English, Spanish)."""
    return _REFUSALS.match(text[:_OPENING_WORDS]) is not None


def _json_candidates(text: str) -> list[str]:
    """The whole text when it is JSON; else every object or array that stands in it on its own."""
    whole = text.strip()
    try:
        bounded_json.loads(whole)
        return [whole]
    except ValueError:
        return _embedded_json(without_spans(whole, _THINKING, _THOUGHT))


def _embedded_json(text: str) -> list[str]:
    decoder = json.JSONDecoder()
    found: list[str] = []
    position = 0
    for _ in range(_MAX_STARTS):
        opening = _OPENING.search(text, position)
        if opening is None:
            break
        try:
            _, position = decoder.raw_decode(text, opening.start())
            found.append(text[opening.start() : position])
        except (ValueError, RecursionError):
            position = opening.end()
    return found


def _places(error: ValidationError) -> str:
    """Where and how an answer is wrong, without repeating anything that it or a document said."""
    problems = []
    for problem in error.errors(include_input=False, include_url=False)[:3]:
        path = ".".join(part if _PLAIN_NAME.fullmatch(part) else "?" for part in map(str, problem["loc"]))
        problems.append(f"{path or 'answer'} ({problem['type']})")
    return "; ".join(problems)

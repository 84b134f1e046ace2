"""Prompts as versioned, validated template files, and the fence that keeps document text data.

A prompt is ``arbitration/prompts/<name>/v<N>.md``::

    ---
    name: arbiter
    version: 1
    purpose: One call that gives every brief a role and a reason.
    placeholders: question, briefs
    ---
    ## System
    You judge evidence ...
    ## User
    Question: {{ question }}
    {% for brief in briefs %}{{ brief }}
    {% endfor %}

Both parts are Jinja2 templates, run in a sandbox where an unknown name is an error. A template whose
declared placeholders are not exactly the ones it uses is refused when loaded. A version is never edited
once it has been used: the hash of the file is stored with every call.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict, Unpack

from jinja2 import StrictUndefined, Template, TemplateError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel

from arbitration.errors import ArbitrationError
from arbitration.protocols import ChatRequest

PROMPTS = Path(__file__).with_name("prompts")

_HEADER = re.compile(r"\A---\n(?P<fields>.*?)\n---\n(?P<body>.*)\Z", re.DOTALL)
_PARTS = re.compile(
    r"\A\s*^## System[ \t]*\n(?P<system>.*?)^## User[ \t]*\n(?P<user>.*)\Z", re.DOTALL | re.MULTILINE
)
_PART_HEADING = re.compile(r"^## (?:System|User)[ \t]*$", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_FIELDS = frozenset({"name", "version", "purpose", "placeholders"})


class PromptError(ArbitrationError):
    """A prompt template is missing, malformed or rendered with the wrong values."""


class RequestOptions(TypedDict, total=False):
    """The fields of a ``ChatRequest`` that a prompt does not set itself."""

    schema: type[BaseModel] | None
    max_output_tokens: int
    temperature: float
    timeout_s: float
    retries: int
    want_logprobs: bool
    stage: str


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A prompt ready to send, with what the ledger keeps of its origin. ``version`` reads ``v1``."""

    system: str
    user: str
    name: str
    version: str
    hash: str

    def request(self, **options: Unpack[RequestOptions]) -> ChatRequest:
        """The model call for this prompt."""
        return ChatRequest(
            prompt_name=self.name,
            prompt_version=self.version,
            prompt_hash=self.hash,
            system=self.system,
            user=self.user,
            **options,
        )


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """One version of one prompt. ``hash`` is the SHA-256 of the file's text (line ends as \\n)."""

    name: str
    version: str
    purpose: str
    placeholders: frozenset[str]
    system: str
    user: str
    hash: str

    def render(self, **values: Any) -> RenderedPrompt:
        """The prompt with every placeholder filled; :class:`PromptError` on a missing or unknown one.

        Document text among ``values`` must have gone through :func:`fence`.
        """
        given = frozenset(values)
        if given != self.placeholders:
            raise PromptError(
                f"prompt {self.name} {self.version} takes {_listed(self.placeholders)}; "
                f"missing: {_listed(self.placeholders - given)}, unknown: {_listed(given - self.placeholders)}"
            )
        try:
            system, user = (_compiled(part).render(values) for part in (self.system, self.user))
        except TemplateError as error:
            raise PromptError(
                f"prompt {self.name} {self.version} cannot be rendered: {error.message}"
            ) from error
        return RenderedPrompt(system.strip(), user.strip(), self.name, self.version, self.hash)


def load_prompt(name: str, *, version: int | None = None, root: Path = PROMPTS) -> PromptTemplate:
    """The prompt ``name`` in the given version, by default the newest one. Files are read once."""
    if not _NAME.fullmatch(name):
        raise PromptError(f"{name!r} is not a prompt name; use lower-case letters, digits, - and _")
    number = version if version is not None else _newest(root / name)
    return _load(root / name / f"v{number}.md", name=name, number=number)


def prompt_names(*, root: Path = PROMPTS) -> list[str]:
    """Every prompt there is, sorted."""
    return sorted({path.parent.name for path in root.glob("*/v*.md")})


def parse_prompt(text: str, *, source: str = "prompt") -> PromptTemplate:
    """A template file's text, validated; ``source`` names it in error messages."""
    text = text.replace("\r\n", "\n")
    header = _HEADER.match(text)
    if header is None:
        raise PromptError(f"{source} does not start with a front matter between two lines of ---")
    fields = _front_matter(header["fields"], source=source)
    parts = _PARTS.match(header["body"])
    if parts is None or len(_PART_HEADING.findall(header["body"])) != 2:
        raise PromptError(f"{source} needs one '## System' and then one '## User' heading")
    declared = frozenset(re.split(r"[,\s]+", fields["placeholders"])) - {""}
    _check_placeholders(declared, parts["system"] + parts["user"], source=source)
    return PromptTemplate(
        name=fields["name"],
        version=f"v{int(fields['version'])}",
        purpose=fields["purpose"],
        placeholders=declared,
        system=parts["system"],
        user=parts["user"],
        hash=hashlib.sha256(text.encode()).hexdigest(),
    )


# Prompts are plain text, not HTML: escaping would change what the model reads. S701 is about web pages.
_ENVIRONMENT = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined,
    autoescape=False,
    trim_blocks=True,
    lstrip_blocks=True,
)


@lru_cache(maxsize=256)
def _compiled(part: str) -> Template:
    """The template, compiled once: that takes longer than everything else between a brief and its call."""
    return _ENVIRONMENT.from_string(part)


@lru_cache(maxsize=256)
def _load(path: Path, *, name: str, number: int) -> PromptTemplate:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PromptError(
            f"there is no prompt {name} v{number} ({path.name} in {path.parent.name}/)"
        ) from error
    prompt = parse_prompt(text, source=f"{name}/{path.name}")
    if (prompt.name, prompt.version) != (name, f"v{number}"):
        raise PromptError(
            f"{name}/{path.name} calls itself {prompt.name} {prompt.version}; make the two agree"
        )
    return prompt


def _newest(folder: Path) -> int:
    numbers = [int(path.stem[1:]) for path in folder.glob("v*.md") if path.stem[1:].isdigit()]
    if not numbers:
        raise PromptError(f"there is no prompt {folder.name}")
    return max(numbers)


def _front_matter(block: str, *, source: str) -> dict[str, str]:
    """``key: value`` lines; every field exactly once and no other."""
    split = [line.partition(":") for line in block.split("\n") if line.strip()]
    fields = {key.strip(): value.strip() for key, _, value in split}
    if set(fields) != _FIELDS or len(split) != len(_FIELDS):
        raise PromptError(f"{source}: the front matter has the fields {_listed(_FIELDS)}, each once")
    if not fields["version"].isdigit() or not _NAME.fullmatch(fields["name"]) or not fields["purpose"]:
        raise PromptError(f"{source}: name, a whole number as version, and purpose must be filled in")
    return fields


def _check_placeholders(declared: frozenset[str], template: str, *, source: str) -> None:
    try:
        used = meta.find_undeclared_variables(_ENVIRONMENT.parse(template))
    except TemplateError as error:
        raise PromptError(f"{source} is not a valid template: {error.message}") from error
    if used != declared:
        raise PromptError(
            f"{source}: declared but not used: {_listed(declared - used)}; "
            f"used but not declared: {_listed(used - declared)}"
        )


def _listed(names: frozenset[str] | set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


# --- document text as data -----------------------------------------------------------------------------

#: Control characters (all but tab and line feed), soft hyphen, zero-width and joining characters, bidi
#: marks, embeddings, overrides and isolates, invisible operators, fillers, annotation marks, byte-order
#: mark, tag characters, supplementary variation selectors, lone surrogates.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_FENCE_MARKS = re.compile(r"<<(?=<)|>>(?=>)")


def clean_text(text: str) -> str:
    """Document text as a person sees it: no control, zero-width or direction-changing characters, and
    every kind of line end as a line feed."""
    return _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))


def fence(text: str, *, label: str) -> str:
    """Document text as a delimited block of data that it cannot close itself.

    The closing mark carries a tag made from the text's own hash, and three angle brackets in a row are
    broken up inside it, so that neither mark can occur there. The same text always gives the same block.
    """
    body = _FENCE_MARKS.sub(lambda found: f"{found[0]} ", clean_text(text))
    name = re.sub(r"[^\w.:-]+", "_", label)[:80]
    tag = _fence_tag(body)
    return f"<<<DATA {name} {tag}>>>\n{body}\n<<<END {tag}>>>"


def _fence_tag(body: str) -> str:
    """12 hex digits that do not occur in the text."""
    digest = hashlib.sha256(body.encode()).hexdigest()
    while digest[:12] in body:
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:12]

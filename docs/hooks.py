"""What the documentation site has beyond the files of this folder: the documents beside it, and references made from
the code. Read by mkdocs (``mkdocs.yml``); ``make site`` builds."""

from __future__ import annotations

import logging
import os
import re
import sys
from enum import StrEnum
from inspect import cleandoc
from pathlib import Path
from typing import Any, get_args

import yaml
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).resolve().parent))
from diagrams import BLOCK, PICTURES, ROOT, picture_of

logger = logging.getLogger("mkdocs.hooks")
#: File of the root to its name on the site.
BESIDE = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "THREAT_MODEL.md": "threat-model.md",
    "LICENSE": "LICENSE.txt",
    "NOTICE": "NOTICE.txt",
}


def on_config(config: Any) -> Any:
    """A document that ``mkdocs.yml`` does not place yet stands at the end, so that none is left out."""
    docs = ROOT / "docs"
    placed = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    if missing := sorted({path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} - placed):
        config.nav.append({"More": missing})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the documents of the root and the references."""
    made = {name: (ROOT / source).read_text("utf-8") for source, name in BESIDE.items()}
    made |= {
        "reference/commands.md": commands(),
        "reference/api.md": operations(ROOT / "docs" / "openapi.yaml"),
        "reference/settings.md": settings(ROOT / ".env.example"),
        "reference/audit-format.md": audit_format(),
        "reference/actions.md": actions(),
    }
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links into and out of this folder, as they are on the site."""
    if page.file.src_uri in BESIDE.values():
        markdown = re.sub(r"\]\(docs/", "](", markdown)
    up = "../" * page.file.src_uri.count("/")
    markdown = with_pictures(markdown, up)
    for source, name in BESIDE.items():
        markdown = re.sub(rf"\]\((?:\.\./)*{re.escape(source)}(?=[)#])", f"]({up}{name}", markdown)
    # Folders have a page of their own here; sources have none.
    markdown = re.sub(r"\]\(adr/\)", "](adr/README.md)", markdown)
    return re.sub(
        r"\[([^]]+)\]\((?:\.\./)+(?:\.env\.example|docker-compose\.yml|Dockerfile)\)", r"`\1`", markdown
    )


def with_pictures(markdown: str, up: str) -> str:
    """Diagrams as pictures, each named after the heading above it; a press shows it at full size."""

    def shown(match: re.Match[str]) -> str:
        name = picture_of(match[1])
        if not (PICTURES / name).exists():
            logger.warning("A diagram was changed and not drawn again: see docs/diagrams.py.")
        headings = re.findall(r"^#+ (.+)$", markdown[: match.start()], re.MULTILINE)
        picture = f"{up}img/diagrams/{name}"
        return f"[![Diagram: {headings[-1] if headings else ''}]({picture})]({picture})"

    return BLOCK.sub(shown, markdown)


def django_set_up() -> None:
    """The product's modules can be imported from here on."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.test")
    import django

    django.setup()


def actions() -> str:
    """Every action of the audit trail, with what pages call it."""
    django_set_up()
    from workbench.audit.actions import Action

    parts = ["# Actions of the audit trail", "", "| action | what happened |", "|---|---|"]
    return "\n".join([*parts, *(f"| `{action.value}` | {action.label} |" for action in Action)]) + "\n"


def commands() -> str:
    """``--help`` of every command that is ours."""
    os.environ["COLUMNS"] = "100"
    django_set_up()
    from django.core.management import get_commands, load_command_class

    ours = sorted((name, app) for name, app in get_commands().items() if str(app).startswith("workbench"))
    parts = ["# Commands", "", "Output of `manage.py COMMAND --help`.", ""]
    for name, app in ours:
        parser = load_command_class(app, name).create_parser("manage.py", name)
        parts += [f"## {name}", "", "```text", parser.format_help().strip(), "```", ""]
    return "\n".join(parts)


def operations(path: Path) -> str:
    """Every operation of the API with its first sentence; the whole description is a file beside it."""
    described = yaml.safe_load(path.read_text("utf-8"))
    parts = [
        "# The API",
        "",
        "Generated from [openapi.yaml](../openapi.yaml), which also has parameters, bodies and responses. "
        "`make client` generates a typed Python client from it.",
        "",
        "| request | action |",
        "|---|---|",
    ]
    for address, methods in described["paths"].items():
        for method, operation in methods.items():
            if method in ("get", "post", "put", "patch", "delete"):
                text = " ".join(str(operation.get("description", "")).split()).replace("|", "\\|")
                parts.append(f"| `{method.upper()} {address}` | {text} |")
    return "\n".join(parts) + "\n"


def audit_format() -> str:
    """Every record of the audit format with its fields, from the models that check it."""
    from arbitration import contracts

    parts = ["# The audit format", "", cleandoc(contracts.__doc__ or ""), ""]
    for name, model in vars(contracts).items():
        if not (isinstance(model, type) and model.__module__ == contracts.__name__):
            continue
        fields = getattr(model, "model_fields", None)
        if fields:
            parts += [
                f"## {name}",
                "",
                cleandoc(model.__doc__ or ""),
                "",
                "| field | type | |",
                "|---|---|---|",
            ]
            parts += [_field(field, info) for field, info in fields.items()] + [""]
        elif issubclass(model, StrEnum):
            parts += [f"## {name}", "", cleandoc(model.__doc__ or ""), ""]
            parts += [", ".join(f"`{member.value}`" for member in model), ""]
    return "\n".join(parts)


def _field(name: str, info: Any) -> str:
    annotation = info.annotation
    kind = (
        annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else str(annotation)
    )
    kind = re.sub(r"\b(?:typing|arbitration\.contracts)\.|<enum '(\w+)'>", r"\1", kind).replace("|", "\\|")
    return f"| `{name}` | {kind} | {'' if info.is_required() else 'optional'} {info.description or ''} |"


def settings(path: Path) -> str:
    """The example file, as it is."""
    return f"# Settings\n\nThe file `.env.example`:\n\n```bash\n{path.read_text('utf-8')}```\n"

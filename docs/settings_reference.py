"""Brings ``docs/settings.md`` up to date with the settings package: names and defaults from the code, meanings kept.

``make docs`` runs it; a test fails while it would change anything.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "settings.md"
#: Set for the tests by the gate; nobody sets it by hand.
INTERNAL = {"TEST_DATABASE_URL"}
ROW = re.compile(r"^\| `(?P<name>[A-Z0-9_]+)` \| (?P<default>[^|]+) \| (?P<meaning>[^|]+) \|$", re.MULTILINE)


def read_in_code() -> dict[str, set[str]]:
    """Every variable the settings package reads, with the constant defaults it is read with."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "workbench" / "settings").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="env"), attr=kind),
                    args=[ast.Constant(value=str(name)), *rest],
                ) if name not in INTERNAL:
                    default = next((word.value for word in node.keywords if word.arg == "default"), None)
                    found[name] |= _shown(kind, rest[0] if rest else default)
    return found


def _shown(kind: str, default: ast.expr | None) -> set[str]:
    """As the table shows it; nothing where it is not a constant, or empty."""
    if default is None or kind not in {"integer", "flag", "text"}:
        return set()
    try:
        value = _value(default)
    except ValueError:
        return set()
    return {str(int(value)) if kind == "flag" else str(value)} - {""}


def _value(node: ast.expr) -> int | str:
    """A constant, or whole numbers multiplied."""
    match node:
        case ast.Constant(value=int() | str() as value):
            return value
        case ast.BinOp(left=left, op=ast.Mult() | ast.Pow() as sign, right=right):
            first, second = int(_value(left)), int(_value(right))
            return first * second if isinstance(sign, ast.Mult) else first**second
    raise ValueError(ast.dump(node))


def up_to_date(page: str) -> str:
    """The page with the defaults of the code, and a row for each variable that has none."""
    code = read_in_code()

    def row(match: re.Match[str]) -> str:
        defaults = code.get(match["name"], set())
        # A default in words says more than the constant, such as the embedded database.
        if len(defaults) != 1 or not re.fullmatch(r"`[^`]+`", match["default"]):
            return match[0]
        return f"| `{match['name']}` | `{next(iter(defaults))}` | {match['meaning']} |"

    page = ROW.sub(row, page)
    named = {match["name"] for match in ROW.finditer(page)}
    missing = "".join(
        f"| `{name}` | {', '.join(f'`{one}`' for one in sorted(code[name])) or 'none'} | to be described |\n"
        for name in sorted(code.keys() - named)
    )
    end = list(ROW.finditer(page))[-1].end() + 1
    return page[:end] + missing + page[end:]


if __name__ == "__main__":
    PAGE.write_text(up_to_date(PAGE.read_text("utf-8")), "utf-8")

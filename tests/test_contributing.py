"""The newcomer's guide names what is there."""

from __future__ import annotations

import re

import pytest

from tests.test_docs import ROOT, table_rows

GUIDE = (ROOT / "docs" / "contributing.md").read_text("utf-8")
#: Each file of an app, wherever it stands.
OF_AN_APP = {"urls.py", "views.py"}


def section(title: str) -> str:
    return GUIDE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:[\w.-]+/)+(?:[\w-]+\.\w+)?)`", GUIDE))))
def test_what_it_names_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(
    "row", [row for row in table_rows(GUIDE) if row[1].isdigit()], ids=lambda row: row[0]
)
def test_a_change_has_as_many_steps_as_files(row: list[str]) -> None:
    title = row[0][0].upper() + row[0][1:]
    assert len(re.findall(r"^\d+\. ", section(title), re.MULTILINE)) == int(row[1])


def test_names_of_the_code_are_the_codes() -> None:
    from arbitration.detection import DETECTORS
    from arbitration.settings import METHODS
    from arbitration.strategies import base
    from arbitration.strategies.baselines import BASELINES
    from arbitration.strategies.registry import STRATEGIES

    assert {detector.method for detector in DETECTORS} < set(METHODS)
    assert {strategy.name for strategy in BASELINES} < set(STRATEGIES)
    for attribute in ("asks_if_there_is_one", "reads_gates", "orders_by_score"):
        assert f"`{attribute}`" in section("A strategy")
        assert any(getattr(strategy, attribute, False) for strategy in STRATEGIES.values())
    assert {need for strategy in STRATEGIES.values() for need in strategy.requires} <= set(
        base.Requirement.__args__
    )

"""A date reads the same wherever it stands: pages, mails, exports, both languages."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from django.template import Context, Template
from django.template.loader import render_to_string
from django.utils import translation

from workbench.exports.words import moment
from workbench.infra.dates import month_in_words

ROOT = Path(__file__).resolve().parents[2]
AT = datetime(2026, 11, 2, 14, 56, 7, tzinfo=UTC)
#: What a template may hand to the date filter: the forms of workbench.formats, and those that machines read.
FORMS = {"DATE_FORMAT", "TIME_FORMAT", "DATETIME_FORMAT", "YEAR_MONTH_FORMAT"}
FOR_MACHINES = {"c", "Y-m-d", "Y-m"}
#: Where code may write dates for machines: hashes, file names, addresses, values of controls, keys that sort.
WRITES_FOR_MACHINES = {
    "workbench/audit/chain.py",
    "workbench/exports/words.py",
    "workbench/exports/services.py",
    "workbench/labeling/agreement.py",
    "workbench/rerankers/drift.py",
    "workbench/operations/backup.py",
    "workbench/operations/costs.py",
    "workbench/operations/operations_views.py",
    "workbench/operations/trust.py",
    "workbench/review/as_of_views.py",
}


def _templates() -> list[Path]:
    return [path for path in (ROOT / "templates").rglob("*") if path.suffix in {".html", ".txt"}]


def test_templates_print_dates_in_the_forms_of_the_house_alone() -> None:
    found = [
        (path.name, form)
        for path in _templates()
        for form in re.findall(r"\|(?:date|time)(?::[\"']([^\"']*)[\"'])?", path.read_text(encoding="utf-8"))
        if form not in FORMS | FOR_MACHINES and (path.name, form) != ("_when.html", "s")
    ]
    assert found == [], "print it by partials/_when.html or partials/_day.html"


def test_forms_for_machines_stand_in_attributes_alone() -> None:
    loose = [
        (path.name, text)
        for path in _templates()
        for text in re.findall(r">[^<\"]*\|date:[\"'](?:c|Y-m-d|Y-m)[\"']", path.read_text(encoding="utf-8"))
    ]
    assert loose == []


def test_code_prints_dates_for_people_by_the_forms_of_the_house() -> None:
    written = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "workbench").rglob("*.py")
        if re.search(r"strftime|:%[A-Za-z]", path.read_text(encoding="utf-8"))
    }
    assert written <= WRITES_FOR_MACHINES, "use django.utils.formats.date_format, or say here why not"


@pytest.mark.parametrize(
    ("language", "day", "month"),
    [("en", "2 Nov 2026", "November 2026"), ("es", "2 nov 2026", "noviembre de 2026")],
)
def test_a_date_reads_the_same_everywhere(language: str, day: str, month: str) -> None:
    with translation.override(language):
        bare = Template("{{ at }}|{{ on }}").render(Context({"at": AT, "on": AT.date()}))
        shown = render_to_string("partials/_when.html", {"at": AT})
        to_the_second = render_to_string("partials/_when.html", {"at": AT, "exact": True})
        alone = render_to_string("partials/_day.html", {"on": date(2026, 11, 2)})
        recorded = moment(AT)
        in_words = month_in_words("2026-11")

    # What somebody prints without a filter has the form too.
    assert bare == f"{day}, 14:56|{day}"
    assert f'datetime="2026-11-02T14:56:07+00:00">{day}, 14:56</time>' in shown
    assert ">" + f"{day}, 14:56:07</time>" in to_the_second
    assert f'datetime="2026-11-02">{day}</time>' in alone
    assert recorded == f"{day}, 14:56:07 UTC"
    assert in_words == month

"""``python -m tests.deploy``: renders the chart with Helm's own library into the files that are kept."""

from __future__ import annotations

import helm_python

from tests.deploy.chart import CASES, CHART, RENDERED, headed


def rendered(case: str) -> str:
    """What Helm makes of the chart for these values, in the order of its files."""
    with helm_python.Chart.load(str(CHART)) as chart:
        made = chart.render(CASES[case], name="wb", namespace="workbench")
    return "".join(
        f"---\n# Source: {name}\n{made[name].strip()}\n" for name in sorted(made) if made[name].strip()
    )


if __name__ == "__main__":
    for case in CASES:
        (RENDERED / f"{case}.yaml").write_text(headed(rendered(case)), "utf-8")

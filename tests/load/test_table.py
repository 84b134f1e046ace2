"""The table of a load test says what locust measured."""

from __future__ import annotations

import os

from tests.load.table import Row, Use, failures_of, rows_of, table, use_of

STATS = """Type,Name,Request Count,Failure Count,Median Response Time,50%,66%,75%,80%,90%,95%,98%,99%,100%
,Aggregated,30,1,40,40,50,60,70,120,180,190,200,210
GET,run page,10,0,90,90,95,100,101,120,140,150,160,170
POST,decide,20,1,30,30,40,50,55,60,N/A,N/A,N/A,N/A
"""


def test_rows_come_by_name_and_their_sum_last() -> None:
    rows = rows_of(STATS)

    assert [row.name for row in rows] == ["decide", "run page", "Aggregated"]
    assert rows[1] == Row("run page", requests=10, failures=0, p50=90, p95=140)


def test_the_table_says_what_is_met_and_how_memory_went() -> None:
    said = table(
        rows_of(STATS), use={"web": (Use(150.4, 10.0), Use(161.2, 11.0), Use(161.6, 13.0))}
    ).splitlines()

    assert [line.split()[-1] for line in said[1:4]] == ["met", "met", "met"]
    assert "not met" in said[1]  # nothing measured is not met
    assert "not met" not in said[2]
    assert said[-1].split() == ["web", "150", "161", "162", "3.0", "100.0"]


def test_failures_are_counted_by_what_failed() -> None:
    listed = "Method,Name,Error,Occurrences\nPOST,decide,409,2\nGET,queue,500,1\nSEEN,decide,409,1\n"

    assert failures_of(listed) == ["3 x decide: 409", "1 x queue: 500"]


def test_a_living_process_uses_something() -> None:
    used = use_of(os.getpid())

    assert used.megabytes > 1
    assert used.seconds > 0

"""Measurements against the numbers to reach. ``make bench`` runs all; ``python -m tests.bench NAME...`` some.

One file per measurement. A file offers one function under :func:`tests.bench.registry.measurement`, with the name it
is asked for by, and yields :class:`tests.bench.registry.Figure` objects: what was measured, the value, the target,
and what it was measured beside in the same run, so that a slow machine slows both. A measurement that needs services
says so (``needs_services=True``); ``make bench`` provides them, migrated. ``SIZE=full`` reaches it as ``size``.

A figure that misses its target is printed as missed and does not fail the run: benchmarks are not tests. A
measurement that raises is reported and makes the exit status 1. The report goes to ``var/bench.json`` (``--json``).
"""

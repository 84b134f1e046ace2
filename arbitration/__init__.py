"""The arbitration engine: parsing, detection, briefs, strategies, grounding and evaluation.

Plain typed Python. It knows no web framework, no task queue and no database; it reaches the world
through the protocols of :mod:`arbitration.protocols`.
"""

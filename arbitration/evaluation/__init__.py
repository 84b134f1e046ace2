"""Measuring the engine on labelled sets: loaders, the judge, ranking metrics and the report.

Independent of any database: the product hands over a callable that answers one question.
"""

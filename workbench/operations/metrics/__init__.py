"""Figures for Prometheus: what happened, counted where it happens, and what is, read when it is asked.

``workbench.infra.metrics`` holds what processes count: requests, tasks, calls of language models. All processes of one
machine count in files of one folder, which the web process and, on its own port, a worker add up. ``figures`` holds
what stands in the database, the broker and on the disk; only the web process reads it, at the moment it is asked.

No label holds text of a person or a document: only names from code (views, tasks, states) and from settings (the host
of an endpoint, a model).
"""

"""The embedded stack: PostgreSQL, Valkey, web, worker and beat on one machine, under one supervisor.

Nothing here imports Django; the supervised programs do.
"""

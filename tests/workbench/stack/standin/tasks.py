"""The stand-in's Celery application: one task that writes a row."""

from __future__ import annotations

import os

import psycopg
from celery import Celery

app = Celery("standin", broker=os.environ["BROKER_URL"])
app.conf.task_default_queue = "default"
app.conf.task_ignore_result = True
app.conf.broker_connection_retry_on_startup = True


@app.task(name="standin.write")
def write(text: str) -> None:
    """Adds a note."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        connection.execute("INSERT INTO note (text) VALUES (%s)", [text])

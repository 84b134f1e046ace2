"""What people do all day, for locust: read the queue, take a card, look at its evidence, decide, go on; ask, and wait.

Run by ``tests.load``, which signs everybody in and names the file with their sessions in ``LOAD_SESSIONS``. Only pages
are asked for, in the order and with the headers of a browser; scripts and styles come from its cache.
"""

from __future__ import annotations

import json
import os
import random
import re
import secrets
from pathlib import Path
from typing import Any

from locust import FastHttpUser, events, task

DECISION_SECONDS, QUESTION_SECONDS = 5.0, 60.0
REVIEWERS, ANALYSTS = 50, 10
#: Of a reviewer's decisions: how many are overridden or left open, and how often the whole run or the list is read.
OVERRIDES, UNSURE, READS_RUN, READS_QUEUE = 0.10, 0.05, 0.25, 0.10
LONGEST_ANSWER_SECONDS = 60

_sessions: dict[str, list[str]] = {}


@events.init.add_listener
def _read_sessions(**_: Any) -> None:
    _sessions.update(json.loads(Path(os.environ["LOAD_SESSIONS"]).read_text(encoding="utf-8")))


class Person(FastHttpUser):
    """Somebody signed in."""

    abstract = True
    role = ""
    connection_timeout = network_timeout = 60.0

    def on_start(self) -> None:
        """Takes a session of their own."""
        token = secrets.token_hex(16)
        self.session = {
            "Cookie": f"sessionid={_sessions[self.role].pop()}; csrftoken={token}",
            "X-CSRFToken": token,
        }

    def read(self, path: str, name: str, **headers: str) -> str:
        """A page's text; anything but 200 is a failure."""
        answer = self.client.get(path, name=name, headers=self.session | headers, allow_redirects=False)
        if answer.status_code != 200:
            self._failed(name, f"{path}: {answer.status_code}")
            return ""
        return str(answer.text)

    def send(self, path: str, name: str, **fields: str) -> str:
        """Where a form leads; anything but a way on is a failure."""
        with self.client.post(
            path, fields, name=name, headers=self.session, allow_redirects=False, catch_response=True
        ) as answer:
            if answer.status_code != 302:
                answer.failure(f"{answer.status_code}")
                return ""
            return str(answer.headers["Location"])

    def _failed(self, name: str, why: str) -> None:
        self.environment.events.request.fire(
            request_type="SEEN",
            name=name,
            response_time=0,
            response_length=0,
            exception=RuntimeError(why),
            context={},
        )


class Reviewer(Person):
    """Decides card after card."""

    role = "reviewer"
    fixed_count = REVIEWERS

    def wait_time(self) -> float:
        """Seconds of reading, five on average and sometimes many."""
        return random.expovariate(1 / DECISION_SECONDS)

    def on_start(self) -> None:
        """Begins with the list, at a moment of their own."""
        super().on_start()
        self.page = ""

    @task
    def decide(self) -> None:
        """One decision, and the next card."""
        if not self.page:
            self.read("/queue/", "queue")
            self._open(self.send("/queue/next/", "claim the next"))
            return
        if random.random() < READS_RUN and (run := re.search(r'href="(/runs/\d+/)', self.page)):
            self.read(run[1], "run page")
        path, fields = self._decision()
        self._open(self.send(path, "decide", next="/queue/next/", **fields) if path else "")
        if random.random() < READS_QUEUE:
            self.read("/queue/", "queue")

    def _open(self, address: str) -> None:
        self.page = (
            self.read(address, "queue item") if address.startswith("/queue/") and address != "/queue/" else ""
        )
        evidence = re.search(r'data-evidence-url="([^"]+)"', self.page)
        if (
            evidence and f'data-evidence-panel data-url="{evidence[1]}"' not in self.page
        ):  # else it came along
            self.read(evidence[1], "evidence beside the card", **{"HX-Request": "true"})

    def _decision(self) -> tuple[str, dict[str, str]]:
        """Where the decision goes and what it says; an empty address where the card offers none."""
        offered = {name: path for path, name in re.findall(r'action="(/candidates/\d+/(\w+)/)"', self.page)}
        fields = {name: value for name in ("item", "version") if (value := _hidden(self.page, name))}
        chance = random.random()
        if "approve" in offered and chance > OVERRIDES + UNSURE:
            return offered["approve"], fields
        if "override" in offered and chance > UNSURE:
            role = "supporting" if "is-primary" in self.page else "primary"
            return offered["override"], fields | {"role": role, "reason_code": "wrong_role"}
        if "choose" in offered:
            return offered["choose"], fields | {"role": "discarded"}
        return offered.get("unsure", ""), fields


def _hidden(page: str, name: str) -> str:
    found = re.search(rf'type="hidden" name="{name}" value="([^"]*)"', page)
    return found[1] if found else ""


class Analyst(Person):
    """Asks a question a minute and watches it being answered."""

    role = "analyst"
    fixed_count = ANALYSTS

    def wait_time(self) -> float:
        """Seconds between two questions."""
        return random.expovariate(1 / QUESTION_SECONDS)

    def on_start(self) -> None:
        """Nobody asks at the very first moment."""
        super().on_start()
        self.wait()

    @task
    def ask(self) -> None:
        """A question nobody asked before, until its answer stands on the page."""
        self.read("/ask/?collection=demo", "ask")
        number = random.randrange(10**6)
        run = self.send(
            "/ask/",
            "ask: sent",
            collection="demo",
            strategy="offline",
            text=f"Within how many days must the Client pay undisputed invoice {number}?",
        )
        if not run:
            return
        page = self.read(run, "run page")
        for _ in range(LONGEST_ANSWER_SECONDS):
            if 'hx-trigger="every 1s"' not in page:
                return
            self._sleep(1)
            page = self.read(run, "run progress", **{"HX-Request": "true"})
        self._failed("run progress", f"{run} was not answered in {LONGEST_ANSWER_SECONDS} s")

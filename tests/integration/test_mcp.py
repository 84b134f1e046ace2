"""An agent, played by the SDK's own client: over stdio and over streamable HTTP, with a person's token."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.integration.test_generated_client import token_of
from tests.ports import own_port
from tests.product import ROOT, RunningProduct, eventually
from workbench.stack.ports import LOOPBACK, is_free

pytestmark = pytest.mark.integration

QUESTION = "Who appoints the responsible officer?"
TOOLS = {"ask", "list_collections", "list_documents", "propose_label", "read_run", "search"}


def over_stdio(product: RunningProduct, token: str, play: Callable[[Client], Awaitable[None]]) -> None:
    """The agent plays with a server that its own client starts."""
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "workbench", "mcp"],
        cwd=ROOT,
        env={"WORKBENCH_URL": product.address, "WORKBENCH_TOKEN": token, "PYTHONPATH": str(ROOT)},
    )

    async def talk() -> None:
        async with Client(stdio_client(started)) as client:
            await play(client)

    anyio.run(talk)


async def called(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    content = result.structured_content or {}
    return content.get("result", content)


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return " ".join(getattr(part, "text", "") for part in result.content)


def test_an_agent_asks_and_reads_the_cited_answer_with_its_provenance(product: RunningProduct) -> None:
    token = token_of(product, "analyst", "view", "ask")
    runs: list[int] = []

    async def play(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        assert "demo" in [row["slug"] for row in await called(client, "list_collections")]
        documents = (await called(client, "list_documents", collection="demo"))["documents"]
        regulation = next(row for row in documents if row["name"] == "regulation-on-client-records.pdf")

        asked = await called(
            client, "ask", collection="demo", question=QUESTION, document=regulation["id"], strategy="offline"
        )
        assert asked["status"] == "done"
        (citation, *_) = asked["answer"]["sentences"][0]["citations"]
        source = next(one for one in asked["passages"] if one["candidate_id"] == citation["candidate_id"])
        assert source["role"] == "primary"
        assert source["reason"]
        assert source["found_by"]
        assert source["place"].startswith("p. ")
        assert "appoints a member of senior management" in source["text"].replace("\n", " ")
        runs.append(asked["id"])

        again = await called(client, "read_run", run=asked["id"], include_discarded=True)
        assert len(again["passages"]) == len(asked["passages"]) + asked["discarded"]

        found = await called(client, "search", collection="demo", text="responsible officer", limit=3)
        assert len(found["passages"]) == 3
        assert any("officer" in one["text"] for one in found["passages"])

    over_stdio(product, token, play)

    client = product.client("auditor")
    events = client.get("/api/v1/audit-events/", params={"page_size": 200}).json()["results"]
    assert any(event["action"] == "run.requested" or "token" in json.dumps(event) for event in events)
    rows = product.rows(
        "SELECT u.email FROM questions_run r JOIN accounts_user u ON u.id = r.requested_by_id WHERE r.id = %s",
        runs[0],
    )
    assert rows == [("analyst@demo.example",)]


def test_a_token_without_rights_gets_nothing(product: RunningProduct) -> None:
    token = token_of(product, "annotator", "label")

    async def play(client: Client) -> None:
        assert await called(client, "list_collections") == []
        assert (await called(client, "list_documents", collection="demo"))["documents"] == []
        assert re.search("403|404", await refused(client, "ask", collection="demo", question=QUESTION))
        assert re.search("403|404", await refused(client, "search", collection="demo", text=QUESTION))
        assert re.search("403|404", await refused(client, "read_run", run=1))

    over_stdio(product, token, play)

    async def unknown(client: Client) -> None:
        assert "401" in await refused(client, "list_collections")

    over_stdio(product, "wbk_nobody", unknown)


def test_a_proposed_label_is_a_models_and_needs_the_right_to_manage(product: RunningProduct) -> None:
    label = {
        "collection": "demo",
        "question": "Who appoints the officer, says an agent?",
        "document": "regulation-on-client-records.pdf",
        "page": 2,
        "line_from": 16,
        "line_to": 20,
        "role": "primary",
        "judge": "an-agent",
    }

    async def may(client: Client) -> None:
        assert (await called(client, "propose_label", **label))["added"] == 1

    async def may_not(client: Client) -> None:
        assert "404" in await refused(client, "propose_label", **label)

    async def wrong(client: Client) -> None:
        assert await refused(client, "propose_label", **{**label, "document": "nowhere.pdf"})

    over_stdio(product, token_of(product, "analyst", "view", "ask"), may_not)
    manager = token_of(product, "admin", "view", "manage")
    over_stdio(product, manager, may)
    over_stdio(product, manager, wrong)

    rows = product.rows("SELECT source, judge_name FROM labeling_label WHERE judge_name = 'an-agent'")
    assert rows == [("llm", "an-agent")]


@pytest.fixture
def served(product: RunningProduct) -> Iterator[str]:
    """The server over HTTP; it has no token of its own."""
    port = own_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", "mcp", "--http", "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, "WORKBENCH_URL": product.address, "WORKBENCH_TOKEN": ""},
    )
    try:
        eventually(lambda: not is_free(LOOPBACK, port), seconds=60, what="the MCP server listens")
        yield f"http://{LOOPBACK}:{port}/mcp"
    finally:
        process.terminate()
        process.wait(timeout=20)


def test_over_http_every_request_brings_its_own_token(product: RunningProduct, served: str) -> None:
    token = token_of(product, "analyst", "view")

    async def talk(headers: dict[str, str], play: Callable[[Client], Awaitable[None]]) -> None:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(served, http_client=http)) as client,
        ):
            await play(client)

    async def sees(client: Client) -> None:
        assert "demo" in [row["slug"] for row in await called(client, "list_collections")]

    async def sees_nothing(client: Client) -> None:
        assert "Authorization: Bearer" in await refused(client, "list_collections")

    anyio.run(talk, {"Authorization": f"Bearer {token}"}, sees)
    anyio.run(talk, {}, sees_nothing)

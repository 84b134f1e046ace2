"""The client of the product's HTTP API that the tools use."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx2
from mcp.server.mcpserver.exceptions import ToolError

TIMEOUT_S = 60.0
POLL_S = 0.5
ENDED = frozenset({"done", "failed", "cancelled"})


class Product:
    """One person's access to the API. Calls raise ``ToolError``, which the agent reads, if the API refuses."""

    def __init__(self, *, address: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}", "User-Agent": "arbiter-workbench-mcp"}
        self._client = httpx2.AsyncClient(
            base_url=f"{address.rstrip('/')}/api/v1/", headers=headers, timeout=TIMEOUT_S, trust_env=False
        )

    async def __aenter__(self) -> Product:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def get(self, path: str, **parameters: str | int | None) -> Any:
        """Returns the JSON of a path. Parameters that are None are omitted."""
        given = {name: value for name, value in parameters.items() if value is not None}
        return await self._answer("GET", path, params=given)

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Posts a JSON body and returns the response."""
        return await self._answer("POST", path, json=body)

    async def send_file(self, path: str, *, content: bytes, name: str, fields: dict[str, str]) -> Any:
        """Uploads a file with fields and returns the response."""
        return await self._answer("POST", path, files={"file": (name, content)}, data=fields)

    async def ended_run(self, run_id: int, *, seconds: float) -> dict[str, Any]:
        """Waits until the run has ended or the time is up, and returns it."""
        with anyio.move_on_after(seconds):
            while True:
                run: dict[str, Any] = await self.get(f"runs/{run_id}/")
                if run["status"] in ENDED:
                    return run
                await anyio.sleep(POLL_S)
        found: dict[str, Any] = await self.get(f"runs/{run_id}/")
        return found

    async def _answer(self, method: str, path: str, **options: Any) -> Any:
        try:
            response = await self._client.request(method, path, **options)
        except httpx2.HTTPError as error:
            raise ToolError(
                f"The workbench does not answer ({type(error).__name__}). Check WORKBENCH_URL."
            ) from error
        if response.is_success:
            return response.json()
        raise ToolError(_words(response))


def _words(response: httpx2.Response) -> str:
    """A problem document (RFC 9457) in one line."""
    try:
        problem = response.json()
    except json.JSONDecodeError:
        problem = {}
    said = problem.get("detail") or problem.get("title") if isinstance(problem, dict) else ""
    return f"{response.status_code}: {said or response.reason_phrase}"

"""``python -m tests.fake_llm --port 8100``: the fake server by itself, until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib

from tests.fake_llm.behaviours import BEHAVIOURS
from tests.fake_llm.server import FakeLLM


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.fake_llm", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 chooses a free one")
    parser.add_argument("--behaviour", choices=sorted(BEHAVIOURS), default="arbiter-keywords")
    parser.add_argument("--latency", action="store_true", help="take time per token like a real endpoint")
    options = parser.parse_args()
    with FakeLLM(host=options.host, port=options.port) as fake:
        fake.behave(options.behaviour)
        if options.latency:
            fake.slow()
        print(fake.base_url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            fake.wait()


if __name__ == "__main__":
    main()

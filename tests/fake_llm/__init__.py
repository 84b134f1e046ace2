"""An OpenAI-compatible server that behaves as scripted: over real HTTP, deterministic, with faults on order.

In tests: ``pytest_plugins = ["tests.fake_llm.plugin"]`` and the fixture ``fake_llm``. By hand:
``python -m tests.fake_llm --port 8100``.
"""

from tests.fake_llm.behaviours import arbiter_keywords, injection_obeying, judge, schema_echo
from tests.fake_llm.script import Capabilities, Fault, Latency, Script
from tests.fake_llm.server import FakeLLM
from tests.fake_llm.wire import FakeReply, FakeRequest

__all__ = [
    "Capabilities",
    "FakeLLM",
    "FakeReply",
    "FakeRequest",
    "Fault",
    "Latency",
    "Script",
    "arbiter_keywords",
    "injection_obeying",
    "judge",
    "schema_echo",
]

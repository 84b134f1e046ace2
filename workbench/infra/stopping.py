"""Whether this process is about to end: told by the application server, read by answers that go on."""

import threading

STOPPING = threading.Event()

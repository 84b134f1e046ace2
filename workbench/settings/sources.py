"""Sources: where documents may come from by themselves, and how often it is looked."""

from __future__ import annotations

from pathlib import Path

from . import env

#: Folders of the workers' machine below which a watched folder may lie. Empty: no folder is watched.
SOURCE_FOLDERS = [Path(word) for word in env.words("SOURCE_FOLDERS")]
#: Networks that are not public and that buckets and mailboxes may lie in all the same. Empty: none.
SOURCE_NETWORKS = env.networks("SOURCE_NETWORKS")
#: Further kinds of source, each the dotted path of a ``Kind`` (docs/sources.md).
SOURCE_KINDS = env.words("SOURCE_KINDS")
#: Seconds between two looks at a source.
SOURCE_SECONDS = env.integer("SOURCE_SECONDS", 10)
#: Sources that one machine looks at at the same time. A slow server holds a worker as long as a look may take; the
#: other workers of the queue must not wait for it.
SOURCES_AT_ONCE = env.integer("SOURCES_AT_ONCE", 1)

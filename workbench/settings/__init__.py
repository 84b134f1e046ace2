"""Settings per environment: ``base`` is shared; ``dev``, ``test`` and ``production`` build on it."""

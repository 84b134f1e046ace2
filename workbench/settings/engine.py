"""The engine: endpoints, embedder, parser limits."""

from __future__ import annotations

from . import env

OPENAI_API_KEY = env.text("OPENAI_API_KEY")
OPENAI_BASE_URL = env.text("OPENAI_BASE_URL")
#: Networks that are not public and in which models may be asked all the same, over http too. Empty: none.
MODEL_NETWORKS = env.networks("MODEL_NETWORKS")
LLM_CONFIGURED = bool(OPENAI_API_KEY or OPENAI_BASE_URL)
OPENAI_MODEL = env.text("OPENAI_MODEL", "gpt-5-mini")
#: Judges answers in evaluations; never the model that writes them. Empty: only figures that need no judge.
JUDGE_MODEL = env.text("JUDGE_MODEL")
#: USD per million tokens: input, cached input, output. Used for the ledger and the budgets.
LLM_PRICES = {"default": (0.25, 0.025, 2.0)}
LLM_TIMEOUT_SECONDS = env.integer("LLM_TIMEOUT_SECONDS", 60)
LLM_MAX_CONCURRENCY = env.integer("LLM_MAX_CONCURRENCY", 8)
#: So many failures in a row open an endpoint's circuit in a worker, 0 never; after the pause one call tries it again.
LLM_BREAKER_FAILURES, LLM_BREAKER_PAUSE_SECONDS = 5, 30.0

#: Folder with model.onnx and tokenizer.json; empty = the encoder that ships with the product.
EMBEDDER_FOLDER = env.text("EMBEDDER_FOLDER")
#: Name of an OpenAI embedding model; empty = the local ONNX encoder.
EMBEDDER_OPENAI_MODEL = env.text("EMBEDDER_OPENAI_MODEL")
EMBEDDING_BATCH = 64

MAX_UPLOAD_BYTES = env.integer("MAX_UPLOAD_BYTES", 200 * 1024 * 1024)
PARSER_MEMORY_BYTES = env.integer("PARSER_MEMORY_BYTES", 2 * 1024**3)
PARSER_SECONDS = env.integer("PARSER_SECONDS", 300)

DEFAULT_STRATEGY = env.text("DEFAULT_STRATEGY", "")  # empty = arbiter with an endpoint, else offline

#: Whether an installation without a model of its own starts with the one that ships.
SEED_MODEL = True

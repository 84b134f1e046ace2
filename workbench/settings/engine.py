"""The engine: endpoints, embedder, parser limits."""

from __future__ import annotations

from . import env
from .endpoints import REASONING_EFFORTS, endpoints, reasoning_of_all

OPENAI_API_KEY = env.text("OPENAI_API_KEY")
OPENAI_BASE_URL = env.text("OPENAI_BASE_URL")
#: Networks that are not public and in which models may be asked all the same, over http too. Empty: none.
MODEL_NETWORKS = env.networks("MODEL_NETWORKS")
#: Whether the variables above name an endpoint; MODEL_ENDPOINTS may name others.
LLM_CONFIGURED = bool(OPENAI_API_KEY or OPENAI_BASE_URL)
MODEL_ENDPOINTS = endpoints(env.text("MODEL_ENDPOINTS"))
OPENAI_MODEL = env.text("OPENAI_MODEL", "gpt-5-mini")
#: Judges answers in evaluations; never the model that writes them. Empty: only figures that need no judge.
JUDGE_MODEL = env.text("JUDGE_MODEL")
LLM_TIMEOUT_SECONDS = env.integer("LLM_TIMEOUT_SECONDS", 60)
#: How hard a reasoning model thinks; empty: as it likes. Left out where an endpoint does not take the level.
LLM_REASONING_EFFORT = env.choice("LLM_REASONING_EFFORT", REASONING_EFFORTS)
#: What a reasoning model may write for itself, beside each answer. Its thoughts count against the limit of its output.
LLM_REASONING_TOKENS = max(0, env.integer("LLM_REASONING_TOKENS", 4096))
#: Both by strategy, as JSON: {"arbiter": {"effort": "high", "tokens": 16000}}. MODEL_ENDPOINTS have their own.
LLM_REASONING = reasoning_of_all(env.text("LLM_REASONING"))
LLM_MAX_CONCURRENCY = env.integer("LLM_MAX_CONCURRENCY", 8)
#: So many failures in a row open an endpoint's circuit in a worker, 0 never; after the pause one call tries it again.
LLM_BREAKER_FAILURES, LLM_BREAKER_PAUSE_SECONDS = 5, 30.0

#: Folder with model.onnx and tokenizer.json; empty = the encoder that ships with the product.
EMBEDDER_FOLDER = env.text("EMBEDDER_FOLDER")
#: Name of an OpenAI embedding model; empty = the local ONNX encoder.
EMBEDDER_OPENAI_MODEL = env.text("EMBEDDER_OPENAI_MODEL")
#: Where that model answers and with which key; empty: as OPENAI_BASE_URL and OPENAI_API_KEY say.
EMBEDDER_BASE_URL = env.text("EMBEDDER_BASE_URL")
EMBEDDER_API_KEY = env.text("EMBEDDER_API_KEY")
#: Numbers of a vector to ask that model for; 0: as many as it gives.
EMBEDDER_DIMENSIONS = max(0, env.integer("EMBEDDER_DIMENSIONS", 0))
EMBEDDING_BATCH = 64

#: Where the words of documents are searched: an index on each host's disk, or tables of the database itself.
SEARCH_BACKEND = env.choice("SEARCH_BACKEND", ("embedded", "database")) or "embedded"

#: A cross-encoder behind a rerank API: the address before "/rerank", the model, the key. Empty: none.
RERANK_BASE_URL = env.text("RERANK_BASE_URL")
RERANK_MODEL = env.text("RERANK_MODEL", "rerank")
RERANK_API_KEY = env.text("RERANK_API_KEY")
#: "cohere" also for Jina, vLLM, LiteLLM and llama.cpp; "tei" for Hugging Face's Text Embeddings Inference.
RERANK_DIALECT = env.choice("RERANK_DIALECT", ("cohere", "tei")) or "cohere"

#: Folder with model.onnx and tokenizer.json of a cross-encoder that scores here, where none above may. Empty: none.
RERANK_FOLDER = env.text("RERANK_FOLDER")

MAX_UPLOAD_BYTES = env.integer("MAX_UPLOAD_BYTES", 200 * 1024 * 1024)
PARSER_MEMORY_BYTES = env.integer("PARSER_MEMORY_BYTES", 2 * 1024**3)
PARSER_SECONDS = env.integer("PARSER_SECONDS", 300)
#: What one document may hold. Every passage is embedded and every heading shown: a small file can ask for a lot.
MAX_DOCUMENT_HEADINGS = env.integer("MAX_DOCUMENT_HEADINGS", 10_000)
MAX_DOCUMENT_LINES = env.integer("MAX_DOCUMENT_LINES", 300_000)
MAX_DOCUMENT_PASSAGES = env.integer("MAX_DOCUMENT_PASSAGES", 40_000)

DEFAULT_STRATEGY = env.text("DEFAULT_STRATEGY", "")  # empty = arbiter with an endpoint, else offline

#: An MLflow server (or folder) to which trainings are logged, with the extra "mlflow"; empty: none.
MLFLOW_TRACKING_URI = env.text("MLFLOW_TRACKING_URI")
MLFLOW_EXPERIMENT = env.text("MLFLOW_EXPERIMENT", "arbiter-workbench")
#: Whether an installation without a model of its own is served by the one that ships. Not now: it loses more evidence
#: than the rules' own estimate since late interaction (docs/evaluation.md).
SEED_MODEL = False
#: Share of a collection's cards that are decided blind where its admins set no other: people's blind decisions are what
#: models are measured on.
BLIND_SHARE = 0.1
#: How long the page and the API wait for the worker to say which rows of an imported file train nothing.
LABEL_MATCH_SECONDS = 8.0

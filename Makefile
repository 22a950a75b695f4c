# The front door.
#   make demo     set up everything, then the main job: trace an assembler, measure it on virtual clusters, report
#   make test     set up everything, then all checks and the tests that every change runs: what CI runs
#   make check    format, lint, types, architecture, C warnings (part of make test)
#   make test-full  make test, and all file systems, ssh, guests, kills of the service, the browser, the book
#   make test-aws, test-openstack, test-manila, test-packages
#                 an emulated AWS, a real Nova, a real Manila, packages in clean roots of Debian; each installs what it needs
#   make setup    leaves .venv/bin/wavetank
#   make book     the documentation as one site, in build/book/site
#   make bench    benchmarks: ratios against peers or limits of the same run
#   make smoke-aws  a small cluster with your AWS account: prints the price, asks, less than 0.20 USD, leaves nothing
#   make clean    removes what was built, not what was measured (demo-out)
# tests/tiers.py says which test belongs to which of them. Three processes run the tests, as tests of clusters often wait (WORKERS=1: one).

SHELL := /bin/bash
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 3
NATIVE := build/native
NOVA := build/nova
MANILA := build/manila
NATIVE_SOURCES := $(shell find native -type f)

# After the packages of the system, what does not wait for each other is made side by side.
SIDE_BY_SIDE = @$(MAKE) --no-print-directory --jobs=2 --output-sync=line

.PHONY: setup setup-test demo test check book bench smoke-aws clean packages packages-test made made-test check-types check-python check-c \
  test-full test-aws test-openstack test-manila test-packages

setup: packages
	@packaging/install-debian-packages file-systems
	$(SIDE_BY_SIDE) made

setup-test: packages-test
	$(SIDE_BY_SIDE) made-test

made: $(VENV)/.installed $(NATIVE)/.installed

made-test: $(VENV)/.installed-dev $(NATIVE)/.installed

packages:
	@packaging/install-debian-packages build run demo

packages-test:
	@packaging/install-debian-packages build run demo test

$(VENV)/bin/python: | packages
	@echo "setup: virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "setup: Python 3.11 or later is needed; name one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml packaging/constraints.txt | $(VENV)/bin/python
	@echo "setup: Python packages of wavetank"
	@$(BIN)/pip install --quiet --disable-pip-version-check -c packaging/constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml packaging/constraints.txt | $(VENV)/bin/python
	@echo "setup: Python packages of wavetank and of its tests"
	@$(BIN)/pip install --quiet --disable-pip-version-check -c packaging/constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.installed

$(NATIVE)/.installed: $(NATIVE_SOURCES) | packages
	@echo "setup: C parts (tracer, replay, NFS mount)"
	@cmake -S native -B $(NATIVE) -G Ninja -DCMAKE_INSTALL_PREFIX=$(CURDIR)/$(NATIVE)/install >$(NATIVE).log 2>&1 \
	  && cmake --build $(NATIVE) >>$(NATIVE).log 2>&1 && cmake --install $(NATIVE) >>$(NATIVE).log 2>&1 \
	  || { tail -n 40 $(NATIVE).log >&2; echo "setup: the C parts do not build; all output is in $(NATIVE).log" >&2; exit 1; }
	@touch $@

# The public suite of the Container Storage Interface: its test is skipped where it cannot be built.
CSI_SANITY := github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity@v5.6.0

build/csi-sanity: | build
	@echo "setup: csi-sanity"
	@GOBIN=$(CURDIR)/build go install $(CSI_SANITY) >build/csi-sanity.log 2>&1 \
	  || echo "setup: csi-sanity is not built, and its test is skipped: it takes Go 1.25 or later; all output is in build/csi-sanity.log" >&2

# Nova and Manila for tests, each in an environment of its own.
build/%/.installed: packaging/%-constraints.txt | build packages
	@echo "setup: $*, in $(@D)"
	@rm -rf $(@D)
	@{ $(PYTHON) -m venv $(@D) && $(@D)/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps -r $<; } >$(@D).log 2>&1 \
	  && touch $@ \
	  || { rm -rf $(@D); echo "setup: $* cannot be installed; all output is in $(@D).log" >&2; exit 1; }

$(NATIVE)/.installed: | build
build:
	@mkdir -p $@

demo: packages
	$(SIDE_BY_SIDE) made
	@PATH="$(CURDIR)/$(BIN):$$PATH" examples/abyss/demo

check: packages-test
	$(SIDE_BY_SIDE) made-test check-types check-python check-c

check-types: $(VENV)/.installed-dev
	$(BIN)/mypy

check-python: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

check-c: $(NATIVE)/.installed
	find native -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run --Werror
	@! grep -n "warning:" $(NATIVE).log

PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --tier

test: check
	$(PYTEST) test

test-full: check build/csi-sanity
	@packaging/install-debian-packages file-systems test-full
	$(PYTEST) full

test-aws: setup-test
	$(PYTEST) aws

test-openstack: setup-test $(NOVA)/.installed
	$(PYTEST) openstack

test-manila: setup-test $(MANILA)/.installed
	@packaging/install-debian-packages test-manila
	$(PYTEST) manila

test-packages: setup-test
	@packaging/install-debian-packages packages
	$(PYTEST) packages

bench: setup-test
	@for program in benchmarks/*/run; do echo "== $$program"; PATH="$(CURDIR)/$(BIN):$$PATH" $$program || exit 1; done

book: setup
	@$(BIN)/python -c 'import zensical' 2>/dev/null || $(BIN)/pip install --quiet --disable-pip-version-check -c packaging/constraints.txt -e '.[book]'
	@$(BIN)/python -m book

smoke-aws: setup
	@$(BIN)/python -c 'import boto3' 2>/dev/null || $(BIN)/pip install --quiet --disable-pip-version-check -c packaging/constraints.txt -e '.[aws]'
	@$(BIN)/wavetank cluster smoke aws $(if $(REGION),--region $(REGION)) $(if $(PRICES),--prices $(PRICES))

clean:
	rm -rf build $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -prune -exec rm -rf {} +

# `make` or `make help` lists the targets. Separate areas are in the .mk files of their folders.
SHELL := /bin/sh
.SHELLFLAGS := -euc
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
# In order: the targets share one machine, and a build during a run would distort its figures. Lints measure nothing.
ifneq ($(MAKECMDGOALS),lints)
.NOTPARALLEL:
endif
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules --no-print-directory

PYTHON ?= python3
VENV := .venv/bin
# exec replaces the recipe's shell, so that a SIGTERM to make reaches the program, which then cleans up.
RUN := exec $(VENV)/python

# Without Python's stored bytecode, every process would compile every module that it imports.
unexport PYTHONDONTWRITEBYTECODE

# The settings on the command line; make defines this only if there are some.
MAKEOVERRIDES ?=

include mesh/provision/provision.mk
include proto/proto.mk
include load/load.mk

# Commands and their settings, such as `make topology=hybrid bench`, are rows of observability/hopwise/commands.toml.
# Only Python reads them: wrong settings are refused before anything is installed. The shell gets each value in quotes,
# as it was typed, and make never expands it.
quoted = '$(subst ','\'',$(1))'
# A Ctrl-C ends make; these questions take a moment and ignore it.
TABLE := trap '' INT; PYTHONPATH=load:mesh:observability $(PYTHON) -S -m experiment.make
# A word for each setting on the command line, `=topology`, and for each command: `chaos:|setup|.tools/toxiproxy.stamp`.
COMMANDS := $(shell $(TABLE) check $(call quoted,$(MAKECMDGOALS)) $(call quoted,$(MAKEOVERRIDES)))
ifneq ($(filter bench:%,$(COMMANDS)),)
# make expands the variables that it exports.
unexport $(patsubst =%,%,$(filter =%,$(COMMANDS)))
COMMANDS := $(filter-out =%,$(COMMANDS))
$(foreach command,$(COMMANDS),$(eval .PHONY: $(firstword $(subst :, ,$(command))))$(eval $(subst |, ,$(command))))
COMMANDS := $(foreach command,$(COMMANDS),$(firstword $(subst :, ,$(command))))
else
$(error $(or $(filter-out refused,$(COMMANDS)),$(PYTHON) is not Python 3.11 or newer: give PYTHON=/path/to/python3))
endif

$(COMMANDS):
	@$(shell $(TABLE) line $@ $(call quoted,$(MAKEOVERRIDES)))

# Anything that is not a target: usually a mistyped command.
.DEFAULT:
	@$(TABLE) unknown $(call quoted,$@) $(call quoted,$(MAKEFILE_LIST))

##@ Prove

.PHONY: bench-budgets
bench-budgets: setup ## Measure how fast traces become hop budgets, and the analysis of a run of 10 million spans
	@$(RUN) -m proofs benchmark
	@$(RUN) -m proofs benchmark-budgets

# Before set-up, which takes minutes.
.PHONY: needs-prometheus
needs-prometheus:
	@command -v "$${PROMETHEUS_BIN:-prometheus}" >/dev/null || { echo 'monitor=on needs Prometheus: install it (Debian and Ubuntu: apt-get install prometheus), or name a program with PROMETHEUS_BIN.' >&2; exit 1; }

##@ Compose

.PHONY: gateway
gateway: $(ENVIRONMENT) ## Write gateway/: the configuration of both edges for hybrid
	@$(RUN) -m mesh.edge.rendered

.PHONY: lint-compose
lint-compose: $(ENVIRONMENT)
	@$(RUN) -m mesh compose --check
	@$(VENV)/check-jsonschema --quiet --builtin-schema vendor.compose-spec compose.yaml

# The Go module proxy has this version. The program could also run checkers of shell and Python, which are turned off.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
.PHONY: lint-host
lint-host: $(ENVIRONMENT) .tools/bin/shopload
	@CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-trimpath $(GO) run $(ACTIONLINT) -shellcheck= -pyflakes= .github/workflows/*.yml
	@$(VENV)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff

##@ Develop

# Test files run side by side, and the tests of a file in order. There are more workers than cores, as many tests wait
# for processes. A test that hangs fails under its name.
SIDE_BY_SIDE := --numprocesses=4 --dist=loadfile --no-loadscope-reorder --timeout=300
PYTEST_FLAGS ?=
.PHONY: test
test: setup test-go test-python ## All tests except the end-to-end ones: unit, integration, Go

.PHONY: test-python
test-python: setup test-istio
	@$(VENV)/pytest -q $(SIDE_BY_SIDE) $(PYTEST_FLAGS) -m 'not e2e'

.PHONY: test-unit
test-unit: $(ENVIRONMENT) ## Tests that start no processes
	@$(VENV)/pytest -q $(SIDE_BY_SIDE) -m 'not e2e and not integration'

.PHONY: test-e2e
test-e2e: setup ## End-to-end tests: the make targets, as a user runs them
	@$(VENV)/pytest -q -m e2e

.PHONY: lint-settings
lint-settings:
	@$(TABLE) page --check

CODE := services graphql-gateway rest-gateway mesh load observability proto
.PHONY: lint
lint: $(ENVIRONMENT) ## Check style, types, import directions, the contract, its stubs, the English and links
	@$(MAKE) --jobs="$$(nproc)" --output-sync lints

.PHONY: lints lint-types lint-style
lints: lint-types lint-go lint-proto lint-host lint-settings lint-istio lint-manifests lint-compose lint-federation lint-prose lint-style docs

lint-types: $(ENVIRONMENT)
	@$(VENV)/mypy $(CODE) services/tests/typed_clients.py

lint-style: $(ENVIRONMENT)
	@$(VENV)/ruff check $(CODE) .ci docs/site
	@$(VENV)/ruff format --check $(CODE) .ci docs/site
	@$(VENV)/lint-imports

# Every warning fails it, such as a link to a page, heading, file or picture that is not there.
.PHONY: docs
docs: .tools/docs.stamp .tools/mermaid.stamp ## Build the documentation as a site with search, in site/
	@rm -rf site
	@.tools/docs/bin/python -m sphinx --quiet --fail-on-warning --fresh-env --conf-dir=docs/site --doctree-dir=.tools/docs/doctrees . site

.PHONY: format
format: $(ENVIRONMENT) format-go ## Format the code
	@$(VENV)/ruff check --fix -q $(CODE)
	@$(VENV)/ruff format $(CODE)

.PHONY: clean-versions
clean-versions: ## Remove the worktrees and environments that compare-versions made
	@rm -rf .tools/versions; git worktree prune

# A note of what a run left in a cluster stays until a run, or `clean`, has removed that.
.PHONY: clean
clean: ## Remove build outputs and run data of this checkout; keeps results/ and the shared cache
	@if [ -x $(VENV)/python ]; then $(VENV)/python -m mesh clean || true; fi
	@find .run -name 'namespace*.json' 2>/dev/null | grep -q . || rm -rf .run
	@rm -rf .venv .tools dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: clean-results
clean-results: ## Remove results/
	@rm -rf results

.PHONY: help
help: ## Show this help
	@$(TABLE) help $(call quoted,$(MAKEFILE_LIST))

help-%:
	@$(TABLE) help-of $(call quoted,$*)

.PHONY: settings
settings: ## Write docs/settings.md after changing the table of commands
	@$(TABLE) page

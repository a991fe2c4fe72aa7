# `make` or `make help` shows what there is. Areas of their own are in the .mk files beside them.
SHELL := /bin/sh
.SHELLFLAGS := -euc
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
# In order: the targets share one machine, and a run must not be measured beside a build.
.NOTPARALLEL:
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules --no-print-directory

PYTHON ?= python3
VENV := .venv/bin
RUN := $(VENV)/python
# Where nothing is installed nothing can run.
INSTALLED := [ -x $(RUN) ] || { echo "Nothing runs: nothing is installed."; exit 0; };

# Without the bytecode that Python keeps, every process compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# Settings of a run, given as `make topology=hybrid bench`. Each command checks the values that it gets.
BENCH := topology profile rate seed workload trace scale edge mesh mtls http rtt connections delay vus think
COMPARE := topologies blocks resume retry $(filter-out topology,$(BENCH))
SWEEP := topologies objective profile start max seed workload trace http connections
STRESS := topologies users think profile seed workload trace http connections
RUNS := a b threshold metrics allow-suspect out
SETTINGS := $(BENCH) $(RUNS) $(filter-out $(BENCH),$(COMPARE)) objective start max users run journey wait samples \
  hops sizes kills experiments traces
UP := topology seed scale edge mesh mtls http rtt delay
$(foreach name,$(SETTINGS),$(eval $(name) ?=))

include mesh/provision/provision.mk
include proto/proto.mk
include load/load.mk

given := $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(v)))),$(v)))
unknown := $(filter-out $(SETTINGS) PYTHON JAEGER_BIN SHOP_PORT_BASE HOPWISE_CACHE DATABASE_URL MAKEFLAGS SHELL,$(given))
ifneq ($(strip $(unknown)),)
$(error unknown setting: $(unknown); valid: $(SETTINGS), and SHOP_PORT_BASE, DATABASE_URL, JAEGER_BIN, HOPWISE_CACHE, PYTHON)
endif

# `--name 'value'` for each of these settings that was given; one that the target would ignore is a mistake.
quoted = '$(subst ','\'',$(1))'
ignored = $(filter-out $(1) wait,$(filter $(SETTINGS),$(given)))
refused = $(if $(call ignored,$(1)),$(error $@ has no setting $(call ignored,$(1)); it has: $(1)))
options = $(call refused,$(1))$(foreach name,$(1),$(if $($(name)),--$(name) $(call quoted,$($(name)))))

##@ Measure

.PHONY: bench
bench: setup ## Start a topology, replay the load, print latency and hop budget, write results/
	@$(RUN) -m experiment bench $(call options,$(BENCH))

.PHONY: compare
compare: setup ## Compare all topologies, or topologies=a,b, in random blocks under one load, with a report
	@$(RUN) -m experiment compare $(call options,$(COMPARE))

.PHONY: sweep
sweep: setup ## Find the highest rate that each topology holds with p99 under objective=100ms
	@$(RUN) -m experiment sweep $(call options,$(SWEEP))

.PHONY: stress
stress: setup ## Load topologies with users=100,300,1000,3000,10000 in a closed loop, and count what fails
	@$(RUN) -m experiment stress $(call options,$(STRESS))

.PHONY: compare-runs
compare-runs: setup ## Hold run b against run a (a change, a switch); threshold=10% fails if b is slower by more
	@$(RUN) -m experiment compare-runs $(call options,$(RUNS))

.PHONY: parity
parity: setup ## Compare the answers and effects of all topologies, or of topologies=a,b
	@$(RUN) -m experiment parity $(call options,topologies samples seed http)

.PHONY: report
report: setup ## Make a run's summary, report.html, report.md and csv/ again from its files
	@$(RUN) -m experiment report $(call options,run)

.PHONY: trace
trace: setup ## Show a run's p50 and p99 exemplars, hop by hop, and serve them in Jaeger
	@$(RUN) -m experiment trace $(call options,run journey topology) $(if $(filter no,$(wait)),--no-wait)

.PHONY: audit
audit: setup ## Check the shop's invariants on what `make up` runs, else on what the last run left
	@$(RUN) -m experiment audit $(call options,run)

##@ Prove

.PHONY: prove-statistics
prove-statistics: setup ## Simulate experiments: do intervals hold the truth, is nothing shown in A/A, how much is shown of what is there?
	@$(RUN) -m experiment prove coverage $(call options,experiments seed)
	@$(RUN) -m experiment prove aa $(call options,experiments seed)
	@$(RUN) -m experiment prove power $(call options,experiments seed)

.PHONY: prove-siblings
prove-siblings: setup ## Simulate traces whose waits are known: does any rule for overlapping spans beat the one in use?
	@$(RUN) -m experiment prove siblings $(call options,traces seed)

.PHONY: prove-delays
prove-delays: setup ## Slow hops=payment,product,user by sizes=500us,1ms,2ms,5ms and find each again, about 20 min
	@$(RUN) -m experiment prove delays $(call options,hops sizes blocks seed resume)

.PHONY: prove-resume
prove-resume: setup ## Kill an experiment kills=10 times at random moments, resume it, and look for what was lost
	@$(RUN) -m experiment prove resume $(call options,kills blocks seed)

##@ Run

.PHONY: up
up: setup ## Start a topology, print its URLs, and leave it running
	@$(RUN) -m mesh up --detach $(call options,$(UP))

.PHONY: down
down: ## Stop what `make up` left running
	@$(INSTALLED) $(RUN) -m mesh down

.PHONY: status
status: ## Show what runs
	@$(INSTALLED) $(RUN) -m mesh status

##@ Develop

# Files of tests run side by side, each file's in order; more of them than there are cores, as many wait for processes.
SIDE_BY_SIDE := --numprocesses=3 --dist=loadfile --no-loadscope-reorder
.PHONY: test
test: setup test-go ## All tests: unit, integration, Go
	@$(VENV)/pytest -q $(SIDE_BY_SIDE) -m 'not e2e'

.PHONY: test-unit
test-unit: $(ENVIRONMENT) ## The tests that start nothing
	@$(VENV)/pytest -q $(SIDE_BY_SIDE) -m 'not e2e and not integration'

.PHONY: test-e2e
test-e2e: setup ## The make targets, as a user runs them
	@$(VENV)/pytest -q -m e2e

.PHONY: chaos
chaos: setup ## Kill the order service during checkouts and audit what is left; kills=200
	@$(RUN) -m chaos --kills $(or $(kills),200)

CODE := services graphql-gateway rest-gateway mesh load observability proto
.PHONY: lint
lint: $(ENVIRONMENT) lint-proto lint-go ## Style, types, import directions, contract, stale stubs
	@$(VENV)/ruff check $(CODE) .ci
	@$(VENV)/ruff format --check $(CODE) .ci
	@$(VENV)/mypy $(CODE)
	@$(VENV)/lint-imports

.PHONY: format
format: $(ENVIRONMENT) format-go ## Put the code into shape
	@$(VENV)/ruff check --fix -q $(CODE)
	@$(VENV)/ruff format $(CODE)

.PHONY: clean
clean: ## Remove what was built and run here; keeps results/ and the shared cache
	@if [ -x $(RUN) ]; then $(RUN) -m mesh clean || true; fi
	@rm -rf .run .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: clean-results
clean-results: ## Remove results/
	@rm -rf results

.PHONY: help
help: ## Show this
	@echo "Which protocol between your clients and four services, and where does the wait go? Measured, hop by hop."
	@awk 'BEGIN {FS = ":.*?## "} \
	  /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-zA-Z0-9_-]+:.*?## / {printf "  %-16s %s\n", $$1, $$2}' $(filter %Makefile %.mk,$(MAKEFILE_LIST))
	@echo
	@echo "Settings (make topology=hybrid profile=smoke bench):"
	@echo "  topology=NAME|FILE  profile=smoke|compare|quick|full  rate=JOURNEYS_PER_S  seed=N  trace=0..1  scale=1..100"
	@echo "  workload=NAME|FILE  edge=envoy|none  mesh=none  mtls=off  http=1|2  rtt=0  delay=payment:2ms,user:500us"
	@echo "  connections=1..256  vus=N think=0s (closed loop: virtual users in place of a rate)"
	@echo "  sweep: objective=100ms  start=20  max=1000 (journeys/s)    stress: users=N,N,...  think=10s"
	@echo "  compare-runs: a=FOLDER  b=latest|FOLDER  threshold=10%  metrics=p50,p99  allow-suspect=yes  out=FILE"
	@echo "  compare: topologies=NAME,FILE  blocks=5  retry=1 (repeat SUSPECT trials)  resume=latest|FOLDER"
	@echo "  trace, audit, report: run=latest|FOLDER  journey=NAME  wait=no    parity: topologies=NAME,NAME  samples=N"
	@echo "  prove-delays: hops=NAME,NAME  sizes=2ms,500us  blocks=4  resume=latest|FOLDER    prove-resume, chaos: kills=N"
	@echo "  prove-statistics: experiments=1000 (of each kind)    prove-siblings: traces=5000 (of each cause)"
	@echo "Environment: SHOP_PORT_BASE (18000), DATABASE_URL, JAEGER_BIN, HOPWISE_CACHE."

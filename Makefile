# `make` or `make help` shows what there is. Areas of their own are in the .mk files beside them.
SHELL := /bin/sh
.SHELLFLAGS := -euc
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
# In order: the targets share one machine, and a run must not be measured beside a build. Lints measure nothing.
ifneq ($(MAKECMDGOALS),lints)
.NOTPARALLEL:
endif
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules --no-print-directory

PYTHON ?= python3
VENV := .venv/bin
# In the place of the recipe's shell, so that a SIGTERM that make is sent reaches the program, which then cleans up.
RUN := exec $(VENV)/python
# Where nothing is installed nothing can run.
INSTALLED := [ -x $(VENV)/python ] || { echo "Nothing is running: nothing is installed."; exit 0; };

# Without the bytecode that Python keeps, every process compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# Settings of a run, given as `make topology=hybrid bench`: each target's, from the options of its command. Each command
# checks the values that it gets.
include settings.mk
SETTINGS += wait
$(foreach name,$(SETTINGS),$(eval $(name) ?=))

include mesh/provision/provision.mk
include proto/proto.mk
include load/load.mk

# Environment of `make images` and of what uses them.
IMAGES := IMAGE_PREFIX IMAGE_TAG IMAGE_ENGINE IMAGE_BUILD_ARGS KONG_IMAGE
given := $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(v)))),$(v)))
unknown := $(filter-out $(SETTINGS) PYTHON JAEGER JAEGER_BIN JAEGER_UI JAEGER_RELEASES KONG_BIN PROMETHEUS_BIN KUBECTL_BIN $(IMAGES) SHOP_PORT_BASE HOPWISE_CACHE HOPWISE_MESH_CA DATABASE_URL CACHE_URL MAKEFLAGS SHELL,$(given))
ifneq ($(strip $(unknown)),)
$(error unknown setting: $(unknown); valid: $(SETTINGS), and SHOP_PORT_BASE, DATABASE_URL, CACHE_URL, JAEGER (release, build), JAEGER_BIN, JAEGER_UI, JAEGER_RELEASES, KONG_BIN, PROMETHEUS_BIN, KUBECTL_BIN, $(IMAGES), HOPWISE_CACHE, HOPWISE_MESH_CA, PYTHON)
endif

# `--name 'value'` for each of these settings that was given; one that the target would ignore is a mistake.
quoted = '$(subst ','\'',$(1))'
ignored = $(filter-out $(SETTINGS_$@) wait,$(filter $(SETTINGS),$(given)))
refused = $(if $(ignored),$(error $@ has no setting $(ignored); it has: $(SETTINGS_$@)))
options = $(refused)$(foreach name,$(SETTINGS_$@),$(if $($(name)),--$(name) $(call quoted,$($(name)))))

##@ Measure

.PHONY: bench
bench: setup ## Start a topology, replay a tape, print latencies and hop budget, write results/
	@$(RUN) -m experiment bench $(options)

.PHONY: compare
compare: setup ## Compare topologies under identical load, in randomized blocks, with a report; topologies=a,b
	@$(RUN) -m experiment compare $(options)

# Without steps, Istio on this machine is one of them.
.PHONY: ladder
comma := ,
ladder: setup $(if $(or $(if $(steps),,all),$(filter istio,$(subst $(comma), ,$(steps)))),.tools/istio.stamp) ## Measure what edge, sidecars, mTLS, Istio, tracing and database add, one by one, each twice
	@$(RUN) -m experiment ladder $(options)

.PHONY: rtt
rtt: setup ## Compare topologies at rtts=0,20,50,100 ms from their customers, and check the predicted break-even distances, about 30 min
	@$(RUN) -m experiment rtt $(options)

.PHONY: rates
rates: setup ## Compare topologies at rates=10,20,30,40,60 journeys a second, or 20%,... of what each holds, about 25 min
	@$(RUN) -m experiment rates $(options)

.PHONY: isolate
isolate: setup ## Measure how much faster others get without journey=bulk_lines, and compare it with the prediction
	@$(RUN) -m experiment isolate $(options)

.PHONY: studies
studies: setup ## Replay published studies by their own designs: a verdict on each of their claims, and why
	@$(RUN) -m experiment studies $(options)

.PHONY: sweep
sweep: setup ## Find the highest rate that each topology sustains with p99 under objective=100ms
	@$(RUN) -m experiment sweep $(options)

.PHONY: stress
stress: setup ## Load topologies with 100 to 10,000 users in a closed loop and count failures; users=100,300,...
	@$(RUN) -m experiment stress $(options)

.PHONY: watch
watch: setup ## Send customers news of their orders, by streams and polling: how late it arrives, what it costs
	@$(RUN) -m experiment watch $(options)

.PHONY: overload
overload: setup ## Load topologies with factors=1,2,5,10 times what they hold: what still works, how late, how soon they recover
	@$(RUN) -m experiment overload $(options)

.PHONY: chaos
chaos: setup .tools/toxiproxy.stamp ## Kill, stop, cut off and restart components under load: what fails, how soon it recovers, whether data are lost; faults=kill,cut
	@$(RUN) -m experiment chaos $(options)

.PHONY: soak
soak: setup ## Load a topology for minutes=60 and report what grows: memory, descriptors, threads, connections, latency
	@$(RUN) -m experiment soak $(options)

.PHONY: connections
connections: setup ## Hold 0, 10, 100 and 1,000 open connections and print each component's memory
	@$(RUN) -m experiment connections $(options)

.PHONY: compare-runs
compare-runs: setup ## Compare run b with run a, such as before and after a change; threshold=10% fails if b is slower by more
	@$(RUN) -m experiment compare-runs $(options)

.PHONY: decide
decide: setup ## Say which topology to choose, by channel: the fastest, the cheapest, the fewest bytes; run=...
	@$(RUN) -m experiment decide $(options)

.PHONY: parity
parity: setup ## Check that topologies give the right answers and write the same data; topologies=a,b
	@$(RUN) -m experiment parity $(options)

.PHONY: conformance
conformance: setup ## Check that a component in another language behaves like ours: component=product command=./product, or implementation=product:go
	@$(RUN) -m experiment conformance $(options)

.PHONY: report
report: setup ## Rebuild a run's summary, report.html, report.md and csv/ from its files
	@$(RUN) -m experiment report $(options)

.PHONY: picture
picture: $(ENVIRONMENT) ## Draw the README's picture, docs/example/answer.svg, from the example comparison's report.md
	@$(RUN) -m hops picture docs/example

.PHONY: trace
trace: setup ## Print a run's exemplar traces (nearest to p50 and p99) and serve them in Jaeger
	@$(RUN) -m experiment trace $(options) $(if $(filter no,$(wait)),--no-wait)

.PHONY: audit
audit: setup ## Check the shop's invariants in the running topology, else in the last run's data
	@$(RUN) -m experiment audit $(options)

##@ Prove

.PHONY: prove-statistics
prove-statistics: setup ## Check coverage, false positives and power of the statistics on synthetic experiments
	@$(RUN) -m experiment prove coverage $(options)
	@$(RUN) -m experiment prove aa $(options)
	@$(RUN) -m experiment prove power $(options)
	@$(RUN) -m experiment prove precision $(options)
	@$(RUN) -m experiment prove trace-sets $(options)

.PHONY: prove-meetings
prove-meetings: setup ## Find which journeys wait for which others in synthetic experiments with a known answer
	@$(RUN) -m experiment prove meetings $(options)

.PHONY: prove-observer
prove-observer: setup ## Treat untraced journeys of run=latest as traced, and count how often tracing seems to cost something
	@$(RUN) -m experiment prove observer $(options)

.PHONY: prove-siblings
prove-siblings: setup ## Compare rules for overlapping spans on synthetic traces whose true waits are known
	@$(RUN) -m experiment prove siblings $(options)

.PHONY: prove-delays
prove-delays: setup ## Inject delays of sizes=500us,1ms,... into hops=payment,... and check that each is found, about 20 min
	@$(RUN) -m experiment prove delays $(options)

.PHONY: prove-what-if
prove-what-if: setup ## Predict from traces how delays change p50 and p99, then inject them and measure, about 50 min
	@$(RUN) -m experiment prove what-if $(options)

.PHONY: prove-queues
prove-queues: setup ## Block event loops for known times and check that budgets show the wait, about 11 min
	@$(RUN) -m experiment prove queues $(options)

.PHONY: prove-account
prove-account: setup ## Measure what recording event loops costs in a running shop, about 45 min
	@$(RUN) -m experiment prove account $(options)

.PHONY: prove-conformance
prove-conformance: setup ## Seed a fault into each of 55 copies of our programs and check that conformance fails for all of them, about 8 min
	@$(RUN) -m experiment prove conformance $(options)

.PHONY: prove-resume
prove-resume: setup ## Kill an experiment kills=10 times at random moments, resume it, and check that nothing was lost
	@$(RUN) -m experiment prove resume $(options)

.PHONY: prove-sagas
prove-sagas: setup ## Kill order and notification kills=200 times during checkouts, then check the shop's invariants; replicas=order:2
	@$(RUN) -m chaos.prove_sagas $(options)

.PHONY: fuzz
fuzz: setup ## Send bad inputs to REST, GraphQL, gRPC, the edge and the harness for minutes=10: no crash, no 5xx, no leaked internals
	@$(RUN) -m fuzz $(options)

.PHONY: prove-cache
prove-cache: setup ## Race races=10000 product changes against readers while the cache is killed kills=20 times
	@$(RUN) -m chaos.prove_cache $(options)

.PHONY: prove-fairness
prove-fairness: setup ## Attack a shop with 16 hostile clients and count which requests of others succeed, about 25 min; attacks=pings,logins
	@$(RUN) -m chaos.prove_fairness $(options)

.PHONY: bench-budgets
bench-budgets: setup ## Measure how fast traces become hop budgets, and the analysis of a run of 10 million spans
	@$(RUN) -m hops benchmark
	@$(RUN) -m hops benchmark-budgets

##@ Run

.PHONY: up
up: $(if $(filter on,$(monitor)),needs-prometheus) setup ## Start a topology, print its URLs, and leave it running
	@$(RUN) -m mesh up --detach $(options)

# Before set-up, which takes minutes.
.PHONY: needs-prometheus
needs-prometheus:
	@command -v "$${PROMETHEUS_BIN:-prometheus}" >/dev/null || { echo 'monitor=on needs Prometheus: install it (Debian and Ubuntu: apt-get install prometheus), or name a program with PROMETHEUS_BIN.' >&2; exit 1; }

.PHONY: down
down: ## Stop the topology that `make up` started
	@$(INSTALLED) $(RUN) -m mesh down

.PHONY: status
status: ## Show the running components
	@$(INSTALLED) $(RUN) -m mesh status

##@ Kubernetes

.PHONY: manifests
manifests: $(ENVIRONMENT) ## Write a topology's Kubernetes manifests: a Kustomize base, and overlays for a bench and for production
	@$(RUN) -m mesh manifests $(options)

##@ Compose

.PHONY: compose
compose: $(ENVIRONMENT) ## Write compose.yaml and compose/; topology=NAME for another topology
	@$(RUN) -m mesh compose $(options)

.PHONY: gateway
gateway: $(ENVIRONMENT) ## Write gateway/: the configuration of both edges for hybrid
	@$(RUN) -m mesh.edge.rendered

.PHONY: lint-compose
lint-compose: $(ENVIRONMENT)
	@$(RUN) -m mesh compose --check
	@$(VENV)/check-jsonschema --quiet --builtin-schema vendor.compose-spec compose.yaml

# The program is a version in the Go module proxy. It could also run checkers of shell and Python, where a machine has them.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
.PHONY: lint-host
lint-host: $(ENVIRONMENT) .tools/bin/shopload
	@CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-trimpath $(GO) run $(ACTIONLINT) -shellcheck= -pyflakes= .github/workflows/*.yml
	@$(VENV)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff

##@ Develop

# Files of tests run side by side, each file's in order; more of them than there are cores, as many wait for processes.
# A test that hangs fails by its name.
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

# What make asks of commands is what they have.
.PHONY: lint-settings
lint-settings: $(ENVIRONMENT)
	@$(RUN) -m experiment settings --check

CODE := services graphql-gateway rest-gateway mesh load observability proto
.PHONY: lint
lint: $(ENVIRONMENT) ## Check style, types, import directions, the contract, its stubs and the English
	@$(MAKE) --jobs="$$(nproc)" --output-sync lints

.PHONY: lints lint-types lint-style
lints: lint-types lint-go lint-proto lint-host lint-settings lint-istio lint-manifests lint-compose lint-prose lint-style

lint-types: $(ENVIRONMENT)
	@$(VENV)/mypy $(CODE)

lint-style: $(ENVIRONMENT)
	@$(VENV)/ruff check $(CODE) .ci
	@$(VENV)/ruff format --check $(CODE) .ci
	@$(VENV)/lint-imports

.PHONY: format
format: $(ENVIRONMENT) format-go ## Format the code
	@$(VENV)/ruff check --fix -q $(CODE)
	@$(VENV)/ruff format $(CODE)

.PHONY: clean
clean: ## Remove build outputs and run data of this checkout; keeps results/ and the shared cache
	@if [ -x $(VENV)/python ]; then $(VENV)/python -m mesh clean || true; fi
	@rm -rf .run .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: clean-results
clean-results: ## Remove results/
	@rm -rf results

.PHONY: help
help: ## Show this help
	@echo "Compare REST, GraphQL, gRPC and hybrids on one shop, and see where the time goes, hop by hop."
	@printf '\nFirst steps\n'
	@printf '  %-28s %s\n' 'make bench' 'one topology: latencies and hop budget' 'make trace' 'its traces nearest to p50 and p99, in Jaeger' \
	  'make compare' 'topologies under identical load, with a report' 'make decide' 'which topology to choose, by channel' \
	  'make up' 'a running topology to explore in a browser' 'make status' 'what is running' 'make down' 'stop it' \
	  'make help-bench' 'the settings of a target, such as bench'
	@awk 'BEGIN {FS = ":.*?## "} \
	  /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-zA-Z0-9_-]+:.*?## / {printf "  %-16s %s\n", $$1, $$2}' $(filter %Makefile %.mk,$(MAKEFILE_LIST))
	@echo
	@echo "Settings: make topology=hybrid profile=smoke bench; make topologies=rest,grpc blocks=5 network=4g compare (docs/settings.md)"
	@echo "Environment: SHOP_PORT_BASE (18000), DATABASE_URL, CACHE_URL, JAEGER (release, build), JAEGER_BIN, JAEGER_UI, JAEGER_RELEASES, KONG_BIN, PROMETHEUS_BIN, KUBECTL_BIN, HOPWISE_CACHE, HOPWISE_MESH_CA."
	@echo "  images: IMAGE_PREFIX (localhost/hopwise), IMAGE_TAG, IMAGE_ENGINE (podman, docker), IMAGE_BUILD_ARGS, KONG_IMAGE"

help-%:
	@$(if $(filter SETTINGS_$*,$(.VARIABLES)),,echo "$* has no settings; targets with settings: $(patsubst SETTINGS_%,%,$(sort $(filter SETTINGS_%,$(.VARIABLES))))"; exit 1;) \
	awk '$$1 == "#?" && $$2 == "$*" {name = $$3; has = $$4 == "-" ? "" : " [" $$4 "]"; \
	  sub(/^#\? [^ ]+ [^ ]+ [^ ]+ /, ""); printf "  %-14s %s%s\n", name, $$0, has}' settings.mk

.PHONY: settings
settings: $(ENVIRONMENT) ## Write settings.mk and docs/settings.md after changing an option of a command
	@$(RUN) -m experiment settings

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
INSTALLED := [ -x $(RUN) ] || { echo "Nothing is running: nothing is installed."; exit 0; };

# Without the bytecode that Python keeps, every process compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# Settings of a run, given as `make topology=hybrid bench`. Each command checks the values that it gets.
BENCH := topology profile rate seed workload trace scale edge plugins tls mesh mtls canary replicas store runtime load_nodes http network rtt bandwidth visit connections delay abort vus think
COMPARE := topologies edges blocks precision resume retry $(filter-out topology,$(BENCH))
LADDER := topology steps profile rate seed workload trace http blocks resume retry
RTT := topologies rtts profile rate seed workload trace edge http bandwidth blocks resume retry
SWEEP := topologies objective profile start max seed workload trace http tls connections
STRESS := topologies users think profile seed workload trace http tls connections
RUNS := a b threshold metrics allow-suspect out
SETTINGS := $(BENCH) $(RUNS) $(filter-out $(BENCH),$(COMPARE)) objective start max users namespace storage run journey wait samples \
  hops sizes steps rtts kills experiments traces rounds
UP := topology seed scale edge plugins tls mesh mtls canary replicas store http delay abort
MANIFESTS := topology edge plugins mesh mtls canary replicas scale delay abort seed namespace storage out
COMPOSE := topology seed scale out
$(foreach name,$(SETTINGS),$(eval $(name) ?=))

include mesh/provision/provision.mk
include proto/proto.mk
include load/load.mk

# Environment of `make images` and of what uses them.
IMAGES := IMAGE_PREFIX IMAGE_TAG IMAGE_ENGINE IMAGE_BUILD_ARGS KONG_IMAGE
given := $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(v)))),$(v)))
unknown := $(filter-out $(SETTINGS) PYTHON JAEGER_BIN KONG_BIN KUBECTL_BIN $(IMAGES) SHOP_PORT_BASE HOPWISE_CACHE HOPWISE_MESH_CA DATABASE_URL MAKEFLAGS SHELL,$(given))
ifneq ($(strip $(unknown)),)
$(error unknown setting: $(unknown); valid: $(SETTINGS), and SHOP_PORT_BASE, DATABASE_URL, JAEGER_BIN, KONG_BIN, KUBECTL_BIN, $(IMAGES), HOPWISE_CACHE, HOPWISE_MESH_CA, PYTHON)
endif

# `--name 'value'` for each of these settings that was given; one that the target would ignore is a mistake.
quoted = '$(subst ','\'',$(1))'
ignored = $(filter-out $(1) wait,$(filter $(SETTINGS),$(given)))
refused = $(if $(call ignored,$(1)),$(error $@ has no setting $(call ignored,$(1)); it has: $(1)))
options = $(call refused,$(1))$(foreach name,$(1),$(if $($(name)),--$(name) $(call quoted,$($(name)))))

##@ Measure

.PHONY: bench
bench: setup ## Start a topology, replay a tape, print latencies and hop budget, write results/
	@$(RUN) -m experiment bench $(call options,$(BENCH))

.PHONY: compare
compare: setup ## Compare topologies under identical load, in randomized blocks, with a report; topologies=a,b
	@$(RUN) -m experiment compare $(call options,$(COMPARE))

# Without steps, Istio on this machine is one of them.
.PHONY: ladder
comma := ,
ladder: setup $(if $(or $(if $(steps),,all),$(filter istio,$(subst $(comma), ,$(steps)))),.tools/istio.stamp) ## Add edge, sidecars, mTLS and Istio to a topology one by one, take tracing and database away, measure each step twice
	@$(RUN) -m experiment ladder $(call options,$(LADDER))

.PHONY: rtt
rtt: setup ## Compare topologies at rtts=0,20,50,100 ms from their customers, and check the predicted break-even distances, about 30 min
	@$(RUN) -m experiment rtt $(call options,$(RTT))

.PHONY: sweep
sweep: setup ## Find the highest rate that each topology sustains with p99 under objective=100ms
	@$(RUN) -m experiment sweep $(call options,$(SWEEP))

.PHONY: stress
stress: setup ## Load topologies with 100 to 10,000 users in a closed loop and count failures; users=100,300,...
	@$(RUN) -m experiment stress $(call options,$(STRESS))

.PHONY: compare-runs
compare-runs: setup ## Compare run b with run a, such as before and after a change; threshold=10% fails if b is slower by more
	@$(RUN) -m experiment compare-runs $(call options,$(RUNS))

.PHONY: decide
decide: setup ## Say which topology a comparison speaks for, by channel: the quickest, the cheapest, the fewest bytes; run=...
	@$(RUN) -m experiment decide $(call options,run workload network rtt bandwidth)

.PHONY: parity
parity: setup ## Check topologies' answers against the data, and that their writes have the same effect; topologies=a,b
	@$(RUN) -m experiment parity $(call options,topologies samples seed edge plugins tls mesh mtls canary replicas http)

.PHONY: report
report: setup ## Rebuild a run's summary, report.html, report.md and csv/ from its files
	@$(RUN) -m experiment report $(call options,run)

.PHONY: trace
trace: setup ## Print a run's exemplar traces (nearest to p50 and p99) and serve them in Jaeger
	@$(RUN) -m experiment trace $(call options,run journey topology) $(if $(filter no,$(wait)),--no-wait)

.PHONY: audit
audit: setup ## Check the shop's invariants in the running topology, else in the last run's data
	@$(RUN) -m experiment audit $(call options,run)

##@ Prove

.PHONY: prove-statistics
prove-statistics: setup ## Check coverage, false positives and power of the statistics on synthetic experiments
	@$(RUN) -m experiment prove coverage $(call options,experiments seed)
	@$(RUN) -m experiment prove aa $(call options,experiments seed)
	@$(RUN) -m experiment prove power $(call options,experiments seed)
	@$(RUN) -m experiment prove precision $(call options,experiments seed)

.PHONY: prove-siblings
prove-siblings: setup ## Compare rules for overlapping spans on synthetic traces whose true waits are known
	@$(RUN) -m experiment prove siblings $(call options,traces seed)

.PHONY: prove-delays
prove-delays: setup ## Inject delays of sizes=500us,1ms,... into hops=payment,... and check that each is found, about 20 min
	@$(RUN) -m experiment prove delays $(call options,hops sizes blocks seed resume)

.PHONY: prove-resume
prove-resume: setup ## Kill an experiment kills=10 times at random moments, resume it, and check that nothing was lost
	@$(RUN) -m experiment prove resume $(call options,kills blocks seed)

.PHONY: bench-tracing
bench-tracing: setup ## Measure what tracing every request costs a REST read, by component, about 3 min; rounds=10
	@$(RUN) -m experiment bench-tracing $(call options,topology edge rounds seed)

.PHONY: bench-budgets
bench-budgets: setup ## Measure how fast traces become hop budgets, and the analysis of a run of 10 million spans
	@$(RUN) -m hops benchmark
	@$(RUN) -m hops benchmark-budgets

##@ Run

.PHONY: up
up: setup ## Start a topology, print its URLs, and leave it running
	@$(RUN) -m mesh up --detach $(call options,$(UP))

.PHONY: down
down: ## Stop the topology that `make up` started
	@$(INSTALLED) $(RUN) -m mesh down

.PHONY: status
status: ## Show the running components
	@$(INSTALLED) $(RUN) -m mesh status

##@ Kubernetes

.PHONY: manifests
manifests: $(ENVIRONMENT) ## Write a topology's Kubernetes manifests: a Kustomize base, and overlays for a bench and for production
	@$(RUN) -m mesh manifests $(call options,$(MANIFESTS))

##@ Compose

.PHONY: compose
compose: $(ENVIRONMENT) ## Write compose.yaml and compose/, or with topology=NAME those of another topology
	@$(RUN) -m mesh compose $(call options,$(COMPOSE))

.PHONY: gateway
gateway: $(ENVIRONMENT) ## Write gateway/: both edges' configuration for hybrid, as a run has it
	@$(RUN) -m mesh.edge.rendered

.PHONY: lint-compose
lint-compose: $(ENVIRONMENT)
	@$(RUN) -m mesh compose --check
	@$(VENV)/check-jsonschema --quiet --builtin-schema vendor.compose-spec compose.yaml

# The program is a version in the Go module proxy. It could also run checkers of shell and Python, where a machine has them.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
.PHONY: lint-host
lint-host: $(ENVIRONMENT) .tools/bin/shopload
	@GOTOOLCHAIN=local $(GO) run $(ACTIONLINT) -shellcheck= -pyflakes= .github/workflows/*.yml
	@$(VENV)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff

##@ Develop

# Files of tests run side by side, each file's in order; more of them than there are cores, as many wait for processes.
SIDE_BY_SIDE := --numprocesses=3 --dist=loadfile --no-loadscope-reorder
.PHONY: test
test: setup test-go test-istio ## All tests but the end-to-end ones: unit, integration, Go
	@$(VENV)/pytest -q $(SIDE_BY_SIDE) -m 'not e2e'

.PHONY: test-unit
test-unit: $(ENVIRONMENT) ## Tests that start no processes
	@$(VENV)/pytest -q $(SIDE_BY_SIDE) -m 'not e2e and not integration'

.PHONY: test-e2e
test-e2e: setup ## End-to-end tests: the make targets, as a user runs them
	@$(VENV)/pytest -q -m e2e

.PHONY: chaos
chaos: setup ## Kill an order process kills=200 times during checkouts, then check the shop's invariants; replicas=order:2
	@$(RUN) -m chaos --kills $(or $(kills),200) $(if $(replicas),--replicas $(call quoted,$(replicas)))

CODE := services graphql-gateway rest-gateway mesh load observability proto
.PHONY: lint
lint: $(ENVIRONMENT) lint-proto lint-go lint-istio lint-manifests lint-compose lint-host ## Check style, types, import directions, the contract, and that its stubs are up to date
	@$(VENV)/ruff check $(CODE) .ci
	@$(VENV)/ruff format --check $(CODE) .ci
	@$(VENV)/mypy $(CODE)
	@$(VENV)/lint-imports

.PHONY: format
format: $(ENVIRONMENT) format-go ## Format the code
	@$(VENV)/ruff check --fix -q $(CODE)
	@$(VENV)/ruff format $(CODE)

.PHONY: clean
clean: ## Remove build outputs and run data of this checkout; keeps results/ and the shared cache
	@if [ -x $(RUN) ]; then $(RUN) -m mesh clean || true; fi
	@rm -rf .run .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: clean-results
clean-results: ## Remove results/
	@rm -rf results

.PHONY: help
help: ## Show this help
	@echo "Compare REST, GraphQL, gRPC and hybrids on one shop, and see where the time goes, hop by hop."
	@awk 'BEGIN {FS = ":.*?## "} \
	  /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-zA-Z0-9_-]+:.*?## / {printf "  %-16s %s\n", $$1, $$2}' $(filter %Makefile %.mk,$(MAKEFILE_LIST))
	@echo
	@echo "Settings (make topology=hybrid profile=smoke bench):"
	@echo "  topology=NAME|FILE  profile=smoke|compare|quick|full|rtt  rate=JOURNEYS_PER_S  seed=N  trace=0..1  scale=1..100"
	@echo "  workload=NAME|FILE  edge=envoy|kong|none  plugins=none|typical|all  http=1|2|3  tls=off|on"
	@echo "  mesh=none|envoy|istio  mtls=off|on  canary=0..100  replicas=graphql-gateway:2,product:2  store=postgres|memory"
	@echo "  network=loopback|lan|wifi|5g|4g|3g  rtt=40ms  bandwidth=10mbit/2mbit  visit=warm|first  connections=1..256"
	@echo "  delay=payment:2ms,user:500us  abort=payment:1%,user:0.5%  runtime=native|kubernetes  load_nodes=1..32"
	@echo "  vus=N think=0s (closed loop: virtual users instead of a rate)"
	@echo "  sweep: objective=100ms  start=20  max=1000 (journeys/s)    stress: users=N,N,...  think=10s"
	@echo "  compare-runs: a=FOLDER  b=latest|FOLDER  threshold=10%  metrics=p50,p99  allow-suspect=yes  out=FILE"
	@echo "  compare: topologies=NAME,FILE  edges=envoy,kong,none  blocks=12  precision=5%  retry=1 (of SUSPECT trials)  resume=latest|FOLDER"
	@echo "  ladder: steps=no-edge,edge,sidecars,mtls,istio,untraced,memory,cluster,cluster-istio  blocks=8  retry=1  resume=latest|FOLDER"
	@echo "  rtt: topologies=NAME,FILE  rtts=0,20,50,100 (ms)  blocks=5  retry=1  resume=latest|FOLDER"
	@echo "  decide: run=latest|FOLDER  workload=NAME|FILE  network=NAME  rtt=40ms  bandwidth=10mbit/2mbit (of the customers to decide for)"
	@echo "  trace, audit, report: run=latest|FOLDER  journey=NAME  wait=no    parity: topologies=NAME,NAME  samples=N"
	@echo "  prove-delays: hops=NAME,NAME  sizes=2ms,500us  blocks=4  resume=latest|FOLDER    prove-resume, chaos: kills=N"
	@echo "  prove-statistics: experiments=1000 (of each kind)    prove-siblings: traces=5000 (of each cause)"
	@echo "  bench-tracing: topology=rest  edge=envoy|kong  rounds=10"
	@echo "  manifests: namespace=NAME  storage=10Gi  out=FOLDER, and those of a topology"
	@echo "  compose: topology=NAME|FILE  seed=N  scale=1..100  out=FOLDER"
	@echo "Environment: SHOP_PORT_BASE (18000), DATABASE_URL, JAEGER_BIN, KONG_BIN, KUBECTL_BIN, HOPWISE_CACHE, HOPWISE_MESH_CA."
	@echo "  images: IMAGE_PREFIX (localhost/hopwise), IMAGE_TAG, IMAGE_ENGINE (podman, docker), IMAGE_BUILD_ARGS, KONG_IMAGE"

# What a fresh machine lacks. Each file below is made once, and again when its inputs have changed; if no input has
# changed, make only compares times.
ENVIRONMENT := .venv/.synced
JAEGER_PINS := $(addprefix observability/jaeger/build/,go.mod go.sum elasticsearch/client.go elasticsearch/esapi/indices.go)
PROVISION = PYTHONPATH=mesh $(PYTHON) -m provision
ISTIO_SOURCES := mesh/istio/go.mod mesh/istio/go.sum $(wildcard mesh/istio/istiod/*.go)
JAEGER_BIN ?=
JAEGER ?=

# Istio takes minutes to build, and only mesh=istio needs it, on this machine: a cluster has its own.
ISTIO_IF_ASKED := $(if $(filter mesh=istio,$(MAKEOVERRIDES)),$(if $(filter runtime=kubernetes,$(MAKEOVERRIDES)),,.tools/istio.stamp))

##@ Set up

# A step runs when it is due. Below `setup`, steps are noted instead, and the recipe of `setup` runs all due steps in
# parallel.
provide = $(PROVISION) $(1)
due :=
setup: provide = $(eval due += $(1)):
.PHONY: setup
setup: $(ENVIRONMENT) .tools/bin/shopload .tools/jaeger.stamp .tools/graphiql.stamp $(ISTIO_IF_ASKED) ## Fetch and build what is missing, without running anything
	@$(if $(due),$(PROVISION) $(due))

# Its files name the checkout's path: a checkout that was moved or copied would run the code at its earlier path.
$(ENVIRONMENT): pyproject.toml requirements.lock $(shell [ "$$(cat .venv/.synced 2>/dev/null)" -ef . ] || echo missing)
	@$(call provide,venv)

# Links into the shared cache. Where a link leads nowhere, its stamp counts as old.
.PHONY: missing
# JAEGER=build and JAEGER=release replace a Jaeger of the other kind, if that is in place.
jaeger_in_place = $(if $(findstring /jaeger-release-,$(realpath .tools/bin/jaeger)),release,build)
.tools/jaeger.stamp: $(JAEGER_PINS) mesh/provision/jaeger.py $(if $(JAEGER_BIN)$(realpath .tools/bin/jaeger),,missing) \
  $(if $(filter-out $(jaeger_in_place),$(JAEGER)),missing)
	@$(if $(JAEGER_BIN),mkdir -p $(@D); touch $@,$(call provide,jaeger))

# Only people open GraphiQL: where it cannot be fetched, everything else works without it.
.tools/graphiql.stamp: mesh/provision/graphiql.py $(if $(realpath .tools/graphiql),,missing)
	@$(call provide,graphiql)

.PHONY: istio
istio: .tools/istio.stamp ## Build Istio's programs, as mesh=istio does

ISTIO_PROGRAMS := $(realpath .tools/bin/istiod .tools/bin/pilot-agent .tools/bin/istioctl)
.tools/istio.stamp: $(ISTIO_SOURCES) $(if $(filter 3,$(words $(ISTIO_PROGRAMS))),,missing)
	@$(call provide,istio)

# The flags of the builds in `golang.py`: Go then compiles each package once, and tests and checks find it in the cache.
BUILD_FLAGS := CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off GOFLAGS='-trimpath -mod=readonly -buildvcs=false'
# Where nobody asked for Istio, its modules are not fetched.
.PHONY: test-istio
test-istio:
	@if [ -x .tools/bin/istiod ]; then cd mesh/istio && $(BUILD_FLAGS) $(GO) test $(GO_TEST_FLAGS) ./...; \
	  else echo "Skipped the Go tests of Istio's start: Istio is not built (make istio)."; fi

.PHONY: lint-istio
lint-istio: $(ENVIRONMENT)
	@if [ -x .tools/bin/istioctl ]; then $(VENV)/python -m mesh.istio; cd mesh/istio; $(BUILD_FLAGS) $(GO) vet ./...; \
	  unformatted="$$($(GOFMT) -l .)"; \
	  if [ -n "$$unformatted" ]; then echo "Not formatted by gofmt: mesh/istio/$$unformatted"; exit 1; fi; \
	  else echo "Skipped Istio's own checks of its resources: Istio is not built (make istio)."; fi

.PHONY: images
images: ## Build the images with podman or docker, as IMAGE_PREFIX/shop:IMAGE_TAG and so on
	@$(PROVISION) images

.PHONY: audit-dependencies
audit-dependencies: setup ## Look for known vulnerabilities, licences, leaked secrets
	@$(PROVISION) audit-dependencies

.PHONY: kube-score
kube-score: .tools/kube-score.stamp ## Build kube-score, which make lint then runs on the manifests

.tools/kube-score.stamp: mesh/kube-score/go.mod mesh/kube-score/go.sum $(if $(realpath .tools/bin/kube-score),,missing)
	@$(call provide,kube-score)

# Diagrams stay text where Mermaid cannot be fetched.
.tools/docs.stamp: docs/site/requirements.lock $(if $(realpath .tools/docs/bin/sphinx-build),,missing)
	@$(call provide,docs)

.tools/mermaid.stamp: mesh/provision/docs.py $(if $(realpath .tools/mermaid),,missing)
	@$(call provide,mermaid)

.PHONY: toxiproxy
toxiproxy: .tools/toxiproxy.stamp ## Build Toxiproxy, which make chaos needs to disturb connections

.tools/toxiproxy.stamp: load/toxiproxy/go.mod load/toxiproxy/go.sum $(if $(realpath .tools/bin/toxiproxy-server),,missing)
	@$(call provide,toxiproxy)

.PHONY: lint-manifests
lint-manifests: $(ENVIRONMENT)
	@$(RUN) -m mesh.kubernetes

.PHONY: federation
federation: $(ENVIRONMENT) ## Compose the subgraphs into mesh/router/supergraph.graphql, which the router serves
	@$(PROVISION) federation

# This check needs neither Node nor a composer.
.PHONY: lint-federation
lint-federation: $(ENVIRONMENT)
	@$(RUN) -m shop.platform.graphql.supergraph check mesh/router/supergraph.graphql

.PHONY: lint-prose
lint-prose:
	@$(PROVISION) prose

.PHONY: prose-baseline
prose-baseline: ## Lower the count of English findings that make lint allows, after fixing some
	@$(PROVISION) prose-baseline

# The lock file names no index and no address: packages are identified by their hashes, wherever they come from.
.PHONY: lock
lock: $(ENVIRONMENT) ## Regenerate requirements.lock after changing a dependency
	@$(PROVISION) lock

# The load generator, a Go module, and the checks of the other ones, the services in Go and the contract's stubs.
GO_FILES := $(shell find load/cmd load/internal proto/go -type f 2>/dev/null) load/go.mod load/go.sum
# Set-up's own Go if it had to fetch one, else the one on PATH.
GO = $(or $(abspath $(firstword $(wildcard .tools/go/lib/python*/site-packages/go/bin/go))),go)
GOFMT = "$$($(GO) env GOROOT)/bin/gofmt"
GO_TEST_FLAGS ?=

##@ Load generator

.tools/bin/shopload: $(GO_FILES)
	@$(call provide,generator)

.PHONY: test-go
test-go: .tools/bin/shopload
	@cd load && $(BUILD_FLAGS) $(GO) test $(GO_TEST_FLAGS) ./...
	@cd services/go && $(BUILD_FLAGS) $(GO) test $(GO_TEST_FLAGS) ./...

.PHONY: lint-go
lint-go: .tools/bin/shopload
	@unformatted="$$($(GOFMT) -l load/cmd load/bench load/internal load/tests services/go proto/go observability/jaeger)"; \
	  if [ -n "$$unformatted" ]; then echo "Not formatted by gofmt (run make format):"; echo "$$unformatted"; exit 1; fi
	@cd load && $(BUILD_FLAGS) $(GO) vet ./...
	@cd services/go && $(BUILD_FLAGS) $(GO) vet ./...
	@cd proto/go && $(BUILD_FLAGS) $(GO) vet ./...
	@cd observability/jaeger/build/elasticsearch && $(BUILD_FLAGS) $(GO) vet ./...

.PHONY: bench-generator
bench-generator: .tools/bin/shopload ## Compare the generator's maximum rate with vegeta's and ghz's
	@cd load && PATH="$$(dirname "$$(command -v $(GO))"):$$PATH" $(GO) run ./bench

.PHONY: bench-link
bench-link: .tools/bin/shopload ## Measure the emulated network: requested and actual, over each protocol
	@cd load && $(GO) run ./bench/link

.PHONY: bench-serialisation
bench-serialisation: setup ## Measure how each journey's answer is encoded: JSON, protobuf, GraphQL, Thrift, in Python and Go; 2 min
	@cd load && $(BUILD_FLAGS) $(GO) build -o ../.tools/bin/serialisation ./bench/serialisation
	@$(RUN) -m serialisation

.PHONY: format-go
format-go: .tools/bin/shopload
	@$(GOFMT) -w load/cmd load/bench load/internal load/tests services/go proto/go observability/jaeger

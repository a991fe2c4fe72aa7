# The contract.
BUF := $(VENV)/buf
# protoc looks for its Python plugins on PATH; the Go ones are tools of the load generator's module.
STUBS = $(BUILD_FLAGS) PATH="$(CURDIR)/$(VENV):$$PATH" GO="$(GO)" $(VENV)/python proto/generate.py
, := ,
# The contract must stay compatible with the last commit's; before a first commit, there is none to break.
PROTO_BEFORE := $(shell git rev-parse --verify -q HEAD:proto >/dev/null 2>&1 && echo yes)

##@ Contract

.PHONY: stubs
stubs: $(ENVIRONMENT) ## Generate the Python and Go stubs from the contract
	@$(STUBS)

.PHONY: lint-proto
lint-proto: $(ENVIRONMENT)
	@$(BUF) lint proto
	@$(if $(PROTO_BEFORE),$(BUF) breaking proto --against '.git#ref=HEAD$(,)subdir=proto',true)
	@$(STUBS) --check

# The contract.
BUF := $(VENV)/buf
# protoc looks for its plugins on PATH.
STUBS := PATH="$(CURDIR)/$(VENV):$$PATH" $(RUN) proto/generate.py
, := ,
# The contract must not break what the last commit promised; a first commit has promised nothing.
PROTO_BEFORE := $(shell git rev-parse --verify -q HEAD:proto >/dev/null 2>&1 && echo yes)

##@ Contract

.PHONY: stubs
stubs: $(ENVIRONMENT) ## Make the Python stubs of the contract
	@$(STUBS)

.PHONY: lint-proto
lint-proto: $(ENVIRONMENT)
	@$(BUF) lint proto
	@$(if $(PROTO_BEFORE),$(BUF) breaking proto --against '.git#ref=HEAD$(,)subdir=proto',true)
	@$(STUBS) --check

# What a fresh machine lacks. Each file below is made once, and again when its inputs have changed; when none has,
# make only compares times.
ENVIRONMENT := .venv/.synced
JAEGER_PINS := observability/jaeger/build/go.mod observability/jaeger/build/go.sum
PROVISION = PYTHONPATH=mesh $(PYTHON) -m provision
JAEGER_BIN ?=

##@ Set up

.PHONY: setup
setup: $(ENVIRONMENT) .tools/bin/shopload .tools/jaeger.stamp .tools/graphiql.stamp ## Fetch and build what is missing, without running anything

$(ENVIRONMENT): pyproject.toml requirements.lock
	@$(PROVISION) venv

# Links into the shared cache. Where a link leads nowhere, its stamp counts as old.
.PHONY: missing
.tools/jaeger.stamp: $(JAEGER_PINS) $(if $(JAEGER_BIN)$(realpath .tools/bin/jaeger),,missing)
	@$(if $(JAEGER_BIN),mkdir -p $(@D),$(PROVISION) jaeger)
	@touch $@

# Only people open GraphiQL: where it cannot be fetched (exit code 1), everything else goes on without it.
.tools/graphiql.stamp: mesh/provision/graphiql.py $(if $(realpath .tools/graphiql),,missing)
	@$(PROVISION) graphiql && touch $@ || [ $$? = 1 ]

# It names no index and no address: packages are identified by their hashes, wherever they come from.
.PHONY: lock
lock: $(ENVIRONMENT) ## Regenerate requirements.lock after changing a dependency
	@$(PROVISION) lock

# What a fresh machine lacks. Each file below is made once, and again when what it is made of has changed;
# with nothing to do, make only compares times.
ENVIRONMENT := .venv/.synced
JAEGER_PINS := observability/jaeger/build/go.mod observability/jaeger/build/go.sum
PROVISION = PYTHONPATH=mesh $(PYTHON) -m provision
JAEGER_BIN ?=

##@ Set up

.PHONY: setup
setup: $(ENVIRONMENT) .tools/bin/shopload jaeger ## Fetch and build what is missing, and nothing else

$(ENVIRONMENT): pyproject.toml requirements.lock
	@$(PROVISION) venv

# A link into the cache: there only if what it leads to is. JAEGER_BIN stands in for it.
.PHONY: jaeger
ifneq ($(strip $(if $(realpath .tools/bin/jaeger),yes)$(JAEGER_BIN)),)
jaeger: .tools/jaeger.stamp
else
jaeger:
	@$(PROVISION) jaeger
endif

.tools/jaeger.stamp: $(JAEGER_PINS)
	@$(if $(JAEGER_BIN),true,$(PROVISION) jaeger)
	@mkdir -p $(@D) && touch $@

# No index and no address stands in it: the packages are known by their hashes, wherever they come from.
.PHONY: lock
lock: $(ENVIRONMENT) ## Make requirements.lock from pyproject.toml, after a change of a dependency
	@$(PROVISION) lock

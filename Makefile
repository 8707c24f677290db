# The two commands of the README: `make demo` and `make test`. Both call `setup` when it is needed.
PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed
export PYTHONUNBUFFERED := 1

# `auto` compiles the hot path where there is a C compiler, `require` ends without one, `off` runs the
# sources; it is for the build and for what is run.
COMPILED ?= auto
export CONNECTOR_COMPILED := $(COMPILED)
NATIVE := $(VENV)/.compiled
NATIVE_SOURCES := setup.py connector/compiled.py $(shell find connector -name '*.py')

.PHONY: setup demo test kill-test chaos snapshot-proof fuzz bench golden coverage-table errors-page lint lock clean

setup: $(INSTALLED) $(if $(filter off,$(COMPILED)),,$(NATIVE))

$(INSTALLED): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "binlog-connector needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv --clear $(VENV)
	$(VENV)/bin/pip install --disable-pip-version-check --progress-bar on --require-hashes -r requirements.lock
	CONNECTOR_COMPILED=off $(VENV)/bin/pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# Without a compiler there is nothing to be older than the sources, so that the next call looks again.
$(NATIVE): $(INSTALLED) $(NATIVE_SOURCES)
	$(VENV)/bin/python setup.py --quiet build_ext --inplace
	@if [ -n "$$(find connector -name 'native__mypyc*.so')" ]; then touch $@; fi

demo: setup
	$(VENV)/bin/binlog-connector demo $(ARGS)

# Each worker starts the servers that its tests ask for; WORKERS=0 runs without workers.
WORKERS ?= 2
test: setup
	$(VENV)/bin/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

# Slow: 20 rounds of SIGKILL under load on each kind of server.
kill-test: setup
	KILL_ROUNDS=20 $(VENV)/bin/python -m pytest -s tests/integration/test_kill.py $(ARGS)

# Slow: 300 faults on two MySQL servers, a broker and the connector, then the same on MariaDB: docs/chaos.md.
# FAULTS=50, SEED=7 and FLAVOUR=mysql choose; ARGS=--help tells the rest.
FAULTS ?= 300
FLAVOUR ?= both
chaos: setup
	$(VENV)/bin/python -m tests.chaos --faults $(FAULTS) --flavour $(FLAVOUR) $(if $(SEED),--seed $(SEED)) $(ARGS)

# Slow: a large table is copied under writes, with a kill in each phase; FLAVOUR=mariadb chooses.
ROWS ?= 5000000
snapshot-proof: setup
	$(VENV)/bin/python -m tests.snapshot.proof --rows $(ROWS) $(if $(filter mariadb,$(FLAVOUR)),--flavour mariadb) $(ARGS)

# Slow: guided by coverage; ARGS="json --seconds 600". The inputs that reach something new are kept.
# Coverage is that of the sources.
fuzz: export CONNECTOR_COMPILED := off
fuzz: $(INSTALLED)
	$(VENV)/bin/python -m tests.fuzz $(or $(ARGS),all)

# Measures ours and the rivals whose tool chains are here, and writes BENCHMARKS.md: 25 minutes.
# ARGS="decode --quick" measures a part on small data; ARGS=--help tells the rest.
bench: setup
	$(VENV)/bin/python -m benchmarks $(ARGS)

# Starts every server of the local stack; ARGS="mysql-8.0 --theme xa", or ARGS=--expected.
golden: setup
	$(VENV)/bin/python -m tests.golden.record $(ARGS)

coverage-table: setup
	$(VENV)/bin/python -m tests.golden.coverage

# Writes docs/errors.md from the table of failure texts, which the tests compare with what is said.
errors-page: $(INSTALLED)
	$(VENV)/bin/python -m tests.errors.page

lint: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

lock:
	uv lock
	uv export --quiet --frozen --all-extras --group dev --no-emit-project --no-header -o requirements.lock

clean:
	rm -rf $(VENV) build
	find connector -name '*.so' -delete

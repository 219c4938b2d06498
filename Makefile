# `make demo` and `make test` need Python 3.11 or newer, make and g++, and nothing else: each makes a .venv, installs pinned
# versions into it and runs. A second run installs nothing.
#
#   TORCH_INDEX   package index that PyTorch is taken from; empty: pip's own. https://download.pytorch.org/whl/cpu has
#                 CPU-only builds, 200 MB in place of several GB, and they are all that the simulator needs.
#   PYTHON        the interpreter that makes the .venv
#   VENV          the folder of that environment
#   WORKERS       tests that run at the same time
#   CUDA_RELEASES other releases of PyTorch that test-cuda-build builds against, such as "2.11.0 2.13.0" (1 GB each)
#   CUDA_VENV     an environment with a CUDA build of PyTorch, for test-cuda-build; empty: a .venv-cuda is made (7 GB)

PYTHON ?= python3
TORCH_INDEX ?=
VENV ?= .venv
WORKERS ?= 2
CUDA_VENV ?=
CUDA_TORCH ?= torch==2.14.1
CUDA_RELEASES ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input install --quiet -c requirements/pins.txt
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile
INPUTS := pyproject.toml requirements/pins.txt

# With several workers on few cores, threads of torch in each would only wait for one another.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo doctor test test-all test-cuda-build check format clean needs-gxx needs-nvcc

help: ## show the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.installed | needs-gxx ## judge a gallery of right and wrong CUDA candidates
	$(BIN)/musacoder demo

doctor: $(VENV)/.installed ## show what this machine can judge with
	$(BIN)/musacoder doctor

test: $(VENV)/.installed-dev | needs-gxx ## the quick tests, at most 12 minutes on two cores
	$(PYTEST) -m "not slow and not gpu and not cuda_build"

test-all: $(VENV)/.installed-dev | needs-gxx ## every test that needs no GPU, at most 60 minutes on two cores
	$(PYTEST) -m "not gpu and not cuda_build"

ifeq ($(strip $(CUDA_VENV)),)
CUDA_PYTHON := .venv-cuda/bin/python
CUDA_READY := .venv-cuda/.installed
else
CUDA_PYTHON := $(CUDA_VENV)/bin/python
CUDA_READY :=
endif
EMPTY :=
CUDA_OTHERS := $(CUDA_RELEASES:%=.venv-torch-%)
CUDA_FOLDERS := $(subst $(EMPTY) $(EMPTY),:,$(strip $(CUDA_OTHERS:%=$(CURDIR)/%/torch)))

test-cuda-build: $(VENV)/.installed-dev $(CUDA_READY) $(CUDA_OTHERS:%=%/.unpacked) | needs-gxx needs-nvcc ## builds by nvcc, without a GPU, about 20 minutes on two cores
	MOORE_CUDA_PYTHON=$(CUDA_PYTHON) MOORE_TORCHES=$(CUDA_FOLDERS) $(BIN)/python -m pytest -m cuda_build

.venv-torch-%/.unpacked: | $(VENV)/.installed-dev $(CUDA_READY)
	@echo "unpacking PyTorch $*"
	$(BIN)/python scripts/unpack_torch.py $* .venv-torch-$* --like $(CUDA_PYTHON)
	@touch $@

check: $(VENV)/.installed-dev ## format, lint, types, import contracts, and the proofs in scripts/
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/ty check
	$(BIN)/lint-imports
	$(BIN)/python scripts/nouns_without_torch.py
	$(BIN)/python scripts/torch_cuda_stays_in_device.py

format: $(VENV)/.installed-dev ## format the Python code and apply safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove what make made
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .ruff_cache .import_linter_cache

# The stamps are written last: an interrupted installation is taken up again by the next make.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: Python 3.11 or newer is needed; name it with make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
		{ echo "make: this Python has no venv; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.torch: requirements/pins.txt | $(VENV)/.created
	@echo "installing PyTorch into $(VENV); this takes a while the first time"
ifneq ($(strip $(TORCH_INDEX)),)
	$(PIP) --index-url $(TORCH_INDEX) torch
else
	$(PIP) torch
endif
	@touch $@

$(VENV)/.installed: $(INPUTS) | $(VENV)/.torch
	@echo "installing musacoder into $(VENV)"
	$(PIP) -e .
	@touch $@

$(VENV)/.installed-dev: $(INPUTS) $(VENV)/.installed
	@echo "installing the development tools into $(VENV)"
	$(PIP) -e '.[dev,train]'
	@touch $@

.venv-cuda/.installed:
	@echo "installing a CUDA build of PyTorch into .venv-cuda; this takes a while"
	$(PYTHON) -m venv .venv-cuda
	.venv-cuda/bin/python -m pip --disable-pip-version-check --no-input install --quiet $(CUDA_TORCH) numpy ninja
	@touch $@

needs-nvcc:
	@command -v nvcc >/dev/null || { echo "make: nvcc is needed: install CUDA's toolkit and put it on PATH" >&2; exit 1; }

needs-gxx:
	@command -v g++ >/dev/null || { echo "make: g++ is needed, e.g. apt-get install g++ or dnf install gcc-c++" >&2; exit 1; }
	@command -v addr2line >/dev/null || { echo "make: addr2line is needed, e.g. apt-get install binutils" >&2; exit 1; }

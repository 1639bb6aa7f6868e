# layers: neural-network layers whose operators you write yourself.
#
#   make train    train a network on handwritten digits
#   make test     run the tests on PyTorch and on MXNet
#   make test-all run those too that take long
#   make fuzz     run random programs on PyTorch and on MXNet, and show where they differ
#   make hostile  read COUNT hostile files of all kinds, and show what is not refused as it should
#   make gluoncv  run all models of GluonCV on PyTorch and on MXNet; a page says what goes
#   make check    formatting, lint and types
#   make bench    measure, side by side with PyTorch, JAX, Keras, Lightning and MXNet
#   make gpu      tests and measurements on the PyTorch that is installed; installs nothing
#   make record   record MXNet's values, to which the tests hold PyTorch's
#   make stub     write the stub of the operators for editors
#   make coverage write the page that says of each name of MXNet whether it is here
#   make docs     build the site of the documentation, build/site/index.html
#   make clean    remove the environments and everything built
#
# Each makes the environment that it needs, once. Variables:
#
#   PYTHON=python3.12   the Python of the environments, 3.10 to 3.13 (python3); make docs needs 3.11
#   PIP_ARGS=...        more options for pip install, such as an index with CPU builds of PyTorch
#   ENGINE=mxnet        make train on MXNet (torch)
#   PROGRAM=train.module  make train with Symbol and Module (train)
#   MINUTES=60          how long make fuzz runs (10)
#   COUNT=100000        how many files make hostile reads (100000)
#   ARGS=...            options of the program: make train ARGS="--hybridize recorded"
#   WORKERS=1           make test in so many processes (one more than there are cores, at most 4)

PYTHON ?= python3
ENGINE ?= torch
PROGRAM ?= train
MINUTES ?= 10
COUNT ?= 100000
SHELL := bash

help:
	@sed -n '/^$$/q; s/^# \{0,1\}//p' Makefile

# The environments. An empty file in each, made-VERSION, says that its installation was completed:
# one that was interrupted, or that has another Python, is made anew.

asked = import sys; print("%d.%d" % sys.version_info[:2])
version = $(if $(1),$(shell $(1) -IS -c '$(asked)' 2>/dev/null))
with_mxnet = $(foreach p,$(1),$(if $(filter 3.10 3.11,$(call version,$(p))),$(p)))

ifeq ($(shell uname -sm),Linux x86_64)
MXNET_PYTHON := $(firstword $(call with_mxnet,$(PYTHON) python3.11 python3.10))
endif
NO_MXNET = MXNet is left out: it needs Python 3.10 or 3.11 on x86-64 Linux; \
here are $(PYTHON) $(call version,$(PYTHON)) and $(shell uname -sm)

TORCH := .venv/made-$(call version,$(PYTHON))
MXNET := .venv-mxnet/made-$(call version,$(MXNET_PYTHON))
BENCH := $(if $(MXNET_PYTHON),.venv-bench/made-$(call version,$(MXNET_PYTHON)),$(TORCH))
# Peers with environments of their own; Keras 3.15 needs Python 3.11.
PEERS := $(foreach peer,jax $(if $(filter 3.10,$(call version,$(PYTHON))),,keras) lightning,\
.venv-$(peer)/made-$(call version,$(PYTHON)))

define venv
[ -e $@ ] || $(1) -m venv --clear $(@D)
rm -f $@
endef
# Python compiles modules when it first imports them: of most packages only a few.
pip_install = $(@D)/bin/python -m pip install --no-compile $(PIP_ARGS)

$(TORCH): setup.cfg constraints/torch.txt
	$(call venv,$(PYTHON))
	$(pip_install) -c constraints/torch.txt -e '.[train,monitor,sweep,images,kernels,exchange,gluoncv,test]'
	touch $@

.venv/made-dev: $(TORCH)
	$(pip_install) -c constraints/torch.txt -e '.[dev]'
	touch $@

$(MXNET): setup.cfg constraints/mxnet.txt
	$(call venv,$(or $(MXNET_PYTHON),$(error $(NO_MXNET))))
	$(pip_install) -c constraints/mxnet.txt \
	    mxnet gluoncv pycocotools numba scikit-learn pandas matplotlib jinja2 tqdm \
	    pytest pytest-xdist hypothesis
	$(pip_install) --no-deps -e .
	touch $@

.venv-bench/%: setup.cfg constraints/mxnet.txt
	$(call venv,$(MXNET_PYTHON))
	$(pip_install) -c constraints/mxnet.txt -e '.[mxnet,train,images,kernels]' torchvision gluoncv
	touch $@

# JAX needs a newer NumPy than MXNet; Keras runs on JAX, Lightning on PyTorch.
$(PEERS): .venv-%/made-$(call version,$(PYTHON)): constraints/%.txt
	$(call venv,$(PYTHON))
	$(pip_install) -c $< $* $(if $(filter keras,$*),jax)
	touch $@

# The site reads the source and runs nothing of it, so that it needs no engine.
DOCS_PYTHON := $(firstword $(foreach p,$(PYTHON) python3.11 python3.12 python3.13,$(if \
    $(filter-out 3.10,$(call version,$(p))),$(p))))
DOCS := .venv-docs/made-$(call version,$(DOCS_PYTHON))

$(DOCS): constraints/docs.txt
	$(call venv,$(or $(DOCS_PYTHON),$(error make docs needs Python 3.11 or later)))
	$(pip_install) -c constraints/docs.txt mkdocs-material 'mkdocstrings[python]' ruff
	touch $@

# What runs in them. MXNet runs a custom operator in a worker thread, and with only one it hangs.
# Now and then its process crashes among these threads: what has failed runs once more by itself.

ENV := $(if $(filter mxnet,$(ENGINE)),$(MXNET),$(TORCH))
MXNET_PYTEST = MXNET_CPU_WORKER_NTHREADS=2 .venv-mxnet/bin/python -m pytest --engine mxnet \
    -o cache_dir=build/pytest-mxnet

# Tests start many processes, which compile the library each where nobody keeps what is compiled.
unexport PYTHONDONTWRITEBYTECODE

# How make test runs them: in several processes, and without the slow ones.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
SELECTED = -m "not slow"
IN_PROCESSES = -n $(WORKERS) --maxprocesses 4 --dist worksteal

train: $(ENV)
	$(dir $(ENV))bin/python -m $(PROGRAM) --engine $(ENGINE) $(ARGS)

test:
	@$(MAKE) --no-print-directory -j 2 $(TORCH) $(BESIDE)
	@rm -f build/test-*.txt
	@$(MAKE) -k --no-print-directory test-torch test-mxnet; status=$$?; \
	echo; tail -n 1 build/test-torch.txt build/test-mxnet.txt; exit $$status

test-all:
	@$(MAKE) --no-print-directory test SELECTED=

# The seeded run of the fuzzer starts MXNet beside, where it can be installed.
BESIDE := $(if $(MXNET_PYTHON),$(MXNET))

test-torch: $(TORCH) $(BESIDE) | build
	set -o pipefail; .venv/bin/python -m pytest --engine torch \
	    $(IN_PROCESSES) $(SELECTED) $(ARGS) | tee build/$@.txt

ifdef MXNET_PYTHON
test-mxnet: $(MXNET) | build
	set -o pipefail; $(MXNET_PYTEST) $(IN_PROCESSES) $(SELECTED) $(ARGS) | tee build/$@.txt || \
	    $(MXNET_PYTEST) --last-failed --last-failed-no-failures none $(ARGS) | tee build/$@.txt
else
test-mxnet: | build
	@echo '$(NO_MXNET)' | tee build/$@.txt
endif

fuzz: $(TORCH) $(BESIDE)
	PYTHONPATH=tests .venv/bin/python -m fuzz --minutes $(MINUTES) $(ARGS)

gluoncv: $(TORCH) $(BESIDE)
	PYTHONPATH="$(CURDIR)/tests:$(CURDIR)" MXNET_CPU_WORKER_NTHREADS=2 .venv/bin/python -m zoo $(ARGS)

hostile: $(TORCH)
	PYTHONPATH=tests .venv/bin/python -m hostile --count $(COUNT) $(ARGS)

build:
	@mkdir -p $@

# What users meet. layers/mxnet fills its modules at run time; for editors its stub speaks.
# Operators' definitions are left out: their first parameter is an input, not self.
PUBLIC = layers/*.py layers/ops/ways/operator.py layers/ops/ways/class_form.py layers/ops/ways/custom.py train $(wildcard layers/mxnet/*.pyi layers/mxnet/*/*.pyi)

check: .venv/made-dev
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/pyright --pythonpath .venv/bin/python $(PUBLIC)
	.venv/bin/python -m pytest tests/test_types.py

bench: $(BENCH) $(PEERS)
	$(dir $(BENCH))bin/python -m benchmarks $(ARGS)

gpu: gpu-test gpu-bench

# All tests, and those of operators and layers once more with their arrays on the GPU.
ALL = tests
ON_GPU = $(addprefix tests/,ops minpy mindspore mxnet/test_cases.py mxnet/test_symbol_cases.py \
    mxnet/test_recorded.py mxnet/test_cuda_graph.py mxnet/test_compile.py test_layers.py \
    test_operator_block.py test_step.py)

gpu-test:
	mkdir -p benchmarks/results
	set -o pipefail; export PYTHONPATH="$(CURDIR)"; (status=0; \
	for what in "$(ALL)" "--context gpu(0) $(ON_GPU)"; do \
	    $(PYTHON) -m pytest --engine torch $(SELECTED) $$what $(ARGS) || status=1; \
	done; exit $$status) | tee benchmarks/results/$@.txt

gpu-bench:
	PYTHONPATH="$(CURDIR)" $(PYTHON) -m benchmarks $(ARGS)

record: $(MXNET)
	$(MXNET_PYTEST) --record $(ARGS)

stub: $(TORCH)
	.venv/bin/python -m layers.mxnet._table.stub

coverage: $(TORCH)
	PYTHONPATH=tests .venv/bin/python -m api

# Warnings are errors: a link that leads nowhere, a page that is not in the navigation.
docs: $(DOCS)
	PATH="$(CURDIR)/$(dir $(DOCS))bin:$$PATH" NO_MKDOCS_2_WARNING=1 mkdocs build --strict $(ARGS)

clean:
	rm -rf .venv $(addprefix .venv-,mxnet bench jax keras lightning docs) build *.egg-info

.PHONY: help train test test-all test-torch test-mxnet fuzz gluoncv hostile check bench gpu gpu-test \
    gpu-bench record stub coverage docs clean
.NOTPARALLEL:

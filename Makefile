# The front door: each target sets up what it needs (Debian packages, .venv), builds, and runs one thing.
# PRESET=dev (or another of CMakePresets.json) uses that build instead of the release one.
PRESET ?= release
JOBS ?= $(shell nproc)
PYTHON := .venv/bin/python
BUILD := build/$(PRESET)
BENCH_PARTS := elements selection order groups tasks callables# tables of their own, after that of bench/run.py
LONG_WAY := seeds broadcast_random reductions# tests that run without the direct paths too, on poisoned memory
PYTEST := $(PYTHON) -m pytest
SHARED := -n $(JOBS) --dist loadfile --no-loadscope-reorder# a file is run by one process; conftest.py has their order
MARKED = $(shell grep -l 'mark\.$(1)' tests/python/test_*.py)# files with tests that are marked so: they run apart

.PHONY: help build demo test bench accuracy check format clean distclean

help:
	@echo "make demo    what this is for, in under a minute"
	@echo "make test    every check and every test; ends with a summary"
	@echo "make bench   times beside NumPy, Awkward Array, numexpr, Numba and a hand-written loop"
	@echo "make accuracy  errors of exp, log, sin, ... against MPFR: writes docs/accuracy.md, takes minutes"
	@echo "make check   before a commit: format, warnings as errors, asan (C++ and Python tests), tsan"
	@echo "make format  rewrite the sources with clang-format"
	@echo "make clean   remove what was built (make distclean: and .venv)"

# Each target installs what it needs itself and no more: the sets of tools/setup_system.sh and tools/requirements/. The
# Python packages come while the Debian packages do.
# Without targets, build makes everything; python/dynd then uses this build.
setup = tools/setup_system.sh python && { tools/setup_python.sh $(filter-out check accuracy,$(1)) & \
	  tools/setup_system.sh $(1); system=$$?; wait $$! && [ $$system = 0 ]; }
build = tools/build.sh $(PRESET) $(JOBS) $(1) && for file in $(BUILD)/libdynd.so $(BUILD)/python/_dynd*.so; do \
	  [ ! -e $$file ] || ln -sf ../../$$file python/dynd/; done

demo: # for this CPU alone, where nothing has been built yet: half of the time
	@$(call setup,demo)
	@LEVELS=native; export LEVELS; $(call build,dynd _dynd)
	@$(PYTHON) examples/demo.py

build: # what the tests need comes while the library is compiled, which needs none of it
	@$(call setup,demo)
	@{ $(call setup,demo test); } & { $(call build,dynd _dynd); }; built=$$?; wait $$! && [ $$built = 0 ]
	@$(call build)

bench:
	@$(call setup,demo bench)
	@$(call build,dynd _dynd programs)
	@$(PYTHON) bench/run.py $(BENCH)
	@$(if $(filter --cliffs --walk,$(BENCH)),,for part in $(BENCH_PARTS); do \
	  $(PYTHON) bench/$$part.py $(filter --quick,$(BENCH)) || exit 1; done)

accuracy:
	@$(call setup,demo accuracy)
	@$(call build,dynd accuracy)
	@$(BUILD)/accuracy 1000000 docs/accuracy.md

test: build
	@python3 tools/steps.py $(JOBS) \
	  "cpp: $(BUILD)/dynd_tests --gtest_brief=1" \
	  "memory: $(PYTEST) -m memory $(call MARKED,memory)" \
	  "one entry: JOBS=$(JOBS) python3 tools/check_one_entry.py $(BUILD)" \
	  "headers: python3 tools/check_headers.py" \
	  "accuracy: $(BUILD)/accuracy 20000" \
	  "abi: tools/check_abi.sh" \
	  "isa levels: tools/check_isa_levels.sh $(BUILD)" \
	  "layers: python3 tools/check_layers.py" \
	  then "python: $(PYTEST) $(SHARED) -m 'not alone and not memory' tests/python" \
	  then "alone: $(PYTEST) -m alone $(call MARKED,alone)" \
	  then "the long way: DYND_DIRECT=0 DYND_POISON=1 MALLOC_PERTURB_=90 $(PYTEST) $(SHARED) $(LONG_WAY:%=tests/python/test_%.py)"

check:
	@$(call setup,demo test check)
	@python3 tools/steps.py 1 \
	  "format: tools/check_format.sh" \
	  "layers: python3 tools/check_layers.py" \
	  "dev: tools/build.sh dev $(JOBS) && build/dev/dynd_tests --gtest_brief=1" \
	  "asan: tools/build.sh asan $(JOBS) && build/asan/dynd_tests --gtest_brief=1" \
	  "python asan: $(PYTHON) tools/check_python_asan.py" \
	  "tsan: tools/build.sh tsan $(JOBS) && build/tsan/dynd_tests --gtest_brief=1"

format:
	@tools/check_format.sh --fix

clean:
	rm -rf build dist python/dynd/*.so

distclean: clean
	rm -rf .venv

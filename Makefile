# The front door: each target sets up what it needs (Debian packages, .venv), builds, and runs one thing.
# PRESET=dev (or another of CMakePresets.json) uses that build instead of the release one.
PRESET ?= release
JOBS ?= $(shell nproc)
PYTHON := .venv/bin/python
BUILD := build/$(PRESET)
TARGETS := $(if $(filter-out demo,$(MAKECMDGOALS)),,dynd _dynd)# all, but of the demo alone what it needs

.PHONY: help setup build demo test bench check format clean

help:
	@echo "make demo    what this is for, in under a minute"
	@echo "make test    every check and every test; ends with a summary"
	@echo "make bench   times beside NumPy, Awkward Array, numexpr, Numba and a hand-written loop"
	@echo "make check   before a commit: format, warnings as errors, C++ tests under asan and tsan"
	@echo "make format  rewrite the sources with clang-format"
	@echo "make clean   remove what was built (make distclean: and .venv)"

setup:
	@tools/setup_system.sh
	@tools/setup_python.sh

build: setup
	@tools/build.sh $(PRESET) $(JOBS) $(TARGETS)
	@for file in $(BUILD)/libdynd.so $(BUILD)/python/_dynd*.so; do \
	  [ ! -e $$file ] || ln -sf ../../$$file python/dynd/; done  # the package uses this build

demo: build
	@$(PYTHON) examples/demo.py

bench: build
	@$(PYTHON) bench/run.py $(BENCH)

test: build
	@python3 tools/steps.py \
	  "layers: python3 tools/check_layers.py" \
	  "headers: python3 tools/check_headers.py" \
	  "abi: tools/check_abi.sh" \
	  "levels: tools/check_levels.sh $(BUILD)" \
	  "cpp: $(BUILD)/dynd_tests --gtest_brief=1" \
	  "one entry: JOBS=$(JOBS) python3 tools/check_one_entry.py" \
	  "python: $(PYTHON) -m pytest -q tests/python" \
	  "the long way: DYND_DIRECT=0 $(PYTHON) -m pytest -q tests/python/test_seeds.py tests/python/test_broadcast_random.py tests/python/test_reductions.py"

check: setup
	@tools/setup_system.sh --check
	@python3 tools/steps.py \
	  "format: tools/check_format.sh" \
	  "layers: python3 tools/check_layers.py" \
	  "dev: tools/build.sh dev $(JOBS) && build/dev/dynd_tests --gtest_brief=1" \
	  "asan: tools/build.sh asan $(JOBS) && build/asan/dynd_tests --gtest_brief=1" \
	  "tsan: tools/build.sh tsan $(JOBS) && build/tsan/dynd_tests --gtest_brief=1"

format:
	@tools/check_format.sh --fix

clean:
	rm -rf build dist python/dynd/*.so

distclean: clean
	rm -rf .venv
.PHONY: distclean

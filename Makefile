# make demo | test | check | gpu-check; each sets up what it needs. See README.md.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
VENV ?= .venv
PY := $(VENV)/bin/python
PYTEST := $(PY) -m pytest
.DEFAULT_GOAL := help

include scripts/setup.mk
include scripts/check.mk

.PHONY: help demo nodes-demo test test-changed test-share test-all mutants third-party pytorch-tests soak ledger durations bench gpu-check
.PHONY: gpu-bundle wheel deb clean contracts
# Results for `make ledger`, under the commit that they are of.
RESULTS = --junitxml=build/results/$(1).xml -o junit_suite_name=$(shell git describe --always --dirty --exclude='*' 2>/dev/null || echo none)
# Tests run beside each other, whole jobs two at a time: their ranks wait for each other for a third of the time, and limits
# of time are made for a machine as busy as that; slow ones, which nobody has tried in all pairs, get twice as long. TESTS:
# only these, one after the other, also those that are sampled. A share, the fourth word, may have no tests (5).
BESIDE = -n auto --maxprocesses $(1) --dist loadfile --no-loadscope-reorder
SLOWLY := export JITC_TEST_PATIENCE=$${JITC_TEST_PATIENCE:-2};
PARTS := tests/unit tests/model tests/operators
define RUN_TESTS
rm -f build/results/$(2)*.xml; status=0; note() { $(if $(4),[ $$1 -eq 5 ] ||) status=$$1; }; \
$(if $(TESTS),,$(PYTEST) -q -m "$(1)" $(4) $(5) $(call BESIDE,8) $(call RESULTS,$(2)-parts) $(PARTS) || note $$?;) \
$(PYTEST) -q -m "$(1)" $(4) $(if $(TESTS),,$(5)) $(call RESULTS,$(2)) $(or $(TESTS),$(3) $(addprefix --ignore=,$(PARTS)) tests) || note $$?; \
exit $$status
endef
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

demo: build ## trains a small GPT, kills a GPU's proxy server twice, shows that nothing changed
	@$(VENV)/bin/jitc demo $(DEMO)

# Makes namespaces before it builds anything: without these nothing of it can run.
nodes-demo: ## a job over two nodes, in namespaces, loses a worker on each and their link: needs root (NODES_DEMO: options)
	@unshare --net --mount --pid --uts --fork true 2>/dev/null || \
	  { echo "nodes-demo cannot run here: only root can make nodes of namespaces, and not in every container" >&2; exit 1; }
	@$(MAKE) --no-print-directory build $(STAMPS)/cluster
	@cd bench && $(abspath $(PY)) -m nodes.demo $(NODES_DEMO)

COUNT = $(shell git rev-list --count HEAD 2>/dev/null || echo 0)
SAMPLE ?= $(COUNT)/4
test: build $(STAMPS)/test-packages $(STAMPS)/cluster ## the quick tests; of those that have many alike a quarter, which one by the commit's number (SAMPLE=0/1: all; FILES=0/2: of the files a half)
	@echo "== tests$(if $(FILES), of the files share $(FILES)) (evidence of failures: tests/evidence)"
	@$(call RUN_TESTS,not slow and not gpu,quick,$(call BESIDE,2),,--sample "$(SAMPLE)" $(if $(FILES),--files "$(FILES)"))

SINCE ?= HEAD
test-changed: build $(STAMPS)/test-packages $(STAMPS)/cluster ## quick tests of what has changed since the last commit, and of what may import it (SINCE=main: since that)
	@tests=$$(python3 scripts/changed.py --since "$(SINCE)"); \
	  $(PYTEST) -q -m "not slow and not gpu" $(call BESIDE,2) $$tests

SHARE ?= $(COUNT)/20
test-share: build $(STAMPS)/test-packages $(STAMPS)/cluster $(STAMPS)/containers ## of the slow tests a twentieth, which one by the commit's number (SHARE=3/20: that one)
	@echo "== slow tests, share $(SHARE)"
	@$(SLOWLY) $(call RUN_TESTS,slow and not gpu,share,$(call BESIDE,2),--share "$(SHARE)")

test-all: build $(STAMPS)/test-packages $(STAMPS)/cluster $(STAMPS)/containers ## all tests, also the full fault matrix and the soak (hours on a small machine)
	@$(SLOWLY) $(call RUN_TESTS,not gpu,all,$(call BESIDE,2))

contracts: ## symbols, ops, records, messages, options and documents are what they were (SINCE=COMMIT)
	@python3 scripts/contracts.py $(SINCE)

mutants: build ## defects put in one at a time: the tests notice each (MUTANTS: options, --help): a quarter of an hour
	@cd tests && $(abspath $(PY)) -m mutants --json $(abspath build)/mutants/mutants.json $(MUTANTS)

third-party: build ## programs built on libraries from PyPI, with and without faults (THIRD_PARTY: options, --help)
	@cd tests && $(abspath $(PY)) -m third_party.matrix $(THIRD_PARTY)

soak: build ## programs under --shuffle, --check-order and random faults, for MINUTES (20), from SEED on (SOAK: options, --help)
	@cd tests && $(abspath $(PY)) -m soak $(if $(or $(MINUTES),$(SOAK_MINUTES)),--minutes $(or $(MINUTES),$(SOAK_MINUTES))) $(if $(SEED),--seed $(SEED)) $(SOAK)

pytorch-tests: build ## PyTorch's own tests on the software device, with what is expected of each (PYTORCH_TESTS: options): hours
	@PYTHONPATH=tests $(PY) -m pytorch $(PYTORCH_TESTS)

ledger: ## commit and date of the last `make test` into docs/ledger.md (SLOW=1: of `make test-all`; RAN="make demo": of that)
	@python3 scripts/ledger.py $(if $(RAN),--ran "$(RAN)",$(if $(SLOW),--slow build/results/all*.xml,build/results/quick*.xml))

durations: ## the slowest tests and files of the last `make test` (MOST=30: so many)
	@python3 scripts/durations.py $(if $(MOST),--most $(MOST)) $(wildcard build/results/quick*.xml)

BENCHMARKS := import_cost call_cost launch_cost dnn_cost journal_cost hash_cost copy_speed boundary_cost step_overhead order_cost \
  faults.recovery_time faults.restart faults.rehoming faults.growth gpu_model
bench: build ## measures overhead, call cost, recovery time, journal, hashes, import (BEFORE=COMMIT: beside those of that one); JSON in build/bench
	@mkdir -p build/bench
	@$(if $(BEFORE),$(PY) scripts/before_after.py --before $(BEFORE) --rounds $(or $(ROUNDS),1) --json build/bench/before_after.json \
	  $(BENCHMARKS),missed=; for one in $(BENCHMARKS); do echo "== $$one"; \
	  (cd bench && $(abspath $(PY)) -m $$one --json $(abspath build/bench)/$${one##*.}.json) || missed+=" $$one"; done; \
	  [ -z "$$missed" ] || { echo "goals were missed by$$missed" >&2; exit 1; })

# Without the build, so that it runs where nothing can be built: what is there is checked.
gpu-check: ## checks on a real NVIDIA GPU, results in docs/gpu-results (REHEARSE=1 or stand-ins: without one; GPU_CHECK: options)
	@$(or $(wildcard $(PY)),python3) $(if $(filter stand-ins,$(REHEARSE)),scripts/gpu_rehearsal.py,scripts/gpu_check.py \
	  $(if $(REHEARSE),--rehearse)) $(GPU_CHECK)

gpu-bundle: build ## a folder and tar under 64 MiB to run gpu_check.py on a bare GPU machine
	@$(PY) scripts/gpu_bundle.py

wheel: build ## the wheel and the source distribution, in build/dist (WHEEL: options, --help): half an hour the first time
	@$(PY) scripts/wheel/make.py $(WHEEL)

deb: build ## the Debian package, in build/dist, of the wheel there or a new one (DEB: options, --help)
	@$(PY) scripts/deb/make.py $(DEB)

clean: ## removes what the build made (keeps $(VENV))
	rm -rf build interpose/lib proxy/lib client_shim/lib tests/evidence
	rm -f protos/jitc/*/*_pb2.py protos/jitc/*/*_pb2.pyi protos/jitc/*/*_pb2_grpc.py

# Format, lint, types, generated code, layers. Included by the Makefile.
CXX_FILES = $(shell git ls-files '*.h' '*.cpp' | grep -v '/generated_')

RELEASES ?= 2.6.0 2.15.0

.PHONY: check check-quick check-format check-types check-generated check-sanitizers check-torch
check-quick: check-format check-types check-generated ## format, lint, types, generated code: a minute
check: check-quick test check-sanitizers ## everything of check-quick, the tests, the native parts under sanitizers

check-format: build
	@echo "== format and lint"
	@$(VENV)/bin/ruff format --check --quiet .
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/clang-format --dry-run -Werror $(CXX_FILES)

# The packages lie in folders that are not named as they are imported; mypy sees them through links.
check-types: build
	@echo "== types"
	@mkdir -p build/types/jitc
	@for one in proxy interpose client_shim; do ln -sfn ../../../$$one build/types/jitc/$$one; done
	@for one in etcd v1; do ln -sfn ../../../protos/jitc/$$one build/types/jitc/$$one; done
	@ln -sfn ../../../protos/ops build/types/jitc/ops
	@$(VENV)/bin/mypy build/types/jitc

check-generated: build
	@echo "== generated code, layers"
	@$(PY) -m jitc.interpose.generator --check
	@$(PY) -m jitc.proxy.status --check
	@$(PY) -m jitc.proxy.commands.pages --check
	@$(PYTEST) -q tests/unit/test_layers.py tests/unit/test_sizes.py tests/unit/test_words.py tests/unit/test_comments.py tests/unit/test_dead_names.py

check-sanitizers: build ## the native parts under ASan, UBSan and TSan (SANITIZERS="asan" or "tsan": one): an hour and a half on two cores
	@scripts/sanitize.sh $(or $(SANITIZERS),asan tsan)

check-torch: ## import, demo and quick tests with the oldest and newest PyTorch (RELEASES="2.6.0": others; FROM=wheel: the demo of build/dist's wheel): 6 GB each
	@scripts/torch_versions.sh $(RELEASES)

# Set-up: system packages, virtual environment, gRPC stubs, native build. Included by the Makefile.
# Each step leaves a stamp in build/stamps and is repeated only when its inputs change.
STAMPS := build/stamps
# In a container everybody is root; pip's advice against that is of no use there.
export PIP_ROOT_USER_ACTION := ignore
TORCH ?= torch===2.11.0
# What takes long shows how far it is; its output goes to build/STEP.log.
SHOW = python3 scripts/progress.py --venv $(VENV)

.PHONY: setup build overview
setup: build ## everything that the other targets need
build: $(STAMPS)/native

# Once, before anything begins. Without Python it is one of the packages that come first.
overview:
	@! command -v python3 >/dev/null || python3 scripts/overview.py $(VENV) '$(TORCH)'

$(STAMPS)/system: scripts/system-packages.sh | overview
	@bash scripts/system-packages.sh
	@mkdir -p $(STAMPS) && touch $@

# What tests call besides; those in containers, or of several nodes, are left out where podman, or etcd, cannot be had.
$(STAMPS)/test-packages $(STAMPS)/containers $(STAMPS)/cluster: $(STAMPS)/system
	@bash scripts/system-packages.sh $(patsubst test-packages,tests,$(@F))
	@touch $@

# `===` takes the CUDA wheel also where an index offers a local (+cpu) build of the same version.
$(STAMPS)/venv: pyproject.toml $(STAMPS)/system
	@$(PY) -m pip --version >/dev/null 2>&1 || $(SHOW) venv python3 -m venv $(VENV)
	@$(SHOW) torch $(PY) -m pip install '$(TORCH)' 'setuptools>=77,<82' 'scikit-build-core>=1.0,<2'
	@$(SHOW) packages $(PY) -m pip install --no-build-isolation -e '.[dev]'
	@touch $@

$(STAMPS)/protos: $(wildcard protos/jitc/*/*.proto) $(STAMPS)/venv
	@echo "== gRPC stubs"
	@$(PY) -m grpc_tools.protoc -Iprotos --python_out=protos --pyi_out=protos --grpc_python_out=protos $(wildcard protos/jitc/*/*.proto)
	@touch $@

# Always asked: ninja knows what is out of date. TARGETS=shipped builds only what an installation needs.
.PHONY: $(STAMPS)/native
$(STAMPS)/native: $(STAMPS)/protos
	@$(PY) -m jitc.interpose.generator
	@$(VENV)/bin/cmake -S . -B build/native -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(VENV))/bin/ninja \
	  -DJITC_TORCH=$$($(PY) -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])') \
	  > build/cmake.log 2>&1 || { cat build/cmake.log >&2; exit 1; }
	@$(SHOW) native $(VENV)/bin/cmake --build build/native $(addprefix --target ,$(TARGETS))
	@touch $@

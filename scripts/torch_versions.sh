#!/usr/bin/env bash
# Whether jitc works with other releases of PyTorch: `scripts/torch_versions.sh 2.6.0 [2.15.0 ...]`.
# Per release: the sources as they are now, a virtual environment and a build of their own in build/torch/VERSION,
# `import torch` with the interposer, the demo, the quick end-to-end tests. FROM=wheel: instead of the sources the
# wheel in build/dist, installed beside the release, whose part must be in it, and the demo. One line per release at the
# end; ends badly when a line does. Called by `make check-torch`. KEEP=1 keeps the folder (6 GB) also when all went well.
set -euo pipefail
cd "$(dirname "$0")/.."
tests=(
  tests/end_to_end/test_faults.py tests/end_to_end/test_many_faults.py tests/end_to_end/test_same_as_cpu.py
  tests/end_to_end/test_expandable_segments.py tests/end_to_end/test_cudnn_training.py
  tests/unit/client_shim tests/unit/operators tests/unit/interpose/api
)

copy_sources() {  # FOLDER: without what git ignores; the environment and the build there stay, for the next time
  mkdir -p "$1"
  find "$1" -mindepth 1 -maxdepth 1 ! -name .venv ! -name build -exec rm -rf {} +
  rm -f "$1"/build/stamps/protos
  git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from - | tar --extract -C "$1"
}

demo() { .venv/bin/jitc demo; }
imports() { LD_PRELOAD=$(.venv/bin/jitc preload-path) .venv/bin/python -c 'import torch; torch.cuda.is_available()'; }
quick_tests() { .venv/bin/python -m pytest -q -m "not slow and not gpu" "${tests[@]}"; }

step() {  # NAME COMMAND...: its output in NAME.log; says in one word how it went
  local name=$1
  shift
  if "$@" > "build/$name.log" 2>&1; then result+=" | $name ok"; else
    result+=" | $name FAILED ($folder/build/$name.log)"
    return 1
  fi
}

check() {  # in the folder of the release
  mkdir -p build
  step build env -u MAKEFLAGS -u MAKEOVERRIDES make TORCH="torch===$version" VENV=.venv build || return
  result+=" | CUDA $(.venv/bin/python -c 'import torch; print(torch.version.cuda)')"
  step import imports || return
  step demo demo || true
  step tests quick_tests || true
  result+=" ($(tail -n 1 build/tests.log))"
}

installed() {  # PyTorch, as its users install it, and the one wheel that there is
  python3 -m venv .venv && .venv/bin/pip install -q "torch===$version" numpy ../../dist/jitc-*.whl
}

demo_of_the_wheel() { JITC_CACHE=$PWD/cache CXX=none .venv/bin/jitc demo; }  # without a compiler no part is built

check_wheel() {  # in the folder of the release
  mkdir -p build
  step install installed && step demo demo_of_the_wheel
}

bad=0 summary=()
for version in "$@"; do
  folder=build/torch/$version
  result="torch $version"
  if [ "${FROM:-}" = wheel ]; then
    folder=build/torch/wheel-$version
    echo "== $result: environment, wheel, demo in $folder"
    mkdir -p "$folder"
  else
    echo "== $result: environment, build, import, demo, quick tests in $folder"
    copy_sources "$folder"
  fi
  pushd "$folder" > /dev/null
  if [ "${FROM:-}" = wheel ]; then check_wheel; else check; fi || true
  popd > /dev/null
  summary+=("$result")
  case $result in *FAILED*) bad=1 ;; *) [ -n "${KEEP:-}" ] || rm -rf "$folder" ;; esac
done
printf '%s\n' "${summary[@]}"
exit $bad

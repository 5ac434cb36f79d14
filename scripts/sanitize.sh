#!/usr/bin/env bash
# The tests of the native parts under sanitizers: `scripts/sanitize.sh [asan] [tsan]` (both without a name).
# Builds in build/sanitize/NAME; what is shipped stays as it is. Called by `make check-sanitizers`.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
torch=$($python -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')
parts="protos/transport;interpose;proxy/native;tests/unit/interpose/session/native;tests/unit/executor/state/native;tests/unit/executor/control/native;tests/fakes"
# A report ends the process; Python itself keeps memory until the end and takes no part in the locks that are watched.
export ASAN_OPTIONS="detect_leaks=0:abort_on_error=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:${UBSAN_OPTIONS:-}"
# Some threads are left behind on purpose: nobody waits for one that hangs in NCCL.
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:report_thread_leaks=0:suppressions=$PWD/scripts/tsan.supp:${TSAN_OPTIONS:-}"

# A report is a file: that of pytest's own process would end with what pytest has captured.
reports=$PWD/build/sanitize/reports
for one in ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS; do export "$one=log_path=$reports/report:${!one}"; done
rm -rf "$reports"
mkdir -p "$reports"
trap 'find "$reports" -type f -exec echo "== {}" \; -exec head -n 80 {} \; >&2' EXIT

build() {  # NAME SANITIZERS
  echo "== $1: build"
  mkdir -p "build/sanitize/$1"
  {
    .venv/bin/cmake -S . -B "build/sanitize/$1" -G Ninja -DCMAKE_MAKE_PROGRAM="$PWD/.venv/bin/ninja" \
      -DJITC_SANITIZE="$2" -DJITC_ONLY_PARTS="$parts" -DJITC_TORCH="$torch" &&
      .venv/bin/cmake --build "build/sanitize/$1"
  } > "build/sanitize/$1.log" 2>&1 || { tail -n 60 "build/sanitize/$1.log" >&2; exit 1; }
}

tests() {  # NAME RUNTIME
  local built=$PWD/build/sanitize/$1/tests runtime
  # A sanitizer's own locks may be held when a program with busy threads forks: a child that begins threads hangs.
  local not_here=(-k "not new_stream-True")
  # ThreadSanitizer follows no such child at all, and its shadow is part of the memory that a process holds.
  [ "$1" = asan ] || not_here=(-k "not new_stream and not does_not_read_is_held_back and not what_was_not_read")
  # With the C++ library, whose functions the sanitizer wraps and Python does not bring along.
  runtime=$(c++ -print-file-name="$2"):$(c++ -print-file-name=libstdc++.so.6)
  echo "== $1: software device, cuda device, communicators, bridge (programs of their own)"
  JITC_TEST_BUILD=$PWD/build/sanitize/$1 $python -m pytest -q -o timeout=1800 tests/unit/device tests/unit/bridge
  echo "== $1: executor"
  [ "$1" = asan ] || export JITC_TEST_BASE=1000000000
  JITC_TEST_EXECUTOR=$built/libjitc_executor.so JITC_TEST_FAKES=$built JITC_TEST_RESOURCES=$built/jitc_resources_test JITC_TEST_BUDGET=$built/jitc_budget_test JITC_TEST_TEARDOWN=$built/jitc_teardown_test LD_PRELOAD=$runtime \
    $python -m pytest -q -o timeout=1800 -m "not slow" "${not_here[@]}" tests/unit/executor
  echo "== $1: API layer"
  JITC_TEST_INTERPOSE=$built/libjitc_interpose_fake.so LD_PRELOAD=$runtime \
    $python -m pytest -q -o timeout=1800 --deselect tests/unit/interpose/api/test_spec.py \
    --deselect tests/unit/interpose/api/test_real_libraries.py tests/unit/interpose/api
  echo "== $1: session layer, transport"
  JITC_TEST_LIBRARIES=$built JITC_TEST_PRELOAD=$runtime $python -m pytest -q -o timeout=1800 tests/unit/interpose/session
  JITC_TEST_LIBRARIES=$built LD_PRELOAD=$runtime $python -m pytest -q -o timeout=1800 "${not_here[@]}" tests/unit/protos/transport
}

for name in "${@:-asan tsan}"; do
  for one in $name; do
    case $one in
      asan) build asan address,undefined; tests asan libasan.so ;;
      tsan) build tsan thread; tests tsan libtsan.so ;;
      *) echo "unknown sanitizer: $one (asan, tsan)" >&2; exit 2 ;;
    esac
  done
done

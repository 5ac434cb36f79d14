#!/usr/bin/env bash
# Installs Debian/Ubuntu packages, or names them when it may not: those of the build, what tests call besides, or what
# the tests in containers call (without it they are left out).
#   system-packages.sh [build|tests|containers]
set -euo pipefail
kind=${1:-build}
case $kind in
  build) packages="g++ make pkg-config libnghttp2-dev libxxhash-dev nlohmann-json3-dev python3-venv python3-dev" ;;
  tests) packages="git procps util-linux binutils" ;;
  containers) packages="podman runc catatonit debootstrap" ;;
  *) echo "usage: system-packages.sh [build|tests|containers]" >&2; exit 2 ;;
esac
need=()
is_there() {
  case $1 in
    g++|make|pkg-config|git|podman|runc|catatonit|debootstrap) command -v "$1" >/dev/null ;;
    procps) command -v pgrep >/dev/null ;;
    util-linux) command -v unshare >/dev/null && command -v prlimit >/dev/null ;;
    binutils) command -v readelf >/dev/null && command -v nm >/dev/null ;;
    python3-venv) python3 -c 'import ensurepip' 2>/dev/null ;;
    python3-dev) python3 -c 'import sysconfig,os,sys; sys.exit(not os.path.exists(sysconfig.get_path("include")+"/Python.h"))' ;;
    *) dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed' ;;
  esac
}
for package in $packages; do is_there "$package" || need+=("$package"); done
[ ${#need[@]} -eq 0 ] && exit 0

install() {
  echo "== system packages: ${need[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq && apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
}
if [ "$kind" = containers ]; then
  { [ "$(id -u)" = 0 ] && install; } || echo "== no ${need[*]} here: the tests in containers are left out"
elif [ "$(id -u)" = 0 ]; then
  install
else
  echo "These packages are missing; install them and run the command again:" >&2
  echo "  sudo apt-get install ${need[*]}" >&2
  exit 1
fi

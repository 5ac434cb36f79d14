#!/usr/bin/env bash
# Installs Debian/Ubuntu packages, or names them when it may not: those of the build, what tests call besides, or what
# the tests in containers, or of several nodes, call (without it they are left out).
#   system-packages.sh [build|tests|containers|cluster] [missing]      missing: only says which are
set -euo pipefail
kind=${1:-build}
optional=
etcd=$(dirname "$0")/../build/etcd
PATH=$PATH:/usr/sbin:/sbin
case $kind in
  build) packages="g++ make pkg-config libnghttp2-dev libxxhash-dev nlohmann-json3-dev python3-venv python3-dev" ;;
  tests) packages="git procps util-linux binutils tmux zsh tcsh man-db systemd lintian shellcheck" ;;
  containers) packages="podman runc catatonit debootstrap" optional="the tests in containers" ;;
  cluster) packages="etcd-server iproute2 nftables" optional="tests of several nodes" ;;
  *) echo "usage: system-packages.sh [build|tests|containers|cluster] [missing]" >&2; exit 2 ;;
esac
need=()
is_there() {
  case $1 in
    g++|make|pkg-config|git|podman|runc|catatonit|debootstrap|tmux|zsh|tcsh|lintian|shellcheck) command -v "$1" >/dev/null ;;
    etcd-server) command -v etcd >/dev/null || [ -x "$etcd/usr/bin/etcd" ] ;;
    iproute2) command -v ip >/dev/null && command -v tc >/dev/null ;;
    nftables) command -v nft >/dev/null ;;
    procps) command -v pgrep >/dev/null ;;
    util-linux) command -v unshare >/dev/null && command -v prlimit >/dev/null ;;
    systemd) command -v systemd-analyze >/dev/null ;;
    man-db) command -v man >/dev/null ;;
    binutils) command -v readelf >/dev/null && command -v nm >/dev/null ;;
    python3-venv) python3 -c 'import ensurepip' 2>/dev/null ;;
    python3-dev) python3 -c 'import sysconfig,os,sys; sys.exit(not os.path.exists(sysconfig.get_path("include")+"/Python.h"))' ;;
    *) dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed' ;;
  esac
}
for package in $packages; do is_there "$package" || need+=("$package"); done
[ ${#need[@]} -eq 0 ] && exit 0
[ "${2:-}" = missing ] && { echo "${need[*]}"; exit 0; }

# Debian's package starts an etcd at once, and with the machine. Tests start their own: they need its program alone.
unpack_etcd() {
  local folder
  folder=$(mktemp -d)
  (cd "$folder" && apt-get download -q -o APT::Sandbox::User=root etcd-server >/dev/null && dpkg -x etcd-server_*.deb .) &&
    mkdir -p "$etcd" && cp -R "$folder/usr" "$etcd" && rm -r "$folder"
}
install() {
  local progress apt one wanted=()
  for one in "${need[@]}"; do [ "$one" = etcd-server ] || wanted+=("$one"); done
  progress=$(dirname "$0")/progress.py
  apt='apt-get update -q -o APT::Status-Fd=1 &&
    apt-get install -y -q --no-install-recommends -o APT::Status-Fd=1 "$@"'
  echo "== system packages: ${need[*]}"
  export DEBIAN_FRONTEND=noninteractive
  # An image has this script alone, and Python may be one of the packages.
  if [ -f "$progress" ] && command -v python3 >/dev/null; then
    python3 "$progress" system bash -c "$apt" apt "${wanted[@]}" || return
  else
    bash -c "$apt" apt "${wanted[@]}" >/dev/null || return
  fi
  [ "$kind" != cluster ] || is_there etcd-server || unpack_etcd
}
if [ -n "$optional" ]; then
  { [ "$(id -u)" = 0 ] && install; } || { [ $? -eq 130 ] && exit 130; } ||
    echo "== no ${need[*]} here: $optional are left out"
elif [ "$(id -u)" = 0 ]; then
  install
else
  echo "These packages are missing; install them and run the command again:" >&2
  echo "  sudo apt-get install ${need[*]}" >&2
  exit 1
fi

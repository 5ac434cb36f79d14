#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages that the build needs, or names them when it may not.
set -euo pipefail
need=()
have() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
for package in g++ make pkg-config libnghttp2-dev libxxhash-dev nlohmann-json3-dev python3-venv python3-dev; do
  case $package in
    g++) command -v g++ >/dev/null || need+=("$package") ;;
    make|pkg-config) command -v "$package" >/dev/null || need+=("$package") ;;
    python3-venv) python3 -c 'import ensurepip' 2>/dev/null || need+=("$package") ;;
    python3-dev) python3 -c 'import sysconfig,os,sys; sys.exit(not os.path.exists(sysconfig.get_path("include")+"/Python.h"))' || need+=("$package") ;;
    *) have "$package" || need+=("$package") ;;
  esac
done
[ ${#need[@]} -eq 0 ] && exit 0
if [ "$(id -u)" != 0 ]; then
  echo "These packages are missing; install them and run the command again:" >&2
  echo "  sudo apt-get install ${need[*]}" >&2
  exit 1
fi
echo "== system packages: ${need[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null

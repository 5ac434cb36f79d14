#!/bin/sh
# Starts the configured version of jitc; /usr/share/doc/jitc/README.Debian describes the folders.
tree=$(readlink -e /usr/lib/jitc/current) || {
    echo "@COMMAND@: the package jitc is not configured: run dpkg --configure jitc" >&2
    exit 1
}
exec "$tree/bin/python3" "$tree/bin/@COMMAND@" "$@"

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Events of a program's own: examples/events.c, from its build to its trace.
# usage: examples/events.sh      (after make)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${DEVTRACE_BUILD:-build}
devtrace=$build/devtrace
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

run() {
	printf '\n$ %s\n' "${*//$dir\//}"
	"$@"
}

# with sleds, to see the calls too; the events need only the header
run gcc -O2 -g -Iinclude -Bbuild/lib -o "$dir/shop" examples/events.c -pthread
run "$dir/shop"
run "$devtrace" list "$dir/shop"
run "$devtrace" record -o "$dir/shop.db" "$dir/shop"
run "$devtrace" calls "$dir/shop.db"
run "$devtrace" record -F 'TILL:*' -F 'message:*' -o "$dir/till.db" "$dir/shop"
run "$devtrace" cat -l "$dir/till.db"

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Activities from events: examples/activities.c is recorded, and two scripts tell how long its locks
# were held, and what each stage of its requests took.
# usage: examples/activities.sh      (after make)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${DEVTRACE_BUILD:-build}
devtrace=$build/devtrace
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

gcc -O2 -g -Iinclude -o "$dir/server" examples/activities.c -pthread
"$devtrace" record -o "$dir/server.db" "$dir/server"
"$devtrace" sql "$dir/server.db" - <examples/locks.sql
"$devtrace" sql "$dir/server.db" - <examples/stages.sql

#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes the relocator for RELOCATE_SECONDS (10): moved instructions must do what the originals do.
# RELOCATE_SEED says where it begins; without it, every run tries others. Speaks TAP.
cd "$(dirname "$0")/../.." || exit 1
seconds=${RELOCATE_SECONDS:-10}
seed=${RELOCATE_SEED:-$(date +%s)}
lib=/usr/lib/x86_64-linux-gnu
log=$(mktemp) && trap 'rm -f "$log"' EXIT
echo 1..1
if timeout $((seconds + 120)) "${DEVTRACE_BUILD:-build}/test/tool/fuzz-relocate" -s "$seconds" -r "$seed" \
	"$lib/libc.so.6" "$lib/libm.so.6" "$lib/libsqlite3.so.0" >"$log" 2>&1; then
	cat "$log"
	echo "ok 1 - moved instructions do the same (seed $seed)"
else
	sed 's/^\([^#]\)/# \1/' "$log"
	echo "not ok 1 - moved instructions do the same (seed $seed)"
	exit 1
fi

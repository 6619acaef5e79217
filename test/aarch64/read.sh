#!/bin/bash
# SPDX-License-Identifier: MIT
# Every command that reads traces prints on aarch64, under qemu-user, what it prints here: test/golden/ with the devtrace of
# `make ARCH=aarch64 build/aarch64/devtrace'. And what traces refuses. TAP; some minutes.
cd "$(dirname "$0")/../.." || exit 1
sysroot=$(packaging/cross/sysroot.sh aarch64) && scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
printf '#!/bin/sh\nexec qemu-aarch64-static -L "%s" "%s/build/aarch64/devtrace" "$@"\n' "$sysroot" "$PWD" >"$scratch/devtrace"
chmod +x "$scratch/devtrace"
said=$("$scratch/devtrace" record -o "$scratch/a.db" "$scratch/devtrace" 2>&1)
case $? in
0) echo "not ok - record did not refuse" ;;
*) case $said in
	*"tracing on aarch64 is not there yet"*) echo "ok - record refuses" ;;
	*) echo "not ok - record says: $said" ;;
	esac ;;
esac
DEVTRACE_BUILD=$scratch python3 test/golden/golden.t

#!/bin/bash
# SPDX-License-Identifier: MIT
# All functions of Debian's arm64 libc, busybox, Python and others are planned (plan.c beside this file, under qemu-user), and the
# plans compared with objdump's disassembly (plan.py): entries, exits, what is moved. TAP; a minute of processor time, and another
# where nothing has been built for aarch64.
cd "$(dirname "$0")/../.." || exit 1
left_out() {
	echo "1..1"
	echo "ok 1 # skip $1"
	exit 0
}
for p in aarch64-linux-gnu-gcc aarch64-linux-gnu-objdump qemu-aarch64-static; do
	command -v $p >/dev/null || left_out "'./install-deps.sh aarch64' installs what this needs: $p is missing"
done
sysroot=$(packaging/cross/sysroot.sh aarch64) && scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir -p build && flock build/aarch64.lock make -s -j2 ARCH=aarch64 build/aarch64/libplan.a >"$scratch/log" 2>&1 &&
	aarch64-linux-gnu-gcc --sysroot="$sysroot" -O1 -std=gnu11 -Wall -I. -D_GNU_SOURCE -o "$scratch/plan" test/aarch64/plan.c \
		build/aarch64/libplan.a -ldw -lelf -llzma -lsqlite3 -lzstd -liberty -lseccomp -lpthread -lm >>"$scratch/log" 2>&1 || {
	tail -n 20 "$scratch/log" | sed 's/^/# /'
	exit 1
}
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}
# pads: with landing pads and signed return addresses
aarch64-linux-gnu-gcc --sysroot="$sysroot" -O2 -mbranch-protection=standard -o "$scratch/pads" test/aarch64/known.c \
	test/aarch64/known-count.c -lpthread || exit 1
n=0
for f in "$scratch/pads" "$sysroot"/lib/aarch64-linux-gnu/{libc.so.6,ld-linux-aarch64.so.1} \
	"$sysroot"/usr/lib/aarch64-linux-gnu/{libstdc++.so.6,libgnutls.so.30,libgmp.so.10} "$sysroot"/usr/bin/python3.11 \
	"$cache/aarch64-busybox/root/bin/busybox"; do
	[ -e "$f" ] || continue
	n=$((n + 1))
	qemu-aarch64-static -L "$sysroot" "$scratch/plan" "$f" >"$scratch/out" 2>"$scratch/why" &&
		aarch64-linux-gnu-objdump -d "$f" >"$scratch/code" &&
		python3 test/aarch64/plan.py "$f" "$scratch/out" "$scratch/code" >"$scratch/says"
	rc=$?
	[ $rc = 0 ] && echo "ok $n - ${f##*/}: $(tail -n 1 "$scratch/says")" || {
		echo "not ok $n - ${f##*/}"
		cat "$scratch/why" "$scratch/says" | sed 's/^/# /'
	}
done
echo "1..$n"

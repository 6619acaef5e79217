#!/bin/bash
# SPDX-License-Identifier: MIT
# Random stretches of libc's and of made-up instructions, moved by up to 120 MB, leave the same registers as where they were
# (relocate.c beside this file, under qemu-user). ROUNDS: how many; SEED.
cd "$(dirname "$0")/../.." || exit 1
echo 1..1
command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64-static >/dev/null || {
	echo "ok 1 # skip 'make ARCH=aarch64 deps' installs what this needs: a cross compiler, and qemu-user"
	exit 0
}
sysroot=$(packaging/cross/sysroot.sh aarch64) && scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
seed=${SEED:-$RANDOM}
aarch64-linux-gnu-objcopy -O binary -j .text "$sysroot/lib/aarch64-linux-gnu/libc.so.6" "$scratch/words" &&
	aarch64-linux-gnu-gcc --sysroot="$sysroot" -static -O2 -I. -D_GNU_SOURCE -o "$scratch/relocate" test/aarch64/relocate.c \
		arch/aarch64/{insn,relocate,emit}.c arch/emit.c || exit 1
echo "# seed $seed"
timeout $((600 + ${ROUNDS:-20000} / 100)) qemu-aarch64-static "$scratch/relocate" "$seed" "${ROUNDS:-20000}" <"$scratch/words" | sed 's/ok - /ok 1 - /'
exit "${PIPESTATUS[0]}"

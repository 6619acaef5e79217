#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs with sleds for aarch64, by gcc and clang, at several levels and with signed return addresses and landing pads:
# what their functions call is what the rings have, of every policy, with signals (sleds.c beside this file, under qemu-user).
# RECORDS: how many of each policy; ALL=1: that many with each compiler.
cd "$(dirname "$0")/../.." || exit 1
command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64-static >/dev/null || {
	echo "1..1"
	echo "ok 1 # skip 'make ARCH=aarch64 deps' installs what this needs: a cross compiler, and qemu-user"
	exit 0
}
sysroot=$(packaging/cross/sysroot.sh aarch64) && scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
b=build/aarch64
mkdir -p build && flock build/aarch64.lock make -s ARCH=aarch64 "$b/libsleds.a" >"$scratch/log" 2>&1 || {
	sed 's/^/# /' "$scratch/log"
	exit 1
}
n=0 failed=0
say() { # say STATUS WHAT
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else failed=1 && echo "not ok $n - $2"; fi
}

# What no run on another processor shows: which instructions the order of an append depends on (test/litmus/).
aarch64-linux-gnu-objdump -d "$b/arch/aarch64/target/blob.elf" >"$scratch/blob"
hooks='entry exit jump exit_errno entry_from exit_from exit_errno_from jump_from'
bad=
for h in $hooks; do
	sed -n "/<${h}_start>:/,/<${h}_commit>:/p" "$scratch/blob" | grep -P '^ +[0-9a-f]+:' | cut -f3- >"$scratch/hook"
	# pos is loaded by ldar, after which comes the first store of the record; the last instruction publishes it
	[ "$(grep -cE '^ldar|^stlr' "$scratch/hook")" = 2 ] && grep -q $'^ldar\tx15, \\[x13\\]$' "$scratch/hook" || bad+=" $h:load"
	[ "$(tail -n 1 "$scratch/hook")" = $'stlr\tx15, [x13]' ] || bad+=" $h:publish"
	[ "$(sed '/^ldar/,$d' "$scratch/hook" | grep -c '^st')" = 0 ] || bad+=" $h:store"
done
[ -z "$bad" ]
say $? "hooks load pos by ldar and publish it by stlr, and store nothing before$bad"
grep -P '^ +[0-9a-f]+:' "$scratch/blob" | cut -f3- | grep -vE '^(b|cb|tb|adr)' | grep -E '\b[bhsdqv][0-9]+\b' | grep -vE '^str\s+[qd]0, ' >"$scratch/vectors"
[ ! -s "$scratch/vectors" ]
say $? "the blob stores vector registers only: $(head -n 1 "$scratch/vectors")"
! cmp -l <(tail -c +1 "$b/arch/aarch64/target/blob.bin") "$b/arch/aarch64/target/other.bin" >"$scratch/differ" && [ -s "$scratch/differ" ]
say $? "the blob has $(wc -l <"$scratch/differ") bytes that depend on where the session is"

export DEVTRACE_AS=
DEVTRACE_AS=$(command -v aarch64-linux-gnu-as)
try() { # try RECORDS FEW NAME COMPILER...
	local records=$1 few=$2 name=$3
	shift 3
	"$@" -I. -B build/lib -c -o "$scratch/functions.o" test/aarch64/sled-functions.c >"$scratch/log" 2>&1 &&
		aarch64-linux-gnu-gcc --sysroot="$sysroot" -o "$scratch/sleds" "$scratch/functions.o" -Wl,--gc-sections -Wl,--wrap=syscall \
			-Wl,--whole-archive "$b/libsleds.a" -Wl,--no-whole-archive -lpthread >>"$scratch/log" 2>&1 &&
		timeout $((60 + records / 5000)) qemu-aarch64-static -L "$sysroot" "$scratch/sleds" "$records" $few >"$scratch/out" 2>>"$scratch/log" &&
		grep -q '^1\.\.' "$scratch/out" && ! grep -q '^not ok' "$scratch/out"
	say $? "$name: $(grep -c '^ok' "$scratch/out") looks; $(sed -n 's/.*- wait: \(.* lost\);.*/\1/p' "$scratch/out")"
	if [ -n "$VERBOSE" ] || [ $failed = 1 ]; then cat "$scratch/log" "$scratch/out" | sed 's/^/# /'; fi
}

# sites of each kind in an object's table: entries, returns, tails, jumps
kinds() {
	aarch64-linux-gnu-objcopy -O binary -j devtrace_sites --set-section-flags devtrace_sites=alloc "$1" "$scratch/table" &&
		od -An -v -tu1 -w12 "$scratch/table" | awk '{n[$9]++} END {print n[1] + 0, (n[2] > 0), n[3] + 0, n[4] + 0}'
}
# jumps WANTED COMPILER...: of what branches through registers
jumps() {
	local want=$1 got
	shift
	"$@" -B build/lib -c -o "$scratch/jumps.o" test/aarch64/sled-jumps.c 2>"$scratch/log" && got=$(kinds "$scratch/jumps.o")
	[ "$got" = "$want" ] && aarch64-linux-gnu-objdump -d "$scratch/jumps.o" | grep -q $'\tbr\t'
	say $? "branches through registers, ${*: -3}: $got, expected $want"
}
for option in -O2 -Os; do
	jumps "2 1 0 1" aarch64-linux-gnu-gcc "$option" -fno-if-conversion -fno-tree-switch-conversion
	jumps "2 1 0 0" aarch64-linux-gnu-gcc -DGOTO "$option"
	jumps "3 1 0 1" aarch64-linux-gnu-gcc -DRAW "$option"
	! command -v clang >/dev/null || {
		jumps "2 1 0 1" clang --target=aarch64-linux-gnu -fno-integrated-as "$option"
		jumps "2 1 0 0" clang --target=aarch64-linux-gnu -fno-integrated-as -DGOTO "$option"
		jumps "3 1 0 1" clang --target=aarch64-linux-gnu -fno-integrated-as -DRAW "$option"
	}
done
# a landing pad and what signs the return address stay the first instruction
aarch64-linux-gnu-gcc -O2 -mbranch-protection=standard -I. -B build/lib -c -o "$scratch/signed.o" test/aarch64/sled-functions.c &&
	first=$(aarch64-linux-gnu-objdump -d "$scratch/signed.o" | grep -A 1 '>:$' | grep -P '^ ' | cut -f3- | sort | uniq -c | tr -s ' \n\t' ' ') &&
	[ "$first" = " 6 bti c 1 paciasp " ]
say $? "functions begin with$first"

records=${RECORDS:-60000}
try "$records" "" "gcc -O2" aarch64-linux-gnu-gcc -O2
few=few
if [ -n "$ALL" ]; then few=; else records=10000; fi
try "$records" "$few" "gcc -O0" aarch64-linux-gnu-gcc -O0
try "$records" "$few" "gcc -O2, signed and padded, nops for patching" aarch64-linux-gnu-gcc -O2 -mbranch-protection=standard -fpatchable-function-entry=2
if command -v clang >/dev/null; then
	try "$records" "$few" "clang -O2" clang --target=aarch64-linux-gnu -fno-integrated-as -O2
	try "$records" "$few" "clang -O1, signed and padded" clang --target=aarch64-linux-gnu -fno-integrated-as -O1 -mbranch-protection=standard
fi
echo "1..$n"
exit $failed

#!/bin/bash
# SPDX-License-Identifier: MIT
# What devtrace records on aarch64 of a program with and without sleds (known.c), in a machine of its own with Debian's kernel (guest.sh):
# record.sh says what is tried there. The files that it has made are read here, too. TAP; some 50 s of processor time.
# MANY=N: N times as many calls. Without it, this is left out where devtrace has not been built for aarch64, which takes minutes.
cd "$(dirname "$0")/../.." || exit 1
for p in aarch64-linux-gnu-gcc qemu-system-aarch64 cpio; do
	command -v $p >/dev/null || {
		echo "1..1"
		echo "ok 1 # skip './install-deps.sh aarch64' installs what this needs: $p is missing"
		exit 0
	}
done
[ -n "${MANY-}" ] || [ -x build/aarch64/devtrace ] || {
	echo "1..1"
	echo "ok 1 # skip build/aarch64/devtrace is missing: 'make ARCH=aarch64' makes it"
	exit 0
}
sysroot=$(packaging/cross/sysroot.sh aarch64) && scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
b=build/aarch64
mkdir -p build && flock build/aarch64.lock make -s -j2 ARCH=aarch64 $b/devtrace >"$scratch/log" 2>&1 || {
	tail -n 20 "$scratch/log" | sed 's/^/# /'
	exit 1
}
export DEVTRACE_AS=
DEVTRACE_AS=$(command -v aarch64-linux-gnu-as)
gcc=(aarch64-linux-gnu-gcc --sysroot="$sysroot" -g -Wall)
"${gcc[@]}" -O2 -c -o "$scratch/count.o" test/aarch64/known-count.c || exit 1
# kind NAME WORD...: the program and its library, compiled in this way
kind() {
	local name=$1
	shift
	"${gcc[@]}" "$@" -c -o "$scratch/known.o" test/aarch64/known.c &&
		"${gcc[@]}" "$@" -shared -fPIC -o "$scratch/plug-$name.so" test/aarch64/plug.c &&
		"${gcc[@]}" ${LINK-} -o "$scratch/known-$name" "$scratch/known.o" "$scratch/count.o" -lpthread
}
kind sleds -O1 -foptimize-sibling-calls -B build/lib && kind plain -O2 &&
	LINK=-Wl,-z,now kind pads -O1 -foptimize-sibling-calls -mbranch-protection=standard || exit 1
sed "s/^many=1$/many=${MANY:-1}/" test/aarch64/record.sh >"$scratch/record.sh"
test/aarch64/guest.sh "$scratch/record.sh" $b/devtrace "$scratch"/{known,plug}-{sleds,plain,pads}* >"$scratch/console" 2>&1
grep -E '^(ok|not ok|#) ' "$scratch/console"
n=$(grep -cE '^(ok|not ok) ' "$scratch/console")
say() { # say STATUS WHAT
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}
grep -q '^RUN-RC 0' "$scratch/console" && grep -q '^1\.\.' "$scratch/console"
say $? "it ran to the end"
! grep -E 'WARNING:|BUG:|Oops|Call trace|Internal error|stall|Unable to handle' "$scratch/console"
say $? "the kernel has nothing to complain of"
# a trace of that machine, read on this one
sed -n 's/^@file //p' "$scratch/console" | base64 -d >"$scratch/calls.db" 2>/dev/null
build/devtrace check "$scratch/calls.db" >"$scratch/check" 2>&1 && grep -q 'sound: .*, 0 lost' "$scratch/check"
say $? "its trace, read here: $(head -n 1 "$scratch/check")"
# without names of addresses, which are read from files of the processor that devtrace runs on
sed -n 's/^@calls //p' "$scratch/console" | sed 's/ <[A-Za-z_][^<> ]*>//g' >"$scratch/there"
build/devtrace calls --fields none "$scratch/calls.db" 2>&1 | sed 's/ <[A-Za-z_][^<> ]*>//g' >"$scratch/here"
[ -s "$scratch/here" ] && cmp -s "$scratch/here" "$scratch/there"
say $? "its calls are the same here: $(wc -l <"$scratch/here") lines"
[ -z "${CONSOLE-}" ] || cp "$scratch/console" "$CONSOLE"
echo "1..$n"

#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Programs with glibc 2.31, of Debian 11, which registers no rseq: the counting program (test/counted/churn.c) with
# everything of it and its libc probed, to the call; one thread without libpthread, whose id libc keeps nowhere; both also
# static, and attached to. TAP.
# usage: old-libc.sh DEVTRACE
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
devtrace=$(realpath "$1")
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/devtrace}/bullseye
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 1..6

. "$root/test/unpacked.bash"
unpacked "$cache" bullseye libc6 libc6-dev libgcc-s1 || {
	tail -n 5 "$cache/log" | sed 's/^/# /'
	echo "Bail out! Debian 11's libc is not to be had"
	exit 1
}
# a link that is absolute there
ln -sf ../lib/x86_64-linux-gnu/ld-2.31.so "$cache/root/lib64/ld-linux-x86-64.so.2"

lib=$cache/root/lib/x86_64-linux-gnu
with=(--sysroot="$cache/root" -B"$cache/root/usr/lib/x86_64-linux-gnu" -L"$lib" -L"$cache/root/usr/lib/x86_64-linux-gnu"
	"-Wl,--dynamic-linker=$cache/root/lib64/ld-linux-x86-64.so.2,-rpath,$lib")
cat >"$work/one.c" <<-'C'
	#include <stdio.h>
	#include <unistd.h>
	__attribute__((noinline)) int leaf(int x) { __asm__ volatile(""); return x + 1; }
	int main(int argc, char **argv)
	{
		int n = 0;
		while (n < 20000 || (argc > 1 && access(argv[1], F_OK)))
			n = leaf(n);
		printf("%d %d\n", getpid(), n);
		return 0;
	}
C
# what the newer compiler's own library looks for
echo 'int _dl_find_object(void *at, void *to) { return -1; }' >"$work/stub.c"
{
	gcc -c -o "$work/stub.o" "$work/stub.c" &&
		gcc -O1 -g "${with[@]}" -o "$work/one" "$work/one.c" &&
		gcc -O1 -g "${with[@]}" -static -o "$work/one-static" "$work/one.c" "$work/stub.o" &&
		gcc -O2 -g "${with[@]}" -o "$work/churn" "$root/test/counted/churn.c" -Wl,--no-as-needed "$lib"/lib{pthread.so.0,rt.so.1,gcc_s.so.1} &&
		gcc -O2 -g "${with[@]}" -static -o "$work/churn-static" "$root/test/counted/churn.c" "$work/stub.o" -Wl,--start-group -lpthread -lrt -Wl,--end-group -pthread
} >"$work/log" 2>&1 || { sed 's/^/# /' "$work/log"; echo "Bail out! programs can not be built with it"; exit 1; }
cd "$work" || exit 1

n=0
# try WHAT COMMAND...
try() {
	local what=$1
	n=$((n + 1))
	shift
	if "$@" >why 2>&1; then echo "ok $n - $what"; else echo "not ok $n - $what" && sed 's/^/# /' why err; fi
}

# leaf ID N: each of so many calls is there, of the thread with that id (any: -); nothing was lost, and the shared ring has
# only what ran before there was a block, or in children without one
leaf() {
	local thread
	[ "$1" = - ] && thread= || thread="AND thread = $1"
	[ "$("$devtrace" sql -n t.db "SELECT count(*) FROM calls WHERE function = 'leaf' $thread")" = "$2" ] &&
		[ "$(sqlite3 t.db 'SELECT total(lost) FROM loss')" = 0.0 ] &&
		[ "$(sqlite3 t.db 'SELECT total((core = 65535) * records) < total(records) / 5 FROM chunk')" = 1 ] &&
		"$devtrace" check -q t.db
}

one() {
	"$devtrace" record -o t.db -F leaf "./$1" >out 2>err && leaf $(cat out)
}

many() {
	local i
	for i in 1 2 3 4 5; do
		"$devtrace" record -o t.db -F "$1:*" -F 'libc-2.31.so:*' -F 'libpthread*:*' "./$1" 20 >out 2>err && leaf - "$(cat out)" || return
	done
}

attached() {
	local pid tracer i
	for i in 1 2; do
		rm -f go t.db*
		./one go >out &
		pid=$!
		until [ "$(cat /proc/$pid/comm)" = one ]; do sleep 0.01; done
		"$devtrace" attach -p overwrite -o t.db -F leaf $pid 2>err &
		tracer=$!
		sleep 1
		kill -INT $tracer
		wait $tracer || return
		touch go
		wait $pid || return
		[ "$("$devtrace" sql -n t.db "SELECT DISTINCT thread FROM records")" = $pid ] &&
			[ "$(sqlite3 t.db 'SELECT count(*) FROM chunk WHERE core = 65535')" = 0 ] || return
	done
}

child() {
	"$devtrace" record -o t.db -f -F leaf sh -c './one; ./one-static' >out 2>err || return
	while read -r id calls; do leaf "$id" "$calls" || return; done <out
}

try "one thread without libpthread" one one
try "the same, static" one one-static
try "threads that come and go, all of libc and libpthread probed: every call" many churn
try "the same, static" many churn-static
try "attached to twice: the thread's id, and its core's ring" attached
try "executed by a shell" child

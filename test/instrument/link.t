#!/bin/bash
# SPDX-License-Identifier: MIT
# Sleds and the linker: sections dropped and merged, shared objects, what ships with a program.
. "$(dirname "$0")/lib.sh"
tools

cat >gc.c <<'C'
#include <stdio.h>
int unused_one(int x) { return x * 3; }
int unused_two(int x) { return unused_one(x) + 1; }
__attribute__((section(".text.notrace"))) int quiet(int x) { return x - 1; }
__attribute__((section("special_code"))) int special(int x) { return x - 2; }
__attribute__((noinline)) int used(int x) { return quiet(x) + special(x) + 1; }
int main(void) { printf("%d\n", used(4)); return 0; }
C
cat >inline.h <<'C'
#include <string>
template <typename T> __attribute__((noinline)) T shared(T x) { return x + x; }
struct S { virtual ~S() {} virtual int v(int x) { return shared(x); } };
C
printf '#include "inline.h"\nint one(S *s) { return s->v(1) + shared(2); }\n' >one.cc
printf '#include "inline.h"\nint one(S *);\nint main() { S s; return one(&s) + shared(3) - 12; }\n' >two.cc

bytes_of() { objdump -h "$1" | awk -v n="$2" '$2 == n { print $3 }'; }

# the dropped functions' entries are gone with them
gc() {
	cc "$1" -O2 -ffunction-sections "$2" gc.c -o kept &&
		cc "$1" -O2 -ffunction-sections "$2" -Wl,--gc-sections gc.c -o dropped &&
		./dropped | grep 6 && nm dropped | grep used && ! nm dropped | grep unused &&
		./sledcheck -n quiet dropped && ./sledcheck -n quiet kept &&
		[ $((0x$(bytes_of kept devtrace_sites) - 0x$(bytes_of dropped devtrace_sites))) -ge 48 ]
}
# gold drops the whole table: the program is right, but has no sites
gc_gold() {
	cc gcc -O2 -ffunction-sections -fuse-ld=gold -Wl,--gc-sections gc.c -o dropped &&
		./dropped | grep 6 && [ -z "$(bytes_of dropped devtrace_sites)" ]
}
no_gc_gold() { cc gcc -O2 -fuse-ld=gold gc.c -o kept && ./sledcheck -n quiet kept; }
comdat() {
	cc "$1" -O1 "$2" one.cc two.cc -o both && ./both && ./sledcheck both &&
		[ "$(nm both | grep -c ' __devtrace_hooks$')" = 1 ]
}
# one object with sleds for an inline function and one without, in either order
mixed() {
	"$1" -O1 -c two.cc -o two.o && cc "$1" -O1 -c one.cc -o one.o &&
		"$1" "$2" one.o two.o -o mixed && ./mixed && ./sledcheck -f one.names mixed &&
		"$1" "$2" two.o one.o -o mixed && ./mixed && ./sledcheck -f one.names mixed
}
echo _Z3oneP1S >one.names
for ld in bfd lld; do
	for c in gcc clang; do
		[ $c = gcc ] && cxx=g++ || cxx=clang++
		ok "$c, $ld --gc-sections drops sites" gc $c -fuse-ld=$ld
		ok "$c, $ld: COMDAT functions and one set of thunks" comdat $cxx -fuse-ld=$ld
	done
	ok "$ld: inline functions with and without sleds" mixed g++ -fuse-ld=$ld
done
ok "gold" no_gc_gold
ok "gold --gc-sections" gc_gold

# GNU ld -r makes one table of all, which a later --gc-sections keeps or drops as a whole
partial() {
	cc gcc -O2 -ffunction-sections -c gc.c -o gc.o && ld -r gc.o -o gc-r.o && gcc gc-r.o -o partial &&
		./partial | grep 6 && ./sledcheck -n quiet partial && ld.lld -r gc.o -o gc-r.o &&
		gcc -Wl,--gc-sections gc-r.o -o partial && ./partial | grep 6 && ./sledcheck -n quiet partial
}
ok "ld -r" partial
merged() {
	cc g++ -O1 -c one.cc two.cc && ld -r one.o two.o -o merged.o && g++ merged.o -o merged &&
		./merged && ./sledcheck merged
}
ok "ld -r with COMDAT groups" merged
folded() {
	cc clang -O2 -ffunction-sections -fuse-ld=lld -Wl,--icf=all gc.c -o folded && ./folded | grep 6 &&
		./sledcheck -n quiet folded
}
ok "lld --icf=all" folded
stripped() {
	cc gcc -O2 gc.c -o gc.full && cp gc.full gc.strip && strip gc.strip && ./gc.strip | grep 6 &&
		[ "$(bytes_of gc.full devtrace_sites)" = "$(bytes_of gc.strip devtrace_sites)" ] &&
		objcopy --only-keep-debug gc.full gc.debug
}
ok "strip keeps the table" stripped

cat >plugin.c <<'C'
static int depth;
__attribute__((noinline)) int inner(int x) { return x + ++depth; }
int plugin(int x) { return inner(x) * 2 + inner(x); }
C
cat >host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	void (*rescan)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "harness_rescan");
	long sum = 0;

	for (int i = 1; i < argc; i++) {
		void *h = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		int (*f)(int) = h ? (int (*)(int))dlsym(h, "plugin") : NULL;
		if (!f)
			exit(1);
		if (rescan)
			rescan();
		for (int j = 0; j < 100; j++)
			sum += f(j);
		if (i == 1)
			dlclose(h);
	}
	printf("%ld\n", sum);
	return 0;
}
C
# host: 1 call; each of two plugins: 100 calls of 3 functions; the first is closed again
modules() {
	cc gcc -O2 -fPIC -shared plugin.c -o one.so && cp one.so two.so && cc gcc -O1 host.c -o host -ldl &&
		./sledcheck one.so && ./sledcheck host && ./host ./one.so ./two.so >off &&
		SLEDS=on SLEDS_OUT=count LD_PRELOAD=./harness.so ./host ./one.so ./two.so >on &&
		diff off on && cat count && grep 'entry 601 exit 601' count
}
ok "shared objects have their own hooks" modules

# what a program needs is what it needs without sleds; nothing is relocated in its code
needs() { readelf -dW "$1" | grep -E 'NEEDED|TEXTREL|RPATH|RUNPATH'; }
relocations() { readelf -rW "$1" | awk '/R_X86/ { print $3, $5 }'; }
exports() { nm -D "$1" | awk '{ print $NF }'; }
ships() {
	gcc -O2 "$@" gc.c -o plain && cc gcc -O2 "$@" gc.c -o with &&
		diff <(needs plain) <(needs with) &&
		diff <(relocations plain | wc -l) <(relocations with | wc -l) &&
		diff <(exports plain) <(exports with) &&
		! readelf -lW with | grep -E 'LOAD.*RWE|GNU_STACK.*RWE' &&
		./sledcheck -n quiet -f gc.names with && env -i ./with | grep 6
}
printf 'used\nmain\nunused_one\nunused_two\nspecial\n' >gc.names
ok "nothing new is needed at run time" ships
ok "nothing new is needed at run time, shared" ships -fPIC -rdynamic
ok "nothing new is needed at run time, static-pie" ships -static-pie

lto_clang() {
	clang -O2 -flto -fuse-ld=lld gc.c -Wl,--lto-emit-asm -o lto.s && "$lib/as" lto.s -o lto.o &&
		gcc lto.o -o lto && ./lto | grep 6 && ./sledcheck lto
}
ok "clang -flto through lld --lto-emit-asm" lto_clang
plan

#!/bin/bash
# SPDX-License-Identifier: MIT
# Functions of files without symbols and unwind tables: at least 95 % of the targets of direct calls are
# found, next to nothing that is no beginning, and what is hooked does the same and is recorded as with
# symbols. compare.py and counts.py do the work. FOUND_ALL=1: many more (make soak).
# B: the build directory (build).
set -u
cd "${DEVTRACE_ROOT:-$(dirname "$0")/../..}" || exit 1
root=$PWD B=${B:-${DEVTRACE_BUILD:-$PWD/build}}
case $B in /*) ;; *) B=$PWD/$B ;; esac
[ -x "$B/devtrace" ] || { echo "not ok - $B/devtrace is missing: make"; exit 1; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/devtrace-found.XXXXXX") && trap 'rm -rf "$dir"' EXIT
export XDG_RUNTIME_DIR=$dir PYTHONHASHSEED=0 LC_ALL=C
n=0
unwind="-R .eh_frame -R .eh_frame_hdr -R .gnu_debugdata -R .note.gnu.build-id -R .gnu_debuglink"

say() {
	n=$((n + 1))
	[ "$1" = 0 ] && echo "ok $n - found: $2" || { sed 's/^/# /' "$dir/said"; echo "not ok $n - found: $2"; }
}

# found NAME WHOLE BARE: of M call targets, at most one in 20 (or one) is missing, and one start in 200 is false
found() {
	local line
	line=$(python3 test/found/compare.py "$B/devtrace" "$2" "$3" 2>&1 | head -n 1)
	echo "$line" >"$dir/said"
	[[ $line =~ found\ ([0-9]+)\ of\ ([0-9]+)\ direct.*\ ([0-9]+)\ false ]] &&
		{ [ $((BASH_REMATCH[1] * 100)) -ge $((BASH_REMATCH[2] * 95)) ] ||
			[ $((BASH_REMATCH[1] + 1)) -ge "${BASH_REMATCH[2]}" ]; } && [ "${BASH_REMATCH[1]}" -gt 0 ] &&
		[ $((BASH_REMATCH[3] * 200)) -le $((BASH_REMATCH[1])) ]
	say $? "$1: ${BASH_REMATCH[1]:-none} of ${BASH_REMATCH[2]:-none} call targets, ${BASH_REMATCH[3]:-no} false"
}

# counted NAME WHOLE BARE ARGUMENT...
counted() {
	local name=$1
	shift
	python3 test/found/counts.py "$B/devtrace" "$@" >"$dir/said" 2>&1
	say $? "$name: $(head -n 1 "$dir/said" | cut -d: -f2-)"
}

# built NAME COMMAND...: COMMAND -o FILE makes the program. With symbols it has no unwind tables either, so
# that both are the same but for those. Their paths are as long as each other: programs look at theirs
built() {
	local name=$1
	shift
	if ! "$@" -o "$dir/full" >"$dir/said" 2>&1; then
		say 1 "$name does not compile"
		return
	fi
	# shellcheck disable=SC2086
	objcopy $unwind "$dir/full" "$dir/syms" && objcopy --strip-all $unwind "$dir/full" "$dir/bare"
	found "$name" "$dir/syms" "$dir/bare"
	counted "$name" "$dir/syms" "$dir/bare"
}

# debian PROGRAM ARGUMENT...: what unwind tables say of it is the truth
debian() {
	local path
	path=$(PATH=/usr/bin:/bin:/usr/sbin:/sbin command -v "$1") && path=$(readlink -f "$path") || { echo "# skip $1: it is not installed"; return; }
	cp "$path" "$dir/syms"
	# shellcheck disable=SC2086
	objcopy --strip-all $unwind "$dir/syms" "$dir/bare"
	found "${path##*/}" "$dir/syms" "$dir/bare"
	[ $# = 1 ] || counted "${path##*/}" "$dir/syms" "$dir/bare" "${@:2}"
}

# mixed COMPILER LEVEL: C without unwind tables in a C++ program that has some, and whose exceptions work
mixed() {
	cat >"$dir/mixed.cc" <<-'C'
		#include <cstdio>
		#include <stdexcept>
		#include <string>
		extern "C" int shapes_main(int, char **);
		struct guard { int *n; explicit guard(int *p) : n(p) {} ~guard() { ++*n; } };
		__attribute__((noinline)) int inner(int n, int *left) {
			guard g(left);
			if (n % 3 == 0) throw std::runtime_error("n" + std::to_string(n));
			return n;
		}
		__attribute__((noinline)) int outer(int n, int *left) {
			guard g(left);
			try { return inner(n, left); } catch (const std::exception &e) { return e.what()[0]; }
		}
		int main(int c, char **v) {
			int left = 0, sum = 0;
			for (int i = 0; i < 60; i++) sum += outer(i, &left);
			std::printf("%d %d\n", sum, left);
			return shapes_main(c, v);
		}
	C
	"$1" "$2" -w -fno-asynchronous-unwind-tables -Dmain=shapes_main -c -o "$dir/shapes.o" test/found/shapes.c &&
		"$1" "$2" -w -c -o "$dir/mixed.o" "$dir/mixed.cc" &&
		"$1" -o "$dir/syms" "$dir/mixed.o" "$dir/shapes.o" -lstdc++ && strip -o "$dir/bare" "$dir/syms"
	found "C without unwind tables in C++ $1 $2" "$dir/syms" "$dir/bare"
	counted "C without unwind tables in C++ $1 $2" "$dir/syms" "$dir/bare"
}

pascal() {
	cat >"$dir/p.pas" <<-'P'
		program p;
		{$mode objfpc}
		uses sysutils, classes;
		type TShape = class function area: double; virtual; abstract; end;
		     TSq = class(TShape) s: double; function area: double; override; end;
		function TSq.area: double; begin result := s * s; end;
		function fib(n: integer): int64; begin if n < 2 then fib := n else fib := fib(n - 1) + fib(n - 2); end;
		procedure thrower(i: integer); begin if i mod 3 = 0 then raise Exception.Create('e' + inttostr(i)); end;
		var i, caught: integer; l: TStringList; q: TSq; t: double;
		begin
		  caught := 0; t := 0;
		  for i := 1 to 100 do try thrower(i); except on e: Exception do inc(caught); end;
		  l := TStringList.create; for i := 1 to 200 do l.add(inttostr((i * 7919) mod 1000)); l.sort;
		  q := TSq.create; for i := 1 to 50 do begin q.s := i; t := t + q.area; end;
		  writeln(fib(20), ' ', caught, ' ', l[17], ' ', t:0:3, ' ', format('%8.3f|%s', [pi, 'x']));
		end.
	P
	fpc "$1" -Xs- "-o$dir/full" "$dir/p.pas"
}

all=${FOUND_ALL:-}
levels="-O0 -O2 -Os"
[ "$all" ] && levels="-O0 -O1 -O2 -O3 -Os"
for cc in gcc clang; do
	for level in $levels; do
		built "shapes $cc $level" $cc $level -w test/found/shapes.c
	done
done
mixed gcc -O2
mixed clang -O1
built "shapes gcc -static -O2" gcc -O2 -static -w test/found/shapes.c
for ((seed = 1; seed <= ${all:+12} + !${all:+1}0; seed++)); do
	test/known/generate.py "$seed" c++ >"$dir/g$seed.cc"
	test/known/generate.py "$seed" c >"$dir/g$seed.c"
	for level in ${all:+$levels} ${all:--O2}; do
		[ "$level" = 1 ] && continue
		built "random C++ $seed g++ $level" g++ $level -w -Itest/programs "$dir/g$seed.cc" -pthread -lm
		built "random C $seed clang $level" clang $level -w -Itest/programs "$dir/g$seed.c" -pthread -lm
	done
done
if command -v fpc >/dev/null; then
	for level in -O2 ${all:+-O- -O3}; do built "Free Pascal $level" pascal "$level"; done
else
	echo "# skip Free Pascal: no fpc"
fi
# shellcheck disable=SC2016
debian dash -c 'i=0; while [ $i -lt 50 ]; do i=$((i+1)); f() { echo $1; }; f $i; done; case abc in a*) echo y;; esac'
if [ "$all" ]; then
	built "static C++" g++ -static -O2 -w -Itest/programs "$dir/g1.cc" -pthread -lm
	built "static C -O0" gcc -static -O0 -w -Itest/programs "$dir/g1.c" -pthread -lm
	built "static-pie" gcc -static-pie -O2 -w test/found/shapes.c
	built "no frames" gcc -O2 -fno-asynchronous-unwind-tables -fcf-protection=none -w test/found/shapes.c
	built "fixed address" gcc -O2 -no-pie -fno-pic -w test/found/shapes.c
	built "fixed address, clang" clang -O1 -no-pie -fno-pic -w test/found/shapes.c
	built "branch protection" gcc -O2 -fcf-protection=full -w test/found/shapes.c
	built "functions packed" gcc -O2 -falign-functions=1 -w test/found/shapes.c
	debian sed -e 's/a/b/g;/x/d;y/abc/xyz/' /usr/share/common-licenses/GPL-2
	debian sqlite3 :memory: 'create table t(a,b); insert into t values(1,2),(3,4); select sum(a*b) from t group by b;'
	debian find /usr/share/common-licenses -name 'G*' -size +1
	debian bc -q /dev/null
	debian xz -kc9 /usr/share/common-licenses/GPL-2
	debian gawk '{ n[$1]++; gsub(/[aeiou]/, "_") } END { for (w in n) s += n[w] * length(w); print s }' /usr/share/common-licenses/GPL-2
	debian objdump -d /bin/true
	debian git --version
	debian gdb -nx -batch -ex 'print 6*7'
	debian bash -c 'for i in 1 2 3; do a[$i]=$((i*i)); done; echo "${a[@]}"; [[ abc =~ b.* ]] && echo y'
	debian perl -e 'print join q(,), map { $_ * 7 % 101 } 1 .. 999'
	debian python3.11 # what it does depends on its name
	debian ldconfig
fi
echo "1..$n"

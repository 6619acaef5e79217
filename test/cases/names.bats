#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Names of functions for which a file has no symbol: from its code, and from other files.
load devtrace

setup() {
	dir=$(mktemp -d)
	cd "$dir"
}

teardown() {
	check_traces
	rm -rf "$dir"
	cd /
}

# address FILE SYMBOL: as nm has it, 0x1139
address() {
	nm "$1" | awk -v name="$2" '$3 == name { sub(/^0*/, "", $1); print "0x" $1 }'
}

@test "names: _start and main of a stripped program, however it is linked" {
	cat >two.c <<-'C'
		#include <stdlib.h>
		__attribute__((noinline, noipa)) static int twice(int n) { return 2 * n; }
		int main(int argc, char **argv) { return twice(atoi(argv[1])) + 2; }
	C
	local options name main start
	for options in "-O2" "-O0 -no-pie" "-O2 -static" "-O2 -static-pie" "-O1 -fcf-protection=none" "-O2 -Wl,-z,now -fno-plt" \
		"-O2 -fno-asynchronous-unwind-tables" "-O2 -no-pie -fno-asynchronous-unwind-tables" "-O0 -fcf-protection -Wl,-z,lazy"; do
		name="two ${options// /}"
		gcc $options -o "$name" two.c
		main=$(address "$name" main) start=$(address "$name" _start)
		strip "$name"
		"$dt" list -v "$name" >list
		[ "$(awk -F'\t' -v f="$name" '$1 == f ":main" { print $2 } ' list)" = "$main" ] || { echo "$name"; false; }
		[ "$(awk -F'\t' -v f="$name" '$1 == f ":_start" { print $2 } ' list)" = "$start" ]
		grep -q '	.*start-up code: chosen by its exact name only' list
		# main is hooked, also if no table says where it ends; _start is no part of everything
		run "$dt" record -o t.db -F '*' "./$name" 20
		[ "$status" = 42 ]
		[ "$("$dt" sql -n t.db "SELECT group_concat(result) FROM calls WHERE function = 'main'")" = 42 ] || { echo "$name"; false; }
		[ "$("$dt" sql -n t.db "SELECT count(*) FROM calls WHERE function = '_start'")" = 0 ]
		run "$dt" record -o t.db -F _start "./$name" 20
		[ "$("$dt" sql -n t.db "SELECT group_concat(DISTINCT function) FROM calls")" = _start ]
	done
	# an address inside of main is in main, and what follows main is not
	gcc -O0 -o two two.c
	main=$(address two main)
	strip two
	run "$dt" record -o t.db -T "main+4" ./two 1
	"$dt" sql -n t.db "SELECT DISTINCT event FROM events" | grep -x 'main+4'
	"$dt" list two | grep -c '^two+0x'
}

@test "names: what only looks like _start gives main no name" {
	cat >like.S <<-'S'
		.globl like
		.text
		like:
			xor %ebp, %ebp
			mov %rdx, %r9
			pop %rsi
			mov %rsp, %rdx
			and $-16, %rsp
			push %rax
			push %rsp
			xor %r8d, %r8d
			xor %ecx, %ecx
			lea TARGET(%rip), %rdi
			call *CALLED@GOTPCREL(%rip)
			hlt
			.fill 8, 1, 0xcc
			.cfi_startproc
		work:	xor %eax, %eax
		inside:	ret
			.cfi_endproc
			.section .note.GNU-stack
	S
	link() {
		gcc -c -DTARGET="$1" -DCALLED="$2" -o like.o like.S
		gcc -nostartfiles -Wl,-e,like,-z,norelro,--no-relax -o "like-$1-$2" like.o || echo "not linked"
		strip "like-$1-$2"
		"$dt" list -v "like-$1-$2" 2>&1 | grep -cE ':(main|_start)' || true
	}
	[ "$(link work __libc_start_main)" = 2 ]
	[ "$(link work getpid)" = 0 ]
	[ "$(link inside __libc_start_main)" = 0 ]
	[ "$(link environ __libc_start_main)" = 0 ]
}

# minimal FILE: puts symbols into .gnu_debugdata and strips the rest, as Fedora's find-debuginfo does
minimal() {
	nm -D --format=posix --defined-only "$1" | awk '{ print $1 }' | sort >exported
	nm --format=posix --defined-only "$1" | awk '$2 ~ /^[TtD]$/ { print $1 }' | sort | comm -13 exported - >kept
	objcopy --only-keep-debug "$1" minidebug
	objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=kept minidebug mini
	rm -f mini.xz
	xz mini
	strip "$1"
	objcopy --add-section .gnu_debugdata=mini.xz "$1"
}

@test "names: of functions that only .gnu_debugdata has" {
	cat >mini.c <<-'C'
		#define FN __attribute__((noinline, noipa))
		FN static int first(int n) { return n + 1; }
		FN static int second(int n) { return first(n) + first(n + 1); }
		FN int third(int n) { return second(n) * 2; }
		int main(void) { return third(2) != 14; }
	C
	gcc -O2 -rdynamic -o prog mini.c
	nm prog | awk '$2 ~ /^[Tt]$/ { print "prog:" $3 }' | sort >want
	minimal prog
	[ "$(nm prog 2>&1)" = "nm: prog: no symbols" ]
	! nm -D prog | grep -w first || false
	"$dt" list -v prog | sed 's/\t.*//' | sort | diff want -
	run "$dt" record -o t.db -F first -F 'prog:sec*' -F third ./prog
	[ "$status" = 0 ]
	[ "$("$dt" sql -n t.db "SELECT group_concat(function, ' ') FROM (SELECT function FROM calls ORDER BY begin_ticks)")" = "third second first first" ]
}

@test "names: a .gnu_debugdata that is damaged, or a bomb" {
	echo 'static __attribute__((noipa)) int first(int n) { return n + 1; } int main(void) { return first(2) != 3; }' >prog.c
	gcc -O2 -o whole prog.c
	cp whole prog
	minimal prog
	# more than any program's symbols, behind what begins as an ELF file; half of it; others' bytes; nothing
	{ xz -dc mini.xz && head -c 300M /dev/zero; } | xz -0 >bomb.xz
	head -c $(($(stat -c %s mini.xz) / 2)) mini.xz >half.xz
	cat <(head -c 100 mini.xz) <(head -c 3000 /bin/true) >mixed.xz
	head -c 5000 /bin/true >none.xz
	xz -c <<<"no file" >text.xz
	: >empty.xz
	for kind in bomb half mixed none text empty; do
		strip -o prog whole
		objcopy --add-section .gnu_debugdata=$kind.xz prog
		run timeout 20 /usr/bin/time -f 'peak %M' "$dt" list prog
		[ "$status" = 0 ]
		[[ $output == *prog:main* ]]
		[[ $output != *prog:first* ]]
		[[ ${build:-} == *san* ]] || [ "$(grep -oP '^peak \K.*' <<<"$output")" -lt 200000 ]
	done
}

@test "names: of C++ without the arguments of templates that nobody writes; patterns may have them" {
	cat >short.cc <<-'C'
		#include <functional>
		#include <map>
		#include <memory>
		#include <string>
		#include <vector>
		#define FN __attribute__((noinline, noipa))
		template <class T> struct other { using value_type = T; T *allocate(size_t n) { return std::allocator<T>().allocate(n); }
			void deallocate(T *p, size_t n) { std::allocator<T>().deallocate(p, n); } bool operator==(const other &) const { return true; } };
		template <class T> FN int of(const T &v) { return (int)v.size(); }
		template <class T, class A> struct own { FN int size() const { return 7; } };
		template <class T> FN int owns(const T &v) { return v != nullptr; }
		int main()
		{
			return of(std::vector<int>(1)) + of(std::vector<int, other<int>>(2)) + of(std::string("abc")) +
				of(std::map<std::string, std::vector<char *>>()) + of(std::map<int, int, std::greater<int>>()) +
				of(own<int, std::allocator<int>>()) + owns(std::unique_ptr<int>()) != 13;
		}
	C
	g++ -std=c++17 -O1 -o short short.cc
	"$dt" list short | sed -n 's/^short://p' | grep -E '^(of|owns)<' | LC_ALL=C sort >got
	# what c++filt says, and what is written in the source
	nm short | awk '/ _Z/ { print $3 }' | c++filt -p | grep -E '^(of|owns)<' | LC_ALL=C sort >full
	[ "$(wc -l <full)" = 7 ]
	diff got - <<-'E'
		of<own<int, std::allocator<int> > >
		of<std::map<int, int, std::greater<int> > >
		of<std::map<std::string, std::vector<char*> > >
		of<std::string>
		of<std::vector<int, other<int> > >
		of<std::vector<int> >
		owns<std::unique_ptr<int> >
	E
	"$dt" record -o t.db -F 'short:*of<*' -F 'short:*owns<*' ./short
	[ "$("$dt" sql -n t.db "SELECT count(DISTINCT function) FROM calls WHERE function LIKE '%std::%'")" = 7 ]
	# each is chosen by either of its names, when it is recorded and when the trace is read
	while read -r line; do
		[ "$("$dt" report -F "$line" t.db | grep -c '<')" = 1 ] || { echo "$line"; false; }
	done < <(cat got full)
	for pattern in '*of<*vector<int,?std::allocator<int>?>*' '*of<*vector<int>?>' '*map<*char_traits*' '*of<std::__cxx11::basic_string*'; do
		"$dt" record -o u.db -F "$pattern" ./short
		[ "$("$dt" sql -n u.db "SELECT count(*) FROM calls")" -ge 1 ] || { echo "$pattern"; false; }
	done
}

@test "names: of Rust, of both kinds, without hash" {
	cat >rust.S <<-'S'
		.text
		.macro function name
		.globl \name
		.type \name, @function
		\name:	lea 1(%rdi), %eax
			add $2, %eax
			ret
		.size \name, . - \name
		.endm
		function _ZN4core3fmt5write17h0123456789abcdefE
		function _RNvNtCs1234_7mycrate3foo3bar
		function _RINvNtC3std3mem8align_ofjEC3foo
		.section .note.GNU-stack
	S
	gcc -shared -o librust.so rust.S
	diff <("$dt" list librust.so | grep '::' | sort) - <<-'E'
		librust.so:core::fmt::write
		librust.so:mycrate::foo::bar
		librust.so:std::mem::align_of::<usize>
	E
}

@test "names: with the file where two functions of a trace have one name" {
	mkdir a b
	cat >lib.c <<-'C'
		__attribute__((noinline, noipa, visibility("hidden"))) int work(int n) { return n + 1; }
		__attribute__((noinline, noipa)) int ONLY(int n) { return work(n) * 2; }
	C
	cat >main.c <<-'C'
		int one(int), two(int), three(int);
		__attribute__((noinline, noipa)) static int work(int n) { return n - 1; }
		__attribute__((noinline, noipa)) static int alone(int n) { return work(n) + one(n) + two(n) + three(n); }
		int main(void) { return alone(1) != 12; }
	C
	gcc -shared -fPIC -O1 -g -DONLY=one -o libfirst.so lib.c
	gcc -shared -fPIC -O1 -g -DONLY=two -o a/libsame.so lib.c
	gcc -shared -fPIC -O1 -g -DONLY=three -o b/libsame.so lib.c
	gcc -O1 -g -o prog main.c ./libfirst.so ./a/libsame.so ./b/libsame.so
	"$dt" record -o t.db -F work -F alone -F one -F two -F three ./prog
	printf '%s\n' alone "$dir/a/libsame.so:work" "$dir/b/libsame.so:work" libfirst.so:work one prog:work three two | LC_ALL=C sort >want
	names() {
		LC_ALL=C sort -u | diff want -
	}
	# the order in which the source calls them
	printf '%s\n' alone prog:work one libfirst.so:work two "$dir/a/libsame.so:work" three "$dir/b/libsame.so:work" >order
	"$dt" calls t.db | grep -oE '[^ ]+\(' | grep -v '^(' | tr -d '(' | diff order -
	"$dt" report t.db | awk 'NR > 1 { print $NF }' | names
	"$dt" graph -m 0 t.db | awk 'NR > 1 { print $NF }' | names
	"$dt" export --folded t.db | sed 's/ [0-9]*$//; s/.*;//' | names
	"$dt" export --speedscope -o t.json t.db
	python3 -c 'import json; print("\n".join(f["name"] for f in json.load(open("t.json"))["shared"]["frames"] if f["name"] not in ("?", "(held by devtrace)")))' >frames
	grep -Fxf want frames | names
	"$dt" flame t.db -o t.svg
	grep -Fq 'libfirst.so:work' t.svg
	grep -Fq "$dir/b/libsame.so:work" t.svg
	"$dt" cat -l t.db | grep -oE "[^ =]*work\b" | LC_ALL=C sort -u | diff <(grep work want) -
	# what has a column for the file has the bare name
	"$dt" sql -n t.db "SELECT group_concat(DISTINCT function) FROM calls WHERE function LIKE '%work%'" | grep -x work
	"$dt" report --json t.db | grep -c '"function": "work", "module": "/' | grep -x 4
	"$dt" export --csv t.db | grep -c ',"work","' | grep -x 4
	# a name stays as it is whatever is shown, and every form chooses
	[ "$("$dt" calls -F '*:work' -N 'prog:*' -N 'libsame.so:*' t.db | awk '/work/ { print $3 }')" = "libfirst.so:work(n=1)" ]
	for name in $(grep work want); do
		[ "$("$dt" report -F "$name" t.db | awk 'NR > 1 { print $NF }')" = "$name" ]
		[ "$("$dt" report -f "$name" t.db | awk 'NR > 1 { print $NF }')" = "$name" ]
		[ "$("$dt" graph t.db "$name" | head -n 1 | cut -d' ' -f1)" = "$name" ]
		# other modules' functions of that name are not in such a trace
		"$dt" record -o u.db -F "$name" ./prog
		[ "$("$dt" calls u.db | grep -c 'work(n=1)')" = 1 ]
		[ "$("$dt" report u.db | awk 'NR > 1 { print $NF }')" = work ]
	done
	[ "$("$dt" report -F work t.db | grep -c work)" = 4 ]
	# two processes of one program: the same functions
	"$dt" record -f -o v.db -F work -F alone sh -c './prog; ./prog'
	"$dt" report v.db | grep -c ':work' | grep -x 4
	"$dt" record -f -o v.db -F 'prog:*' sh -c './prog; ./prog'
	! "$dt" calls v.db | grep ':work' || false
}

@test "names: what functions of a stripped program only pass on to" {
	cat >pass.c <<-'C'
		#include <fcntl.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		#define FN __attribute__((noinline, noipa, used)) static
		volatile int sink;
		__attribute__((noreturn)) FN void die(void) { write(2, "memory\n", 7); exit(1); }
		/* these pass on */
		FN void *xmalloc(size_t n) { void *p = malloc(n); if (!p) die(); return p; }
		FN void *xcalloc(size_t n, size_t s) { void *p = calloc(n, s); if (!p) die(); return p; }
		FN char *xstrdup(const char *s) { char *p = strdup(s); if (!p && s) die(); return p; }
		FN void plain_free(void *p) { free(p); }
		FN void careful_free(void *p) { if (p) free(p); }
		FN int duplicate_fcntl(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 3) + 1; }
		FN void stop_abort(void) { abort(); }
		FN size_t length_strlen(const char *s) { return s ? strlen(s) : 0; }
		/* these do more, or something else */
		FN int two(const char *s) { return atoi(s) + (int)strlen(s); }
		FN int either(const char *s, int n) { return n ? (int)strlen(s) : atoi(s); }
		FN int local(const char *s) { return two(s) * 2; }
		FN int loop(const char *s) { int n = 0; while (*s) n += atoi(s++); return n; }
		FN int nothing(int a) { return a * 3; }
		FN int both(const char *s) { return atoi(s) + two(s); }
		FN int pointer(int (*f)(int)) { return f(3) + 1; }
		FN int twice(const char *s) { return atoi(s) + atoi(s + 1); }
		FN int makes(int n) { sink = n; __asm__ volatile("syscall" : "=a"(n) : "a"(39) : "rcx", "r11", "memory"); return n + atoi("1"); }
		int main(int argc, char **argv)
		{
			char *p = xstrdup("12");
			void *q = xmalloc(10), *r = xcalloc(1, 2);
			sink = (int)length_strlen(p) + two(p) + either(p, argc) + local(p) + loop(p) + nothing(argc) + both(p) + pointer(abs);
			sink += twice(p) + makes(1);
			close(duplicate_fcntl(1) - 1);
			plain_free(q);
			careful_free(r);
			plain_free(p);
			if (argc > 9)
				stop_abort();
			return 0;
		}
	C
	local options name
	for options in -O0 -O1 -O2 -Os "-O2 -fno-plt" "-O2 -no-pie -Wl,-z,lazy" "-O3 -fcf-protection=none" "-O2 -fcf-protection -Wl,-z,now"; do
		gcc $options -w -o pass pass.c
		# each function of the source, with what its own name says it passes on to
		nm pass | awk '$2 ~ /[tT]/ && $3 ~ /^(x|plain|careful|duplicate|stop|length|die|two|either|local|loop|nothing|both|pointer|twice|makes)/ {
			sub(/^0*/, "", $1); to = $3
			if (!sub(/^(x|.*_)/, "", to)) to = ""
			print "pass+0x" $1 (to == "" ? "" : "->" to) }' | sort >want
		[ "$(grep -c -- '->' want)" = 8 ]
		strip pass
		"$dt" list -v pass | cut -f1 | sort >got
		comm -23 want got >missing
		[ ! -s missing ] || { echo "$options"; cat missing got; false; }
	done
	# they are called so where calls are printed, and each form of the name chooses
	name=$(grep -- '->malloc' want)
	"$dt" record -o t.db -F 'pass:*' ./pass
	"$dt" report t.db | grep -o 'pass+0x[^ ]*->[^ ]*' | sort | diff <(grep -- '->' want | grep -v abort) -
	for pattern in "$name" "${name%->*}" "pass:${name#pass+}" '*->malloc' 'pass:*->malloc' "$(echo "$name" | sed 's/.*+\(0x[0-9a-f]*\).*/\1/')"; do
		[ "$("$dt" report -F "$pattern" t.db | grep -o 'pass+[^ ]*')" = "$name" ] || { echo "$pattern"; false; }
		"$dt" record -o u.db -F "$pattern" ./pass
		[ "$("$dt" report u.db | grep -o 'pass+[^ ]*')" = "$name" ] || { echo "$pattern"; false; }
	done
}

# of what objdump -d prints: lines "sure ADDRESS NAME" for functions that have one call or jump, to NAME of another file, and no branch;
# and "maybe ADDRESS NAME" for others that call NAME among other things
cat_passes() {
	cat >passes.py <<-'PY'
		import re, sys
		functions, f = [], None
		for line in sys.stdin:
		    m = re.match(r'^([0-9a-f]+) <(.*)>:', line)
		    if m:
		        f = (int(m[1], 16), m[2], [])
		        functions.append(f)
		        continue
		    m = re.match(r'^\s+([0-9a-f]+):\t(?:bnd |notrack |addr32 |rep |repz )?(\S+)\s*(.*)', line)
		    if f and m:
		        f[2].append((int(m[1], 16), m[2], m[3]))
		for address, name, code in functions:
		    while code and re.match(r'nop|xchg|cs|data16|int3|hlt', code[-1][1]):
		        code.pop()
		    calls = [(i, re.search(r'<(.*?)(@plt)?>', c[2])) for i, c in enumerate(code) if c[1] == 'call']
		    jumps = [(c, re.search(r'<(.*?)(@plt)?(\+0x.*)?>', c[2])) for c in code if c[1].startswith('j') and c[2]]
		    out = [m for c, m in jumps if m and m[2] and c[1] == 'jmp']
		    plt = {m[1] for i, m in calls if m and m[2]} | {m[1] for m in out}
		    others = [i for i, m in calls if not (m and m[2])]
		    inside = [c for c, m in jumps if not (m and m[2])]
		    if len(plt) == 1 and not others and not inside and len(calls) + len(out) == 1 and len(code) <= 32 and not any(c[1] in ('syscall', 'lret') for c in code):
		        print('sure', hex(address), plt.pop())
		    else:
		        for p in plt:
		            print('maybe', hex(address), p)
	PY
	python3 passes.py
}

@test "names: what devtrace's own functions pass on to is what objdump shows" {
	cp "$dt" whole
	strip -o stripped whole
	objdump -d --no-show-raw-insn -j .text whole | cat_passes | sort -u >shown
	"$dt" list -v stripped 2>&1 | cut -f1 | sed -nE 's/^stripped\+(0x[0-9a-f]+)->(.*)/\1 \2/p' | sort -u >got
	[ "$(wc -l <got)" -gt 50 ]
	# each is one of those that objdump shows calling that
	cut -d' ' -f2- shown | sort -u >either
	comm -23 got either >wrong
	[ ! -s wrong ] || { cat wrong; false; }
	# and those that have nothing else are all found, if they are known as functions at all
	"$dt" list -v stripped 2>&1 | cut -f1 | sed -nE 's/^stripped\+(0x[0-9a-f]+)(->.*)?$/\1/p' | sort -u >known
	sed -n 's/^sure //p' shown | sort >sure
	join sure known | sort >sure-known
	comm -23 sure-known got >missed
	[ ! -s missed ] || { cat missed; false; }
	[ "$(wc -l <sure-known)" -gt 20 ]
}

@test "names: one piece of code is found by each of its names" {
	cat >several.c <<-'C'
		#define _GNU_SOURCE
		#include <stdlib.h>
		#include <unistd.h>
		__attribute__((noinline, noipa)) int first(int n) { return n + 1; }
		__attribute__((alias("first"))) int second(int n);
		int main(int argc, char **argv)
		{
			pwrite(1, "x", 0, 0);
			return second(first(strtoll(argv[1], NULL, 10) + strtol(argv[1], NULL, 10))) - 2;
		}
	C
	gcc -O0 -o several several.c
	# what is right: nm says that the two names are one address
	[ "$(address several first)" = "$(address several second)" ]
	local libc name
	libc=$(ldd several | awk '/libc\.so/ { print $3 }')
	[ "$(nm -D "$libc" | sed 's/@.*//' | awk '$3 == "pwrite" || $3 == "pwrite64" { print $1 }' | sort -u | wc -l)" = 1 ]
	"$dt" record -o own.db ./several 0
	"$dt" record -l -o lib.db ./several 0
	for name in first second; do
		"$dt" report -F "$name" --json own.db | python3 -c 'import json, sys; assert [json.loads(l)["calls"] for l in sys.stdin if "\"function\"" in l][0] == 2'
		"$dt" calls -f "$name" own.db 2>said | grep -cE '(first|second)\(' | grep -x 2
		[ ! -s said ]
		"$dt" graph own.db "$name" | grep -w main
		"$dt" record -o part.db --filter "$name" ./several 0 2>/dev/null
		[ "$("$dt" sql -n part.db "SELECT count(*) FROM calls")" = 2 ]
		[ "$("$dt" sql -n own.db "SELECT count(*) FROM calls WHERE function IN (SELECT f.name FROM function f LEFT JOIN function_name n ON n.function = f.id WHERE '$name' IN (f.name, n.name))")" = 2 ]
	done
	for name in pwrite pwrite64 strtol strtoll; do
		"$dt" calls -f "$name" lib.db | grep -E '^ *[0-9.]+ us +(pwrite|strto)'
	done
	"$dt" check own.db lib.db
	# near names are offered of the others, too
	run "$dt" graph own.db secnd
	[[ "$output" == *"one is second"* ]]
}

@test "stripped: a switch's table ends where the next one begins, and makes nobody's exits another function's" {
	# few is reached by a jump only, so it could be a part of any function. Its table has two entries, and what follows are the
	# distances of many's, which from here lead to instructions of many by chance.
	cat >tables.s <<-'S'
		.macro back reg
		add $24, %rsp
		.cfi_def_cfa_offset 8
		ret
		.cfi_def_cfa_offset 32
		.endm
		.text
		.globl first, many
		.type first, @function
		first: .cfi_startproc
		test %edi, %edi
		js .Lno
		jmp few
		.Lno: xor %eax, %eax
		ret
		.cfi_endproc
		.p2align 4
		.type few, @function
		few: .cfi_startproc
		sub $24, %rsp
		.cfi_def_cfa_offset 32
		mov %edi, 8(%rsp)
		cmp $1, %edi
		ja .Lf3
		lea fews(%rip), %rcx
		movslq (%rcx,%rdi,4), %rax
		add %rcx, %rax
		jmp *%rax
		.Lf1: mov 8(%rsp), %eax
		back
		.Lf2: nopw 0(%rax,%rax)
		mov $20, %eax
		back
		.Lf3: mov $30, %eax
		back
		.cfi_endproc
		.p2align 4
		.type many, @function
		many: .cfi_startproc
		sub $24, %rsp
		.cfi_def_cfa_offset 32
		cmp $3, %edi
		ja .Lm4
		lea manys(%rip), %rdx
		movslq (%rdx,%rdi,4), %rax
		add %rdx, %rax
		jmp *%rax
		.irp n, 1, 2, 3, 4
		.rept 8
		nop
		.endr
		.Lm\n: lea \n(%rdi), %eax
		back
		.endr
		.cfi_endproc
		.section .rodata
		.p2align 2
		fews: .long .Lf1 - fews, .Lf2 - fews
		manys: .long .Lm1 - manys, .Lm2 - manys, .Lm3 - manys, .Lm4 - manys
		.section .note.GNU-stack,"",@progbits
	S
	cat >main.c <<-'C'
		#include <stdio.h>
		unsigned first(unsigned n), many(unsigned n);
		int main(void)
		{
			unsigned sum = 0;
			for (unsigned i = 0; i < 300; i++) sum += first(i % 3);
			for (unsigned i = 0; i < 70; i++) sum += many(i % 7);
			printf("%u\n", sum);
		}
	C
	gcc -O1 -o tables main.c tables.s
	first=$(address tables first)
	many=$(address tables many)
	strip tables
	alone=$(./tables)
	[ "$("$dt" record -F '*' -o tables.db ./tables)" = "$alone" ]
	"$dt" check tables.db
	[ "$("$dt" sql -n tables.db "SELECT count(*) FROM calls WHERE function = 'tables+$first' AND ended = 'returned'")" = 300 ]
	[ "$("$dt" sql -n tables.db "SELECT count(*) FROM calls WHERE function = 'tables+$many' AND ended = 'returned'")" = 70 ]
}

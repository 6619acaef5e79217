#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What -F, -N and -A choose, and what is said of patterns that choose nothing
load common

setup() {
	dir=$(mktemp -d)
	cd "$dir" || return 1
	cat >names.c <<-'C'
		#define FN __attribute__((noipa))
		FN int alpha(int n) { return n + 1; }
		FN int alarm(int n) { return n + 2; }
		FN int beta(int n) { return n + 3; }
		int main(void) { return alpha(alarm(beta(-6))); }
	C
	gcc -O0 -g -o names names.c
}

teardown() {
	check_traces
	cd /
	rm -rf "$dir"
}

# names: which of the three functions are in what is read, in the order of the alphabet
names() {
	grep -oE '\b(alpha|alarm|beta)\b' | sort -u | tr '\n' ' '
}

# orders WANT -- COMMAND...: with -F a*, -F beta and -N alarm in each of their orders, shows WANT
orders() {
	local want=$1 got
	shift 2
	for order in '-Fa* -Fbeta -Nalarm' '-Fa* -Nalarm -Fbeta' '-Fbeta -Fa* -Nalarm' \
		'-Fbeta -Nalarm -Fa*' '-Nalarm -Fa* -Fbeta' '-Nalarm -Fbeta -Fa*'; do
		set -f
		got=$("$@" $order "${file[@]}" | names)
		set +f
		[ "$got" = "$want" ] || {
			echo "$* $order: $got, not $want"
			return 1
		}
	done
}

@test "-F and -N mean the same in any order" {
	recorded() {
		"$dt" record -o t.db "$@" && "$dt" calls t.db
	}
	file=(./names)
	orders 'alpha beta ' -- recorded
	orders 'alpha beta ' -- "$dt"
	"$dt" record -o all.db ./names
	file=(all.db)
	[ "$("$dt" calls all.db | names)" = 'alarm alpha beta ' ]
	orders 'alpha beta ' -- "$dt" calls
	orders 'alpha beta ' -- "$dt" report
	orders 'alpha beta ' -- "$dt" diff all.db
	plotted() {
		"$dt" plot -o p.svg "$@" && cat p.svg
	}
	orders 'alpha beta ' -- plotted
	"$dt" count --key n -Falpha -Nalpha all.db >one
	"$dt" count --key n -Nalpha -Falpha all.db >other
	cmp one other
	[ "$("$dt" count --key n -Falpha all.db | wc -l)" -gt "$(wc -l <one)" ]
}

@test "-N alone takes away from what else was asked for, or from everything" {
	"$dt" record -o t.db -N alarm ./names
	[ "$("$dt" calls t.db | names)" = 'alpha beta ' ]
	for order in '-A a* -N alarm' '-N alarm -A a*'; do
		set -f
		"$dt" record -o t.db $order ./names
		set +f
		[ "$("$dt" calls t.db | names)" = 'alpha ' ]
	done
}

# greet: libgreet.so.1.2.3, with another soname and a link; user: which needs it
build_greet() {
	cat >greet.c <<-'C'
		int greet(int n) { int m = 0; for (volatile int i = 0; i < n; i++) m += i; return m; }
		int part(int n) { int m = 1; for (volatile int i = 0; i < n; i++) m += i; return m; }
	C
	cat >user.c <<-'C'
		int greet(int), part(int);
		int main(void) { return greet(3) + part(2) == 0; }
	C
	gcc -O1 -g -shared -fPIC -Wl,-soname,libgreet.so.1 -o libgreet.so.1.2.3 greet.c
	ln -s libgreet.so.1.2.3 libgreet.so.1
	ln -s libgreet.so.1.2.3 libhello.so
	gcc -O1 -g -Wl,-rpath,"$PWD" -o user user.c ./libgreet.so.1
}

@test "a module goes by its file's name, its soname, and a link to it" {
	build_greet
	ln -s user also
	for module in libgreet.so.1.2.3 libgreet.so.1 libgreet libhello.so libhello 'libgreet.so.?' 'libg*' \
		"$PWD/libgreet.so.*"; do
		"$dt" record -o t.db -F "$module:greet" ./user
		[ "$("$dt" calls t.db | grep -c 'greet(')" = 1 ] || { echo "record: $module"; false; }
		"$dt" record -o all.db -F "$module:*" ./user
		[ "$("$dt" calls -F "$module:part" all.db | grep -c 'part(')" = 1 ] || { echo "calls: $module"; false; }
		[ "$("$dt" report -F "$module:part" all.db | grep -c '  part')" = 1 ] || { echo "report: $module"; false; }
	done
	for module in libgreet.so.1.2.3 libgreet.so.1 libgreet libhello.so; do
		"$dt" record -o t.db -T "$module:greet" ./user
		[ "$("$dt" cat t.db | grep -c '^E')" = 1 ] || { echo "tracepoint: $module"; false; }
	done
	"$dt" record -o t.db -F 'also:main' ./also
	[ "$("$dt" calls t.db | grep -c 'main(')" = 1 ]
	# what is called nearly so is not meant
	for module in libgreet.so.1.2 libgree libgreet.so.12 hello; do
		run "$dt" record -o t.db -F "$module:greet" ./user
		[[ $output == *"matches '$module:greet'"* ]] || { echo "$module: $output"; false; }
	done
}

# the trace at $1 has so many records
has_records() {
	[ "$(sqlite3 "$1" 'SELECT coalesce(sum(records), 0) FROM chunk')" = "$2" ]
}

@test "a trace that is there is not replaced before the new one has records" {
	"$dt" record -F alpha ./names
	has_records devtrace.db 2
	sum=$(sha256sum <devtrace.db)
	# nothing was recorded: the old one stays, which is said, and is not shown as the new one
	cat >nothing.c <<-'C'
		#include <unistd.h>
		__attribute__((noipa)) void never(void) { write(1, "x\n", 2); write(1, "y\n", 2); }
		int main(int n, char **v) { if (n > 1) never(); return 0; }
	C
	gcc -O0 -o nothing nothing.c
	run "$dt" record -F never ./nothing
	one_line "nothing was recorded" "devtrace.db"
	[ "$(sha256sum <devtrace.db)" = "$sum" ]
	run "$dt" -o devtrace.db -F never ./nothing
	[[ $output != *alpha* ]]
	run "$dt" -o devtrace.db ./not-there
	[[ $output != *alpha* ]]
	[ "$(sha256sum <devtrace.db)" = "$sum" ]
	# the default one is kept, one that was named is not
	"$dt" record -F 'names:a*' ./names
	has_records devtrace.db 4
	[ "$(sha256sum <devtrace.db.old)" = "$sum" ]
	"$dt" record -o named.db -F 'names:a*' ./names
	"$dt" record -o named.db -F beta ./names
	has_records named.db 2
	[ ! -e named.db.old ]
	[ "$(ls | grep -c -e '-old' -e '-new' -e -wal -e -shm)" = 0 ]
}

@test "while nothing is recorded the old trace is whole, also when the recorder is killed" {
	cp /bin/cat held
	"$dt" record -o t.db ./names
	sum=$(sha256sum <t.db)
	mkfifo in
	exec 5<>in
	"$dt" record -o t.db -s late-$$ -F 'alp*' -F 'libc.so.6:getgid' ./held in 3>&- 5>&- &
	recorder=$!
	until "$dt" ctl -s late-$$ </dev/null >/dev/null 2>&1; do sleep 0.02; done
	[ "$(sha256sum <t.db)" = "$sum" ]
	kill -KILL "$recorder"
	wait "$recorder" || true
	exec 5>&-
	[ "$(sha256sum <t.db)" = "$sum" ]
	[ "$(ls | grep -c -e '-old' -e '-new' -e -wal -e -shm)" = 0 ]
}

@test "a pattern that can match nothing is said before the program starts" {
	build_greet
	cat >ran.c <<-'C'
		#include <stdio.h>
		int parse(int n) { return n; }
		int main(int n, char **v) { fclose(fopen("ran", "w")); return parse(0); }
	C
	gcc -O0 -g -Wl,-rpath,"$PWD" -Wl,--no-as-needed -o ran ran.c ./libgreet.so.1
	# refused PATTERN WORDS...: one line, and the program was not run
	refused() {
		run "$dt" record -o t.db -F "$1" ./ran
		[ "$status" = 1 ]
		one_line "no function matches '$1'" "${@:2}"
		run "$dt" -F "$1" ./ran
		[ "$status" = 1 ]
		one_line "no function matches '$1'" "${@:2}"
		[ ! -e ran.done ]
		[ ! -e t.db ]
		[ ! -e "$PWD/ran.out" ]
	}
	sed -i 's/"ran", "w"/"ran.done", "w"/' ran.c
	gcc -O0 -g -Wl,-rpath,"$PWD" -Wl,--no-as-needed -o ran ran.c ./libgreet.so.1
	refused prase "near names: parse"
	refused 'ran:mian' "near names: main"
	refused 'libgreet.so.1:great' "near names: greet"
	refused 'libc.so.6:mallok' "near names: malloc"
	refused 'libgret.so.1:greet' "no module 'libgret.so.1'" "near names: libgreet.so.1"
	run "$dt" record -o t.db -A prase@1:str ./ran
	[ "$status" = 1 ]
	one_line "no function matches 'prase'" "near names: parse"
	[ ! -e ran.done ]
	# what others of the patterns match is recorded, and the line is not said twice
	run "$dt" record -o t.db -F prase -F main ./ran
	[ "$status" = 0 ]
	one_line "no function matches 'prase'"
	[ -e ran.done ]
	# nor is what is left out silently nothing
	run "$dt" record -o t.db -F main -F parse -N prase ./ran
	[ "$status" = 0 ]
	one_line "no function matches -N 'prase'" "near names: parse"
	[ "$("$dt" calls t.db | grep -c 'parse(')" = 1 ]
	run "$dt" record -o t.db -F main -F parse -N parse -N 'libc.so.6:*' ./ran
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 0 ] || [ -z "$output" ]
}

@test "a pattern that may match later is said, and matches later" {
	build_greet
	cat >loads.c <<-'C'
		#include <dlfcn.h>
		#include <unistd.h>
		int main(int n, char **v)
		{
			void *library = n > 1 ? dlopen(v[1], RTLD_NOW) : NULL;
			return library ? !((int (*)(int))dlsym(library, "greet"))(3) : 0;
		}
	C
	gcc -O1 -o loads loads.c
	for pattern in greet libgreet:greet libgreet.so.1:greet 'libgr*:greet'; do
		run "$dt" record -o t.db -F "$pattern" ./loads ./libgreet.so.1.2.3
		[ "$status" = 0 ]
		one_line "no function matches '$pattern' yet"
		[ "$("$dt" calls t.db | grep -c 'greet(')" = 1 ]
	done
	# it did not: said again
	run "$dt" record -o t.db -F greet ./loads
	[ "${#lines[@]}" = 3 ]
	[[ ${lines[1]} == *"no function matches 'greet', and no event"* ]]
	# in what the program runs
	run "$dt" record -o t.db -F alpha sh -c './names; true'
	[ "$status" = 0 ]
	[[ ${lines[0]} == *"no function matches 'alpha' yet"* ]]
	[ "$("$dt" calls t.db | grep -c 'alpha(')" = 1 ]
	# -f: nothing is said of what is to come
	run "$dt" record -f -o t.db -F alpha sh -c './names; true'
	[ -z "$output" ]
}

# by_attach OPTION...: attaches to ./waiting, has it call everything once; the file said has what is said, but for how long the
# attach took, which is said on a busy machine
by_attach() {
	local line tracer i
	coproc { exec ./waiting 3>&-; }
	pid=$COPROC_PID
	exec {from}<&"${COPROC[0]}" {to}>&"${COPROC[1]}"
	read -r line <&"$from"
	XDG_RUNTIME_DIR=$dir timeout 60 "$dt" attach -s waiting -o t.db "$@" "$pid" >said 2>&1 3>&- &
	tracer=$!
	for i in $(seq 1000); do
		XDG_RUNTIME_DIR=$dir "$dt" ctl -s waiting >/dev/null 2>&1 && break
		sleep 0.02
	done
	echo >&"$to"
	read -r line <&"$from"
	exec {to}>&- {COPROC[1]}>&- {from}<&-
	wait "$tracer"
	sed -i '/ is recorded completely from /d' said
}

@test "what was chosen and is not hooked is said, is in the file, and is said of its callers" {
	# leaf and g have no room for a jump: they are their own neighbours; big has
	cat >tight.S <<-'S'
			.globl	main
			.type	main, @function
		main:	push	%rbx
			mov	$3, %ebx
		1:	call	leaf
			call	big
			dec	%ebx
			jnz	1b
			call	g
			xor	%eax, %eax
			pop	%rbx
			ret
			.size	main, . - main
			.p2align 4
			.type	leaf, @function
		leaf:	ret
			.size	leaf, . - leaf
			.type	g, @function
		g:	ret
			.size	g, . - g
			.type	big, @function
		big:	mov	$1, %eax
			add	$2, %eax
			nopl	0(%rax,%rax,1)
			nopl	0(%rax,%rax,1)
			ret
			.size	big, . - big
			.section .note.GNU-stack, "", @progbits
	S
	gcc -o tight tight.S
	run "$dt" record -o t.db ./tight
	[ "$status" = 0 ]
	one_line "4 functions chosen, 2 hooked, 2 not: leaf, g" "devtrace list -v"
	[ "$(sqlite3 t.db "SELECT group_concat(name || ' ' || (reason <> '')) FROM unhooked")" = 'leaf 1,g 1' ]
	[ "$(sqlite3 t.db 'SELECT count(*) FROM unhooked_caller')" = 2 ]
	for command in report calls graph 'graph --dot' 'diff t.db'; do
		"$dt" $command t.db >/dev/null 2>err
		grep -q 'main: self time includes 2 functions not hooked: leaf, g$' err
		"$dt" $command -N main t.db >/dev/null 2>err
		[ ! -s err ]
	done
	"$dt" graph --dot t.db 2>err | grep -q 'label="main.*not hooked: leaf, g"'
	run "$dt" ./tight
	[ "$(grep -c 'not hooked\|2 not: leaf, g' <<<"$output")" = 1 ]
	# one that was asked for by its name is said with the reason, and not twice
	run "$dt" record -o t.db -F leaf -F main ./tight
	one_line "leaf is not recorded: "
	# the same by attach: the functions are those of the other program, and its main
	cat >waiting.c <<-'C'
		#include <stdio.h>
		int loop(void);
		int main(void)
		{
			puts("ready");
			fflush(stdout);
			while (getchar() == '\n') {
				loop();
				puts("done");
				fflush(stdout);
			}
			return 0;
		}
	C
	gcc -O1 -Dmain=loop -c -o loop.o tight.S
	gcc -O1 -o waiting waiting.c loop.o
	by_attach
	[ "$(wc -l <said)" = 1 ] || { cat said; false; }
	grep -q "^devtrace: 5 functions chosen, 3 hooked, 2 not: leaf, g ('devtrace list -v $dir/waiting' says why)$" said
	[ "$(sqlite3 t.db "SELECT group_concat(name || ' ' || (reason <> '')) FROM unhooked")" = 'leaf 1,g 1' ]
	[ "$("$dt" sql -n t.db "SELECT function, count(*) FROM calls WHERE function <> 'main' GROUP BY 1 ORDER BY 1" | xargs)" = 'big 3 loop 1' ]
	by_attach -F leaf -F loop
	[ "$(wc -l <said)" = 1 ] || { cat said; false; }
	grep -q '/waiting: leaf is not recorded: ' said
	by_attach -F loop -F big
	[ ! -s said ] || { cat said; false; }
	# all are hooked: nothing
	run "$dt" record -o t.db -F main -F big ./tight
	[ -z "$output" ]
	"$dt" report t.db >/dev/null 2>err
	[ ! -s err ]
}

@test "patterns: functions of a library that go by their addresses, and by nothing else" {
	cat >inner.c <<-'C'
		static __attribute__((noinline, noclone)) int inner(int x) { __asm__ volatile(""); return x + 1; }
		int outer(int x) { return inner(x) * 2; }
	C
	gcc -O2 -shared -fPIC -o libinner.so inner.c
	echo 'int outer(int); int main(void) { int n = 0; for (int i = 0; i < 7; i++) n += outer(i); return n != 56; }' >use.c
	gcc -O2 -o use use.c ./libinner.so
	address=0x$(nm libinner.so | awk '$3 == "inner" { sub(/^0*/, "", $1); print $1 }')
	strip libinner.so
	for pattern in "libinner.so:$address" "libinner.so:${address%?}?" "libinner.so+$address" "libinner.so+${address%?}?"; do
		"$dt" record -o inner.db -F "$pattern" ./use
		[ "$("$dt" sql -n inner.db "SELECT function, count(*) FROM records GROUP BY 1" | xargs)" = "libinner.so+$address 14" ]
	done
	"$dt" list libinner.so | grep -x "libinner.so+$address"
	# each command that shows a function shows this name, and finds it by this name and by the address
	"$dt" calls inner.db | grep -q " libinner.so+$address("
	"$dt" report inner.db | grep -q " libinner.so+$address"
	"$dt" graph inner.db | grep -q "libinner.so+$address"
	"$dt" cat -l inner.db | grep -q "function=libinner.so+$address "
	"$dt" export --folded inner.db | grep -q "libinner.so+$address "
	for pattern in "$address" "libinner.so+$address" "libinner.so:$address" 'libinner.so+0x*'; do
		[ "$("$dt" calls -F "$pattern" inner.db | grep -c " libinner.so+$address(")" = 7 ]
	done
	[ "$("$dt" calls -F "use+$address" inner.db | grep -c "$address(")" = 0 ]
	# in trace files of earlier versions it has the address only
	sqlite3 inner.db "UPDATE function SET name = '$address'"
	for pattern in "$address" "libinner.so+$address" "libinner.so:$address"; do
		[ "$("$dt" calls -F "$pattern" inner.db | grep -c " $address(")" = 7 ]
	done
	"$dt" check inner.db
	run "$dt" record -o inner.db -F 'libinner.so:0x1' ./use
	[[ $output == *"no function matches 'libinner.so:0x1'"* ]]
}

@test "the code that signal handlers return to is no function, also where no name says so" {
	local libc at
	libc=$(ldd /bin/true | awk '$1 == "libc.so.6" { print $3 }')
	# without a build id no file of names is found for it
	objcopy -S --remove-section .note.gnu.build-id --remove-section .gnu_debuglink "$libc" "$dir/nameless.so" 2>"$dir/warnings"
	# mov $15, %rax; syscall
	at=$(python3 -c '
import sys
d = open(sys.argv[1], "rb").read()
code = bytes.fromhex("48c7c00f0000000f05")
assert d.count(code) == 1
print("0x%x" % d.find(code))' "$dir/nameless.so")
	"$dt" list -v "$dir/nameless.so" >"$dir/list"
	[ "$(wc -l <"$dir/list")" -gt 2000 ]
	! grep -P "\t$at\t(?!not)" "$dir/list" || false
}

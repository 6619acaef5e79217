# SPDX-License-Identifier: MIT
# From when on all calls of a large library are recorded: from the first one on where the program begins under devtrace or
# executes another one, and by attach from the moment on that is said. What is right: the program's own count, and
# its own clock readings.
load devtrace
bats_require_minimum_version 1.5.0

# Libraries of 20,000 and 50,000 functions, f1 and so on, each of which counts its calls and returns its argument; those of a constructor
# are the first. It is assembler, which is made in a tenth of the time of C.
setup_file() {
	export dir
	dir=$(mktemp -d)
	cd "$dir" || return
	cat >many.S <<-'S'
		.altmacro
		.macro fn n
			.globl	f\n
			.type	f\n, @function
			.p2align 4
		f\n:	lock incq calls(%rip)
			lea	(%rdi), %rax
			nopl	0(%rax)
			ret
			.size	f\n, . - f\n
		.endm
		.macro place n
			.quad	f\n
		.endm
			.text
			.set	i, 1
		.rept N
			fn	%i
			.set	i, i + 1
		.endr
			.section .data.rel.ro, "aw"
			.globl	table
			.type	table, @object
		table:
			.set	i, 1
		.rept N
			place	%i
			.set	i, i + 1
		.endr
			.size	table, . - table
			.data
			.globl	calls
			.hidden	calls
			.type	calls, @object
		calls:	.quad	0
			.size	calls, 8
			.section .note.GNU-stack, "", @progbits
	S
	cat >begin.c <<-'C'
		extern long (*const table[])(long);
		extern long calls;
		long made(void) { return calls; }
		/* before anything of the program */
		__attribute__((constructor)) static void begin(void) { for (long i = 0; i < 20000; i += 100) table[i](i); }
	C
	gcc -O1 -fPIC -shared -DN=20000 -o libmany.so many.S begin.c
	# of which an attach takes longer than the tenth of a second from which on it is said
	gcc -O1 -fPIC -shared -DN=50000 -o libmost.so many.S begin.c
	cat >all.c <<-'C'
		#include <stdio.h>
		extern long (*const table[])(long);
		long made(void);
		int main(void)
		{
			long s = 0;
			for (int k = 0; k < 2; k++)
				for (long i = 0; i < 20000; i++)
					s += table[i](i) != i;
			printf("%ld\n", made());
			return s != 0;
		}
	C
	gcc -O1 -o all all.c ./libmany.so
	# calls for a while, each with the number of the call, and writes down when it begins
	cat >on.c <<-'C'
		#include <stdio.h>
		#include <time.h>
		#include <unistd.h>
		#include <x86intrin.h>
		extern long (*const table[])(long);
		static unsigned long at[4000000];
		static double now(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_MONOTONIC, &t);
			return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
		}
		int main(void)
		{
			double limit = now() + 60;
			long n = 0;
			FILE *f;
			puts("ready");
			fflush(stdout);
			while (access("enough", F_OK) && n < 3999980 && now() < limit) {
				for (int k = 0; k < 20; k++, n++) {
					at[n] = __rdtsc();
					table[n * 7919 % 50000](n);
				}
				usleep(500);
			}
			f = fopen("at", "w");
			for (long i = 0; i < n; i++)
				fprintf(f, "%ld %lu\n", i, at[i]);
			return fclose(f);
		}
	C
	gcc -O1 -o on on.c ./libmost.so
}

teardown_file() {
	rm -rf "$dir"
}

setup() {
	cd "$dir" || return
	export DEVTRACE_MEMOS=$BATS_TEST_TMPDIR/cache
	mkdir "$DEVTRACE_MEMOS"
	pid=
}

teardown() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
	check_traces
}

# whole FILE: each of the program's calls is in it, once, and none is said to be lost
whole() {
	"$dt" sql -n "$1" "SELECT (SELECT count(*) FROM calls WHERE function GLOB 'f[0-9]*') || ' ' ||
		(SELECT count(DISTINCT function) FROM calls WHERE function GLOB 'f[0-9]*') || ' ' ||
		(SELECT ifnull(sum(records), 0) FROM lost)" >got
	[ "$(<got)" = "$(<out) 20000 0" ] || { cat got out err; false; }
}

plans() {
	find "$DEVTRACE_MEMOS" -name '*.plan' | wc -l
}

@test "complete: a library of 20,000 functions that the program is linked with: every call, while its plan is made and with it" {
	./all >alone
	[ "$(<alone)" = 40200 ]
	sleep 2.1 # of a file that has just been written no plan is kept
	for run in cold filled; do
		"$dt" record -o t.db -F 'libmany.so:f*' ./all >out 2>err
		diff alone out
		whole t.db
		[ "$(plans)" = 1 ]
	done
}

@test "complete: the same of a program that another one executes" {
	for run in cold filled; do
		"$dt" record -f -o t.db -F 'libmany.so:f*' sh -c 'exec ./all' >out 2>err
		[ "$(<out)" = 40200 ]
		whole t.db
		[ "$(plans)" = 1 ]
	done
}

@test "complete: by attach: what is missing was called before the moment that is said and that the file has" {
	rm -f enough at t.db
	coproc { exec ./on 3>&-; }
	pid=$COPROC_PID
	read -r line <&"${COPROC[0]}"
	XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR timeout 100 "$dt" attach -s complete -o t.db -p wait -F 'libmost.so:f*' -F 'on:main' "$pid" 2>err 3>&- &
	tracer=$!
	# until some of it is in the file
	for i in $(seq 1000); do
		n=$("$dt" sql -n t.db "SELECT count(*) FROM records" 2>/dev/null) || n=0
		[ "$n" -lt 20000 ] || break
		sleep 0.05
	done
	: >enough
	wait "$pid" || true
	pid=
	wait "$tracer" || { cat err; false; }
	grep -qE '^devtrace: process [0-9]+ is recorded completely from [0-9]+ ms after its attach on$' err || { cat err; false; }
	[ "$(sqlite3 t.db "SELECT replace(path, rtrim(path, replace(path, '/', '')), '') FROM complete, module WHERE id = module ORDER BY 1")" = 'libmost.so
on' ]
	sqlite3 t.db "SELECT ticks FROM complete, module WHERE id = module AND path LIKE '%/libmost.so'" >moment
	"$dt" sql -n t.db "SELECT value0 FROM records WHERE kind = 'E' AND function GLOB 'f[0-9]*'" >have
	awk -v moment="$(<moment)" 'FILENAME == "have" { n[$1]++; next }
		n[$1] > 1 { print "twice: " $1; bad = 1 }
		$2 < moment { before++; missing += !n[$1] }
		$2 >= moment { after++; if (n[$1] != 1) { bad = 1; print "missing: " $1 ", " $2 - moment " ticks later" } }
		END { print before, missing, after; exit bad || !missing || after < 1000 }' have at >said || { head said; false; }
}

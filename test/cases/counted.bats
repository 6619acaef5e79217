# SPDX-License-Identifier: MIT
# Programs that count their own calls (test/counted): what is recorded must be what they say, to the call.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	gcc -O2 -g -pthread -o "$dir/churn" "$root/test/counted/churn.c"
	gcc -O2 -g -pthread -static -o "$dir/churn-static" "$root/test/counted/churn.c"
	musl-gcc -O2 -g -pthread -o "$dir/churn-musl" "$root/test/counted/churn.c"
	gcc -O2 -g -pthread -o "$dir/load" "$root/test/counted/load.c"
	gcc -O1 -g -shared -fPIC -o "$dir/plug.so" "$root/test/counted/plug.c"
}

teardown_file() {
	rm -rf "$dir"
}

setup() {
	cd "$dir" || return
}

# counted FILE FUNCTION N: so many entries, and as many exits; nothing lost
counted() {
	local got
	got=$("$dt" sql -n "$1" "SELECT kind, count(*) FROM records WHERE function = '$2' GROUP BY kind" | xargs)
	[ "$got" = "E $3 X $3" ] || { echo "$2: called $3 times, recorded: $got"; return 1; }
	[ "$(sqlite3 "$1" 'SELECT total(lost) FROM loss')" = 0.0 ] || { echo "lost"; return 1; }
}

@test "threads that come and go, all of libc hooked: every call" {
	for i in 1 2 3; do
		"$dt" record -o t.db -F 'churn:*' -F 'libc.so.6:*' ./churn 60 >out 2>err
		counted t.db leaf "$(cat out)"
	done
}

@test "threads that come and go, attached to in the middle: every call" {
	for i in 1 2 3; do
		rm -f go t.db*
		exec {out}< <(exec ./churn 50 go 3>&-)
		pid=$!
		read -r ready <&"$out"
		"$dt" attach -o t.db -F 'churn:*' -F 'libc.so.6:*' "$pid" 2>err 3>&- &
		tracer=$!
		until [ "$(sqlite3 t.db 'SELECT count(*) FROM chunk' 2>/dev/null || echo 0)" -gt 0 ]; do
			kill -0 "$tracer" || { cat err; false; }
			sleep 0.02
		done
		touch go
		read -r calls <&"$out"
		exec {out}<&-
		wait "$tracer" || { cat err; false; }
		counted t.db leaf "$calls"
	done
}

@test "threads that come and go where libc registers no rseq, static, and with musl: every call" {
	GLIBC_TUNABLES=glibc.pthread.rseq=0 "$dt" record -o t.db -F 'churn:*' -F 'libc.so.6:*' ./churn 20 >out 2>err
	counted t.db leaf "$(cat out)"
	DEVTRACE_NO_RSEQ=1 GLIBC_TUNABLES=glibc.pthread.rseq=0 "$dt" record -o t.db -F 'churn:*' -F 'libc.so.6:*' ./churn 20 >out 2>err
	counted t.db leaf "$(cat out)"
	"$dt" record -o t.db -F 'churn-static:*' ./churn-static 20 >out 2>err
	counted t.db leaf "$(cat out)"
	"$dt" record -o t.db -F 'churn-musl:*' -F 'libc.so:*' -F 'ld-musl*:*' ./churn-musl 20 >out 2>err
	counted t.db leaf "$(cat out)"
}

@test "a library that takes long to prepare: the program waits for it" {
	mkfifo in
	"$dt" record -o t.db -F 'plug.so:*' ./load input 1 ./plug.so <in >out 2>err 3>&- &
	tracer=$!
	exec {in}>in
	until grep -q ready out; do sleep 0.02; done
	# the controller has other things to do; dlopen() tells it twice, and once it was three seconds each
	kill -STOP "$tracer"
	echo >&"$in"
	sleep 6.3
	run grep called out
	kill -CONT "$tracer"
	[ "$output" = "" ] || { echo "it ran on"; false; }
	exec {in}>&-
	wait "$tracer" || { cat err; false; }
	[ "$(tail -n 1 out)" = 100 ]
	counted t.db plug 100
	counted t.db inner 100
	# the file says from when on it is complete: the library, and nothing else
	[ "$(sqlite3 t.db "SELECT count(*) FROM complete")" = 1 ]
	[ "$(sqlite3 t.db "SELECT count(*) FROM complete, module
		WHERE id = module AND path LIKE '%plug.so' AND ticks >= begin_ticks")" = 1 ]
}

@test "a library that is loaded while a thread waits for its vfork child" {
	"$dt" record -o t.db -F 'plug.so:*' ./load vfork 1 ./plug.so >out 2>err || { cat err; false; }
	counted t.db plug "$(cat out)"
}

@test "a library loaded and unloaded 600 times, at the same and at other addresses: every call" {
	"$dt" record -o t.db -F 'plug.so:*' ./load loop 600 ./plug.so >out 2>err
	counted t.db plug 60000
	counted t.db inner 60000
	# each loading is a module of its own, and each record in that which there was at its time
	[ "$(sqlite3 t.db "SELECT count(*) FROM module WHERE path LIKE '%plug.so' AND end_ticks")" = 600 ]
	[ "$("$dt" sql -n t.db "SELECT count(*) FROM calls WHERE function = 'plug'
		AND module NOT LIKE '%plug.so'")" = 0 ]
	"$dt" record -o t.db -F 'plug*.so:*' ./load apart 50 ./plug.so >out 2>err
	counted t.db plug "$(cat out)"
	cp plug.so plug2.so
	"$dt" record -o t.db -F 'plug*.so:*' ./load loop 60 ./plug.so ./plug2.so >out 2>err
	counted t.db plug 12000
}

@test "libraries loaded by several threads at once, and into namespaces of their own: every call" {
	for i in 1 2 3 4; do cp plug.so "plug$i.so"; done
	for i in 1 2; do
		"$dt" record -o t.db -F 'plug*.so:*' ./load threads 40 ./plug1.so ./plug2.so ./plug3.so ./plug4.so >out 2>err
		counted t.db plug 16000
		"$dt" record -o t.db -F 'plug*.so:*' ./load threads 40 ./plug1.so >out 2>err
		counted t.db plug 16000
	done
	"$dt" record -o t.db -F 'plug.so:*' ./load space 8 ./plug.so >out 2>err
	counted t.db plug 800
}

@test "a plugin that is built anew while the program runs: its functions by their names" {
	gcc -O1 -g -shared -fPIC -o plug.so "$root/test/counted/plug.c"
	coproc { exec "$dt" record -o t.db -F 'plug.so:*' ./load input 1 ./plug.so 2>err 3>&-; }
	tracer=$COPROC_PID
	exec {from}<&"${COPROC[0]}" {to}>&"${COPROC[1]}"
	read -r line <&"$from"
	for name in inner other inner third third; do
		gcc -O1 -g -shared -fPIC -DNAME=$name -o new.so "$root/test/counted/plug.c"
		# into the same file, and as another one
		if [ $name = third ]; then mv new.so plug.so; else cat new.so >plug.so; fi
		echo >&"$to"
		read -r line <&"$from"
	done
	exec {to}>&- {COPROC[1]}>&-
	read -r calls <&"$from"
	wait "$tracer"
	[ "$calls" = 500 ]
	counted t.db plug 500
	counted t.db inner 200
	counted t.db other 100
	counted t.db third 200
}

@test "functions that libc chooses when a program begins (IFUNC): by their names, every call" {
	flags=(-O1 -g -fno-builtin)
	gcc "${flags[@]}" -o chosen "$root/test/counted/chosen.c" -lm
	gcc "${flags[@]}" -Wl,-z,now -o chosen-now "$root/test/counted/chosen.c" -lm
	for f in libc.so.6:strcmp libc.so.6:memcpy libm.so.6:expf own; do
		"$dt" record -o t.db -F "$f" ./chosen-now 2>err
		counted t.db "${f#*:}" 1000
		# of several implementations one may have no room: it is said, and is another
		! grep -v 'functions chosen, .* hooked, ' err || { cat err; false; }
	done
	# bound when they are first called
	"$dt" record -o t.db -F libc.so.6:strlen -F libc.so.6:strncpy -F libm.so.6:expf ./chosen
	for f in strlen strncpy expf; do counted t.db "$f" 1000; done
	# by attach: they have been chosen long ago
	coproc { exec ./chosen-now wait 3>&-; }
	exec {from}<&"${COPROC[0]}" {to}>&"${COPROC[1]}"
	pid=$COPROC_PID
	read -r line <&"$from"
	timeout 60 "$dt" attach -d -p wait -s chosen -o t.db -F libc.so.6:strlen -F libc.so.6:memset -F libm.so.6:expf \
		-F own "$pid" 3>&-
	echo >&"$to"
	exec {to}>&-
	wait "$pid" || true
	# a session that ends may refuse to answer before its trace is at its path: its name goes last
	for i in $(seq 500); do
		"$dt" ctl -s chosen 2>&1 | grep -q 'there is no session' && break
		sleep 0.02
	done
	for f in strlen memset expf own; do counted t.db "$f" 1000; done
}

@test "resolvers that look into a table, and functions found through the GOT: by their names" {
	cat >pick.c <<-'C'
		static int one(int x) { __asm__ volatile(""); return x + 1; }
		static int two(int x) { __asm__ volatile(""); return x + 2; }
		int three(int x) { __asm__ volatile(""); return x + 3; }
		static int (*const table[])(int) = {one, two};
		volatile int which = 1;
		static void *pick(void) { return table[which]; }
		static void *pick_got(void) { return three; }
		int f(int) __attribute__((ifunc("pick")));
		int g(int) __attribute__((ifunc("pick_got")));
	C
	cat >picks.c <<-'C'
		int f(int), g(int);
		int main(void)
		{
			int s = 0;
			for (int i = 0; i < 1000; i++)
				s += f(i) + g(i);
			return s != 1004000;
		}
	C
	# without a soname: the dynamic linker's list has it as it is written, not from the root on
	gcc -O1 -fPIC -shared -o libpick.so pick.c
	gcc -O1 -o picks picks.c ./libpick.so
	gcc -O1 -no-pie -o picks-own picks.c pick.c
	gcc -O1 -pie -fPIE -o picks-pie picks.c pick.c
	gcc -O1 -static -o picks-static picks.c pick.c
	for prog in picks picks-own picks-pie picks-static; do
		module=$prog
		[ $prog != picks ] || module=libpick.so
		timeout 60 "$dt" record -o t.db -F "$module:f" -F "$module:g" ./$prog
		counted t.db f 1000
		counted t.db g 1000
	done
	# what is not in any file is named
	printf '#include <stdio.h>\n#include <time.h>\nint main(void) { puts("now"); return time(0) == 0; }\n' >now.c
	gcc -O1 -o now now.c
	run "$dt" record -o now.db -F libc.so.6:time ./now
	echo "$output"
	[[ $output == *"'libc.so.6:time' is left to the kernel's vdso"* ]]
	# what the program imports of it is recorded in the vdso
	run "$dt" record -o now.db -l ./now
	echo "$output"
	[[ $output != *vdso* ]]
	[ "$("$dt" sql -n now.db "SELECT count(*) FROM calls WHERE function = 'time'")" = 1 ]
	run "$dt" record -o now.db -l -N time ./now
	[ "$("$dt" sql -n now.db "SELECT count(*) FROM calls WHERE function = 'time'")" = 0 ]
}

# A resolver that devtrace can not follow: the address that it returns stands nowhere, it is reckoned.
@test "a name that only the resolver of an IFUNC has, which can not be followed: it is said, nothing is counted" {
	cat >riddle.S <<-'S'
			.globl	f
			.type	f, @gnu_indirect_function
		f:	call	1f
		1:	pop	%rax
			mov	$(target - 1b) + 0x5a5a5a, %ecx
			sub	$0x5a5a5a, %ecx
			add	%rcx, %rax
			ret
			.size	f, . - f
			.p2align 4
			.type	target, @function
		target:	lea	1(%rdi), %eax
			nopl	0(%rax,%rax,1)
			ret
			.size	target, . - target
			.section .note.GNU-stack, "", @progbits
	S
	echo 'int f(int), rand(void); int main(void) { int s = 0; rand(); for (int i = 0; i < 1000; i++) s = f(s); return s == 1000 ? 5 : 1; }' >riddles.c
	gcc -shared -o libriddle.so riddle.S
	gcc -O1 -o riddles riddles.c ./libriddle.so
	said="/libriddle.so: calls of f are not recorded: which function it is, is chosen when the program begins (IFUNC), and the code that chooses, 'f.resolver', does not show which there are"
	for pattern in libriddle.so:f '*:f' f; do
		# nothing else was asked for: the program is not run
		rm -f t.db
		run "$dt" record -o t.db -F "$pattern" ./riddles
		[ "$status" = 1 ]
		one_line "$said"
		[ ! -e t.db ]
	done
	# with other functions it runs, and calls of f are those of nothing else
	run "$dt" record -o t.db -F libriddle.so:f -F main ./riddles
	[ "$status" = 5 ]
	one_line "$said"
	[ "$("$dt" sql -n t.db "SELECT function, count(*) FROM calls GROUP BY 1 ORDER BY 1" | xargs)" = 'main 1' ]
	# who asks for all of the library's functions has those that were called, by their own names
	"$dt" record -o t.db -F 'libriddle.so:*' ./riddles || [ $? = 5 ]
	counted t.db target 1000
	# the calls that the program makes of its libraries
	run "$dt" record -l -o t.db ./riddles
	[ "$status" = 5 ]
	one_line "$said"
	[ "$("$dt" sql -n t.db "SELECT function, count(*) FROM calls GROUP BY 1 ORDER BY 1" | xargs)" = 'rand 1' ]
	# what is not known before it runs
	rm t.db
	run "$dt" record -f -o t.db -F f sh -c ./riddles
	[ "$status" = 5 ]
	one_line "$said"
	[ "$("$dt" sql -n t.db "SELECT count(*) FROM calls")" = 0 ]
}

@test "functions that a static program chooses when it begins: by their names" {
	gcc -O1 -g -fno-builtin -static -o chosen-static "$root/test/counted/chosen.c" -lm
	for f in strlen memcpy expf own; do
		"$dt" record -o t.db -F "chosen-static:$f" -F 'chosen-static:main' ./chosen-static 2>err
		# libc calls some of them itself
		n=$("$dt" sql -n t.db "SELECT count(*) FROM calls WHERE function = '$f' AND depth = 1")
		[ "$n" = 1000 ] || { echo "$f: $n"; cat err; false; }
	done
}

@test "a thread whose number is a stranger's when its records are read is its program's" {
	[ -w /proc/sys/kernel/ns_last_pid ] || skip "needs to choose the next process's number"
	cat >reuse.c <<-'C'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <stdio.h>
		#include <unistd.h>
		__attribute__((noipa)) long leaf(long n) { return n * 3; }
		static void *work(void *tid) { *(int *)tid = gettid(); for (long i = 0; i < 100; i++) leaf(i); return NULL; }
		int main(void)
		{
			pthread_t t;
			int tid;
			while (access("begin", F_OK)) { leaf(0); usleep(1000); }
			pthread_create(&t, NULL, work, &tid);
			pthread_join(t, NULL);
			printf("%d %d\n", getpid(), tid);
			fflush(stdout);
			while (access("end", F_OK)) usleep(1000);
			return 0;
		}
	C
	gcc -O2 -pthread -static -o reuse reuse.c
	local tries tracer pid tid stranger
	for tries in 1 2 3 4 5; do
		rm -f begin end t.db* out
		"$dt" record -o t.db -F reuse:leaf ./reuse >out 2>err 3>&- &
		tracer=$!
		until [ "$(sqlite3 t.db 'SELECT count(*) FROM chunk' 2>/dev/null || echo 0)" -gt 0 ]; do sleep 0.02; done
		# what reads the records does so later
		kill -STOP "$tracer"
		touch begin
		until [ -s out ]; do sleep 0.02; done
		read -r pid tid <out
		echo $((tid - 1)) >/proc/sys/kernel/ns_last_pid
		sleep 10 3>&- &
		stranger=$!
		kill -CONT "$tracer"
		touch end
		wait "$tracer"
		kill "$stranger"
		[ "$stranger" = "$tid" ] || continue # somebody else was quicker
		[ "$(sqlite3 t.db "SELECT pid, name FROM thread WHERE tid = $tid")" = "$pid|" ]
		return
	done
	skip "others begin processes all the time"
}

@test "a library that a child of vfork loads is said to be missing, and is recorded once its parent loads another" {
	cat >"$dir/vloads.c" <<-'C'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noinline)) int mine(int n) { __asm__ volatile("" : "+r"(n)); return n + 2; }
		int main(void)
		{
			int (*volatile f)(int) = NULL;
			pid_t child = vfork();
			int status;
			if (child == 0) {
				f = (int (*)(int))dlsym(dlopen("./first.so", RTLD_NOW), "first");
				for (int k = 0; k < 100; k++)
					f(mine(k));
				_exit(0);
			}
			waitpid(child, &status, 0);
			dlopen("./second.so", RTLD_NOW);
			for (int k = 0; k < 50; k++)
				mine(f(k));
			printf("%d\n", status);
			return 0;
		}
	C
	echo 'int first(int n) { return n + 1; }' >"$dir/first.c"
	cd "$dir"
	gcc -O1 -fPIC -shared -o first.so first.c
	gcc -O1 -fPIC -shared -o second.so -x c - <<<'int second;'
	gcc -O1 -o vloads vloads.c
	"$dt" record -o t.db -F 'vloads:mine' -F 'first.so:*' ./vloads >out 2>err
	[ "$(cat out)" = 0 ]
	grep -q 'a child of vfork of process [0-9]*, has loaded or unloaded libraries: what is called of these is not recorded' err
	[ "$("$dt" sql -c -n t.db "SELECT function, count(*) FROM records WHERE kind = 'E' GROUP BY 1 ORDER BY 1" | tr -d '\r' | xargs)" = "first,50 mine,150" ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Calls that cross from a program, or a module, into libraries (-l, ^MODULE). What is right: what the
# program and its library count themselves, and what ltrace counts.
load read-helper
bats_require_minimum_version 1.5.0

setup_file() {
	export dir
	dir=$(mktemp -d)
	cat >"$dir/lib.c" <<-'C'
		#include <stdlib.h>
		#include <string.h>
		long inner;
		/* what the library calls itself is not the program's */
		long work(const char *s)
		{
			long n = 0;
			for (int i = 0; i < 7; i++) {
				char *copy = strdup(s);
				n += (long)strlen(copy) + atoi(copy);
				free(copy);
				inner++;
			}
			return n;
		}
		long each(long (*fn)(long), long n)
		{
			long sum = 0;
			for (long i = 0; i < n; i++)
				sum += fn(i);
			return sum;
		}
		long unused(long n) { return n + atoi("5"); }
	C
	cat >"$dir/prog.c" <<-'C'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <errno.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/wait.h>
		#include <unistd.h>
		long work(const char *s), each(long (*fn)(long), long n);
		static volatile long sink; /* the compiler must not leave calls out */
		static long made[4]; /* atoi, labs, work, each */
		static long back(long n)
		{
			__atomic_fetch_add(&made[1], 1, __ATOMIC_RELAXED);
			return labs(n) + 1; /* a call from a function that the library has called */
		}
		static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
		static void *thread(void *arg)
		{
			for (int i = 0; i < 500; i++) {
				__atomic_fetch_add(&made[0], 1, __ATOMIC_RELAXED);
				sink += atoi("42");
			}
			return arg;
		}
		int main(int argc, char **argv)
		{
			int sorted[] = {5, 3, 9, 1}, status;
			pthread_t t[3];
			long (*found)(long) = (long (*)(long))dlsym(RTLD_DEFAULT, "labs");
			/* the linker keeps only the longer text: the name is its end */
			int (*ended)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "toascii");
			long sum = argc > 5 && puts("to be made plain: toascii");
			for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, thread, 0);
			for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
			for (int i = 0; i < 20; i++) { made[2]++; sum += work("12345"); }
			made[3]++;
			sum += each(back, 30);
			for (int i = 0; i < 11; i++) { made[1]++; sum += found(-i); }
			for (int i = 0; i < 9; i++) sum += ended(i);
			qsort(sorted, 4, sizeof(int), compare);
			fflush(stdout);
			if (fork() == 0) {
				for (int i = 0; i < 40; i++) sink += atoi("7");
				_exit(3);
			}
			wait(&status);
			made[0] += 40; /* the child's */
			errno = 0;
			printf("access %d %d\n", access("/nonexistent", R_OK), errno);
			printf("atoi %ld\nlabs %ld\nwork %ld\neach %ld\nqsort 1\ntoascii 9\n", made[0], made[1], made[2], made[3]);
			fflush(stdout);
			sink += sum;
			return argc > 1 ? execl(argv[1], argv[1], NULL) : WEXITSTATUS(status);
		}
	C
	gcc -O2 -w -fno-builtin -D__NO_INLINE__ -fPIC -shared -o "$dir/libours.so" "$dir/lib.c"
	gcc -O2 -w -fno-builtin -D__NO_INLINE__ -o "$dir/prog" "$dir/prog.c" -L"$dir" -lours -Wl,-rpath,"$dir" -pthread
	gcc -O2 -w -fno-builtin -D__NO_INLINE__ -no-pie -fno-plt -o "$dir/nopie" "$dir/prog.c" -L"$dir" -lours -Wl,-rpath,"$dir" -pthread
	gcc -O2 -w -fno-builtin -D__NO_INLINE__ -Wl,-z,lazy -o "$dir/lazy" "$dir/prog.c" -L"$dir" -lours -Wl,-rpath,"$dir" -pthread
	cat >"$dir/loop.c" <<-'C'
		#include <stdlib.h>
		#include <unistd.h>
		#include <stdio.h>
		long work(const char *s);
		volatile long sink;
		int main(void)
		{
			puts("ready");
			fflush(stdout);
			for (int i = 0; i < 3000; i++) { sink += work("99") + atoi("1"); usleep(2000); }
			return 0;
		}
	C
	gcc -O1 -w -fno-builtin -D__NO_INLINE__ -o "$dir/loop" "$dir/loop.c" -L"$dir" -lours -Wl,-rpath,"$dir"
	for p in prog nopie lazy; do cp "$dir/$p" "$dir/$p-stripped"; strip "$dir/$p-stripped"; done
}

# the counts that the program has printed to `out' are those of the trace
same_as_printed() {
	local name n
	while read -r name n; do
		[ "$(count_of "$name")" = "$n" ] || { echo "$1: $name: $n made, $(count_of "$name") recorded"; return 1; }
	done < <(grep -E '^(atoi|labs|work|each|qsort|toascii) ' "$dir/out")
}

# calls that began in the trace, without those that a recorded call has made by a jump
count_of() {
	devtrace sql -n -c "$dir/t.db" "select count(*) from calls where function = '$1' and flags & 48 = 0" | tr -d '\r'
}

# starts a program that prints `ready'; sets pid
start_spin() {
	local ready
	exec {out}< <(exec "$@" 3>&-)
	pid=$!
	read -r ready <&"$out"
}

stop_spin() {
	kill "$pid" 2>/dev/null || true
	exec {out}<&-
}

@test "libcalls: the calls that a program makes, not those that its libraries make, as it counts them" {
	local p
	for p in prog nopie lazy prog-stripped nopie-stripped lazy-stripped; do
		run -3 --separate-stderr devtrace record -l -o "$dir/t.db" "$dir/$p"
		echo "$output" >"$dir/out"
		same_as_printed "$p"
		# the library's own calls, and the program's own functions, are not there
		[ "$(count_of strdup)" = 0 ]
		[ "$(count_of compare)" = 0 ]
		[ "$(count_of main)" = 0 ]
		# every call has its result
		[ "$(devtrace sql -n -c "$dir/t.db" "select count(*) from calls where function in ('atoi','labs','work','each','qsort') and (ended not in ('returned', 'tail') or flags & 512)" | tr -d '\r')" = 0 ]
		devtrace check "$dir/t.db"
	done
}

@test "libcalls: of a library that is named, and of the program beside a function called from everywhere" {
	run -3 --separate-stderr devtrace record -llibours.so -o "$dir/t.db" "$dir/prog"
	# 20 calls of work, each of which makes seven of strdup, strlen, atoi and free
	[ "$(count_of strdup)" = 140 ]
	[ "$(count_of atoi)" = 140 ]
	[ "$(count_of free)" = 140 ]
	[ "$(count_of labs)" = 0 ]
	[ "$(count_of work)" = 0 ]
	run -3 --separate-stderr devtrace record -l -F 'libc.so.6:atoi' -o "$dir/t.db" "$dir/prog"
	echo "$output" >"$dir/out"
	made=$(sed -n 's/^atoi //p' "$dir/out")
	[ "$(count_of atoi)" = $((made + 140)) ]
	[ "$(count_of strdup)" = 0 ]
	[ "$(count_of labs)" = "$(sed -n 's/^labs //p' "$dir/out")" ]
}

@test "libcalls: a program that looks names up has only those chosen that can be meant, whatever texts it has" {
	cat >"$dir/texts.c" <<-C
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <stdio.h>
		/* longer than any name, and one of which the end is a name: the linker keeps only the longer one of two such */
		static const char *const text[] = {"$(printf 'x%.0s' $(seq 5000))", "$(printf 'y%.0s' $(seq 300))labs"};
		int main(int argc, char **argv)
		{
			long (*f)(long) = (long (*)(long))dlsym(RTLD_DEFAULT, argc > 9 ? text[argc % 2] : "labs");

			printf("%ld %c\n", f(-argc), text[argc & 1][3]);
			return 0;
		}
	C
	gcc -O1 -o "$dir/texts" "$dir/texts.c"
	run -0 --separate-stderr devtrace record -l -v -o "$dir/t.db" "$dir/texts"
	echo "$stderr"
	[ "$(count_of labs)" = 1 ]
	[ "$(count_of dlsym)" = 1 ]
	# what libc has that is not hooked would be named, had all of it been chosen
	[[ $stderr != *__restore_rt* ]]
	[[ $stderr != *"functions chosen"* ]]
	devtrace check -q "$dir/t.db"
}

@test "libcalls: -N takes functions away, and programs that are executed are followed" {
	run -0 --separate-stderr devtrace record -l -f -N 'labs' -N 'libours.so:*' -o "$dir/t.db" "$dir/prog" /bin/echo
	[ "$(count_of labs)" = 0 ]
	[ "$(count_of work)" = 0 ]
	[ "$(count_of atoi)" = "$(sed -n 's/^atoi //p' <<<"$output")" ]
	[ "$(count_of setlocale)" = 1 ] # echo's own
}

# counts FILE: the calls that ltrace -c has counted, and those of t.db, by piece of code: a name that is the same function as
# another one counts with that. NAME THEIRS OURS
counts() {
	devtrace sql -n -c "$dir/t.db" "SELECT function, count(*) FROM calls WHERE flags & 16 = 0 GROUP BY 1" | tr -d '\r' >"$dir/ours"
	sqlite3 "$dir/t.db" "SELECT f.name, n.name FROM function f JOIN function_name n ON n.function = f.id" >"$dir/names"
	python3 - "$1" "$dir/ours" "$dir/names" <<-'P'
		import collections, sys
		called = dict(line.strip().split('|')[::-1] for line in open(sys.argv[3]))
		theirs, ours = collections.Counter(), collections.Counter()
		for words in map(str.split, open(sys.argv[1])):
		    if len(words) == 5 and words[3].isdigit():
		        theirs[called.get(words[4], words[4])] += int(words[3])
		for line in open(sys.argv[2]):
		    name, _, n = line.strip().rpartition(',')
		    ours[called.get(name, name)] += int(n)
		for name in sorted(set(theirs) | set(ours)):
		    print(name, theirs[name], ours[name])
	P
}

@test "libcalls: as many as ltrace counts, of programs as Debian has them" {
	local p name theirs ours seen
	git init -q "$dir/repo"
	for p in 1 2 3 4 5; do
		seq $p 40 >"$dir/repo/f$p"
		git -C "$dir/repo" add .
		git -C "$dir/repo" -c user.name=n -c user.email=n@n commit -q -m "$p"
	done
	for p in "git -C $dir/repo log -S7" "curl -s file:///etc/services" "sqlite3 :memory: .databases" "xz -c /etc/services" \
		"ls -l /usr/include" "sort /etc/services" "od -c /etc/hostname"; do
		# shellcheck disable=SC2086 # words
		ltrace -c -o "$dir/ltrace" $p >/dev/null
		# shellcheck disable=SC2086
		devtrace record -l -o "$dir/t.db" $p >/dev/null 2>&1
		counts "$dir/ltrace" >"$dir/counts"
		# functions that only pass on an address are not hooked (doc/language.md)
		sed -i '/^__errno_location /d; /^__ctype_[a-z_]* /d' "$dir/counts"
		# ltrace counts what returns
		sed -i '/^exit /d; /^_exit /d' "$dir/counts"
		seen=0
		while read -r name theirs ours; do
			[ "$theirs" != "$ours" ] || { seen=$((seen + 1)); continue; }
			# ltrace does not see calls of functions whose address the program takes, too: the linker makes no slot
			# of the table of procedures for them
			if [ "$theirs" = 0 ] && readelf -rW "$(command -v "${p%% *}")" | grep -q "R_X86_64_\(GLOB_DAT\|64\) .* $name[@ ]"; then
				continue
			fi
			echo "$p: $name: ltrace $theirs, devtrace $ours"
			return 1
		done <"$dir/counts"
		[ "$seen" -gt 15 ]
	done
}

@test "libcalls: as many as strace counts, of calls that nobody but the program makes" {
	local p what pattern n
	git init -q "$dir/repo"
	seq 40 >"$dir/repo/f1"
	git -C "$dir/repo" add .
	git -C "$dir/repo" -c user.name=n -c user.email=n@n commit -q --allow-empty -m more
	# PROGRAM | FUNCTION | what strace has of it
	while IFS='|' read -r p what pattern; do
		# shellcheck disable=SC2086 # words
		strace -o "$dir/strace" $p >/dev/null
		# shellcheck disable=SC2086
		devtrace record -l -o "$dir/t.db" $p >/dev/null 2>&1
		n=$(devtrace sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function = '$what'" | tr -d '\r')
		[ "$n" -gt 0 ]
		[ "$n" = "$(grep -cE "$pattern" "$dir/strace")" ] || { echo "$p: $what: $n, strace $(grep -cE "$pattern" "$dir/strace")"; return 1; }
	done <<-TEXT
		ls -l /usr/include|statx|^statx\\(
		ls -l /usr/include|getxattr|^getxattr\\(
		git -C $dir/repo log -S7|lstat64|^newfstatat\\(.*AT_SYMLINK_NOFOLLOW\\)
		xz -c /etc/services|fcntl|^fcntl\\(
		sort /etc/services|posix_fadvise|^fadvise64\\(
	TEXT
}

@test "libcalls: what a stripped program calls is what devtrace PROG shows" {
	run -3 --separate-stderr devtrace "$dir/prog-stripped"
	[[ $output == *'work(s="12345")'* ]] || [[ $output == *'work("12345")'* ]] || [[ $output == *'work('* ]]
	[[ $output == *'access(path="/nonexistent", mode=R_OK) = -1 ENOENT (No such file or directory)'* ]]
	[[ $output == *'each('* ]]
	[ "$(grep -c strdup <<<"$output")" = 0 ]
	# a program that has names shows its own functions
	run -3 --separate-stderr devtrace "$dir/prog"
	[[ $output == *'main('* ]]
	[ "$(grep -c 'qsort(' <<<"$output")" = 0 ]
}

@test "libcalls: in the language: ^MODULE, together with patterns, changed while the program runs" {
	start_spin "$dir/loop"
	devtrace attach -d -s "lc$$" "$pid"
	devtrace ctl -s "lc$$" "trace '+libc.so.6:atoi ^loop' new some
trace some on
start"
	# of each turn one of the eight calls of atoi: a sleep lies between
	sleep 0.5
	devtrace ctl -s "lc$$" stop
	devtrace cat -s "lc$$" >"$dir/one"
	[ "$(grep -c ^E "$dir/one")" -gt 20 ]
	first=$(grep -c ^E "$dir/one")
	# from everywhere, by a second range: the same site gets another hook
	devtrace ctl -s "lc$$" "reset
trace 'libc.so.6:atoi' new all
trace all on
start"
	sleep 0.5
	devtrace ctl -s "lc$$" stop
	devtrace cat -s "lc$$" >"$dir/two"
	[ "$(grep -c ^E "$dir/two")" -gt $((first * 3)) ]
	# and from the program only, once more
	devtrace ctl -s "lc$$" "trace all off
reset
start"
	sleep 0.5
	devtrace ctl -s "lc$$" stop
	devtrace cat -s "lc$$" >"$dir/three"
	[ "$(grep -c ^E "$dir/three")" -gt 20 ]
	[ "$(grep -c ^E "$dir/three")" -lt $((first * 2)) ]
	# a range is written as it is read
	devtrace ctl -s "lc$$" | grep -F "trace '+libc.so.6:atoi ^loop' new some"
	devtrace ctl -s "lc$$" quit
	stop_spin
}

@test "libcalls: errno is that of the thread, with and without rseq, and so is what is recorded" {
	cat >"$dir/errs.c" <<-'C'
		#include <errno.h>
		#include <fcntl.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <unistd.h>
		static void *thread(void *arg)
		{
			for (int i = 0; i < 200; i++)
				arg ? close(-1) : open("/nonexistent", O_RDONLY);
			return NULL;
		}
		int main(void)
		{
			pthread_t t[2];
			for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, thread, (void *)i);
			for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
			return 0;
		}
	C
	gcc -O1 -w -o "$dir/errs" "$dir/errs.c" -pthread
	for without in "" GLIBC_TUNABLES=glibc.pthread.rseq=0 "GLIBC_TUNABLES=glibc.pthread.rseq=0 DEVTRACE_NO_RSEQ=1"; do
		# shellcheck disable=SC2086 # several words
		env $without devtrace record -l -o "$dir/t.db" "$dir/errs"
		run -0 devtrace sql -n -c "$dir/t.db" "select function, errno, count(*) from calls where function in ('open', 'open64', 'close') group by 1, 2 order by 1"
		[ "$(tr -d '\r' <<<"$output" | sed 's/^open64/open/')" = $'close,EBADF,200\nopen,ENOENT,200' ]
	done
}

@test "libcalls: ranges that come and go leave nothing on, also of callers that are loaded later" {
	cat >"$dir/plugin.c" <<-'C'
		#include <stdlib.h>
		#include <string.h>
		long plug(const char *s) { char *copy = strdup(s); long n = atoi(copy); free(copy); return n; }
	C
	for n in 1 2; do
		gcc -O$n -w -fno-builtin -D__NO_INLINE__ -fPIC -shared -o "$dir/libplugin$n.so" "$dir/plugin.c"
	done
	cat >"$dir/host.c" <<-'C'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		volatile long sink;
		int main(int argc, char **argv)
		{
			char line[64];
			long (*plug[2])(const char *);
			int plugs = 0;
			puts("ready");
			fflush(stdout);
			while (fgets(line, sizeof(line), stdin)) {
				if (plugs + 1 < argc)
					plug[plugs] = (long (*)(const char *))dlsym(dlopen(argv[plugs + 1], RTLD_NOW), "plug"), plugs++;
				for (int i = 0; i < 50; i++) {
					for (int p = 0; p < plugs; p++)
						sink += plug[p]("7");
					char *copy = strdup("5"); /* the program's own: not meant */
					sink += atoi(copy);
					free(copy);
				}
				puts("done");
				fflush(stdout);
			}
			return 0;
		}
	C
	gcc -O1 -w -fno-builtin -D__NO_INLINE__ -o "$dir/host" "$dir/host.c"
	coproc "$dir/host" "$dir/libplugin1.so" "$dir/libplugin2.so" 3>&-
	local pid=$COPROC_PID answer in=${COPROC[1]} out=${COPROC[0]}
	read -r answer <&"$out"
	turn() { echo >&"$in" && read -r answer <&"$out"; }
	entries() { devtrace cat -s "lp$$" | grep -c ^E; }
	devtrace attach -d -s "lp$$" "$pid"
	# two ranges of the same callers, which are not loaded yet
	devtrace ctl -s "lp$$" "trace '* ^libplugin*' new one
trace one on
trace '* !atoi ^libplugin*' new two
trace two on
start"
	turn
	[ "$(entries)" = 150 ] # strdup, atoi and free of the plugin, each once
	turn
	[ "$(entries)" = 300 ] # and of the second one, which came while both ranges were on
	devtrace ctl -s "lp$$" 'trace one off'
	turn
	[ "$(entries)" = 200 ] # without atoi
	devtrace ctl -s "lp$$" 'trace two off'
	turn
	[ "$(entries)" = 0 ]
	[ "$(devtrace cat -s "lp$$" | wc -l)" = 0 ] # nor an exit
	devtrace ctl -s "lp$$" 'trace two on'
	turn
	[ "$(entries)" = 200 ]
	devtrace ctl -s "lp$$" quit
	turn
	exec {in}>&-
	wait "$pid"
}

@test "libcalls: of more modules than the hooks know, it says whose calls are left out" {
	local k libs=()
	for k in 1 2 3 4 5 6; do
		printf '#include <stdlib.h>\nlong many%s(const char *s) { return atoi(s); }\n' $k >"$dir/many$k.c"
		gcc -O1 -w -fno-builtin -D__NO_INLINE__ -fPIC -shared -o "$dir/libmany$k.so" "$dir/many$k.c"
		libs+=("-lmany$k")
	done
	{
		for k in 1 2 3 4 5 6; do echo "long many$k(const char *);"; done
		echo 'volatile long sink; int main(void) { for (int i = 0; i < 10; i++) {'
		for k in 1 2 3 4 5 6; do echo "sink += many$k(\"1\");"; done
		echo '} return 0; }'
	} >"$dir/manies.c"
	gcc -O1 -w -o "$dir/manies" "$dir/manies.c" -L"$dir" "${libs[@]}" -Wl,-rpath,"$dir"
	run -0 devtrace record '-llibmany*' -o "$dir/t.db" "$dir/manies"
	[[ $output == *"calls of libraries that "*"/libmany"*" makes are not recorded: that is done for 4 modules of a process at most"* ]]
	[ "$(count_of atoi)" = 40 ]
}

@test "libcalls: a function whose code runs into another one's ends where that returns, with its result" {
	# strcasecmp looks up the locale, and is strcasecmp_l from there on
	cat >"$dir/runs.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <strings.h>
		__attribute__((noipa)) static int compare(const char *a, const char *b)
		{
			int r = strcasecmp(a, b);
			for (volatile int i = 0; i < 20000000; i++)
				;
			return r;
		}
		int main(void)
		{
			int a = compare("always", "true"), b = strncasecmp("TRUE", "true", 4);
			free(malloc(3));
			printf("%d %d\n", a, b);
			return 0;
		}
	C
	gcc -O1 -o "$dir/runs" "$dir/runs.c"
	read -r a b < <("$dir/runs")
	for how in "-l" "-F lib*:strcasecmp -F lib*:strncasecmp -F lib*:malloc"; do
		# shellcheck disable=SC2086
		devtrace record $how -o "$dir/t.db" "$dir/runs" >"$dir/said"
		[ "$(cat "$dir/said")" = "$a $b" ]
		devtrace sql -c -n "$dir/t.db" "SELECT function, result, ended, duration < 1000000 FROM calls WHERE function LIKE '%casecmp' ORDER BY begin" | tr -d '\r' >"$dir/got"
		printf '%s\n' "strcasecmp,$a,tail,1" "strncasecmp,$b,tail,1" | diff - "$dir/got"
		[ "$(devtrace calls "$dir/t.db" | grep -cE 'unwound|entry not recorded|no exit')" = 0 ]
		[ "$(devtrace sum -e "$dir/t.db" "count by caller if malloc" | grep -c casecmp)" = 0 ]
	done
	devtrace record -l --sum 'count by caller if malloc' -o "$dir/t.db" "$dir/runs" >/dev/null
	[ "$(devtrace sum "$dir/t.db" | grep -c casecmp)" = 0 ]
	# the other one recorded, too, by its name: it is inside, and the end is the same
	devtrace record -F 'lib*:strcasecmp*' -o "$dir/t.db" "$dir/runs" >/dev/null
	[[ $(devtrace calls "$dir/t.db") == *"strcasecmp("*"strcasecmp_l("*" = $a  /* tail-called */"*"} = $a  /* strcasecmp: tail call */"* ]]
}

@test "libcalls: what a library's function jumps to is a part of its call, in all commands, as the program counts" {
	cat >"$dir/parts.c" <<-'C'
		#define _GNU_SOURCE
		#include <stdlib.h>
		#include <string.h>
		volatile long sink;
		int main(void)
		{
			for (int i = 0; i < 50; i++) {
				void *p = reallocarray(NULL, 3, 8), *q = malloc(9); /* it jumps to realloc, and that to malloc */
				q = realloc(q, 4000);
				sink += strcoll("a", i % 2 ? "a" : "b"); /* in the C locale it is strcmp */
				sink += strcmp("x", "y");
				free(p);
				free(q);
			}
			return 0;
		}
	C
	gcc -O1 -w -fno-builtin -o "$dir/parts" "$dir/parts.c"
	printf '%s\n' free,100 malloc,50 realloc,50 reallocarray,50 strcmp,50 strcoll,50 >"$dir/want"
	devtrace record -l -o "$dir/t.db" "$dir/parts"
	devtrace check "$dir/t.db"
	of_program() { grep -E '^(free|malloc|realloc|reallocarray|strcmp|strcoll),'; }
	devtrace sql -n -c "$dir/t.db" "SELECT function, count(*) FROM calls GROUP BY 1 ORDER BY 1" | tr -d '\r' | of_program | diff "$dir/want" -
	for more in "" "--filter depth=1"; do
		# shellcheck disable=SC2086
		devtrace report --json $more "$dir/t.db" 2>/dev/null | python3 -c '
import json, sys
rows = [x for x in map(json.loads, sys.stdin) if x.get("calls") and "function" in x]
for x in sorted(rows, key=lambda x: x["function"]):
    print("%s,%d" % (x["function"], x["calls"]))' | of_program | diff "$dir/want" -
	done
	devtrace sum -e 'count by function' "$dir/t.db" 2>"$dir/err" | awk '$2 ~ /^[a-z]+$/ && $1 > 0 {print $2 "," $1}' | sort | of_program | diff "$dir/want" -
	grep -q 'calls made by a jump (as realloc does of malloc) are a part of the call that made them' "$dir/err"
	# their time is the call's own; what it says it has jumped to; and that has its result
	[ "$(devtrace sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function LIKE 'realloc%' AND (self <> duration OR depth <> 0 OR result IS NULL)" | tr -d '\r')" = 0 ]
	[ "$(devtrace calls "$dir/t.db" | grep -c ' us  reallocarray(ptr=0x0, nmemb=3, size=8) = 0x.*  /\* tail call of realloc \*/$')" = 50 ]
	[ "$(devtrace calls "$dir/t.db" | grep -c 'strcoll(.*"a", .*) = -\?[01]  /\* tail call of strcmp')" = 50 ]
	[ "$(devtrace calls --json "$dir/t.db" | grep -c '"folds"')" = 100 ]
	# all of them, where that is asked for
	[ "$(devtrace calls --tail-calls "$dir/t.db" | grep -c 'tail-called')" = 150 ]
	[ "$(devtrace calls --tail-calls "$dir/t.db" | grep -cE ' malloc\(')" = 100 ]
	[ "$(devtrace report --tail-calls --json "$dir/t.db" | grep -c '"function": "malloc".*"calls": 100,')" = 1 ]
	# while recording
	devtrace record -l --sum 'count by function' -o "$dir/s.db" "$dir/parts"
	devtrace sum "$dir/s.db" | awk '$2 ~ /^[a-z]+$/ && $1 > 0 {print $2 "," $1}' | sort | of_program | diff "$dir/want" -
	devtrace record -l --filter malloc -o "$dir/s.db" "$dir/parts" 2>"$dir/err"
	devtrace check "$dir/s.db"
	[ "$(devtrace calls "$dir/s.db" 2>/dev/null | grep -c malloc)" = 50 ]
	# chosen by its name, too, it is a call of its own
	devtrace record -l -F 'libc.so.6:malloc' -o "$dir/s.db" "$dir/parts"
	[ "$(devtrace sql -n -c "$dir/s.db" "SELECT count(*) > 99 FROM calls WHERE function = 'malloc'" | tr -d '\r')" = 1 ]
}

# makes libraries whose functions jump to each other's: first() to second(), that to third(), which
# takes 2 ms; other() through a pointer to third() that the dynamic linker fills in; $1: options
make_jumps() {
	cat >"$dir/third.c" <<-'C'
		#include <errno.h>
		#include <unistd.h>
		long third(long n) { usleep(2000); errno = ENOENT; return n < 2 ? -1 : 3 * n; }
	C
	echo 'long third(long); long second(long n) { return third(n + 1); }' >"$dir/second.c"
	cat >"$dir/first.c" <<-'C'
		#include <stdlib.h>
		long second(long), third(long);
		long first(long n) { return second(n); }
		__attribute__((optimize("no-plt"), noinline)) long other(long n) { return third(n); }
		void release(void *p) { free(p); }
	C
	cat >"$dir/jumps.c" <<-'C'
		#include <stdio.h>
		long first(long), other(long);
		int main(void)
		{
			for (long i = 0; i < 4; i++)
				printf("first,%ld\n", first(i));
			for (long i = 0; i < 3; i++)
				printf("other,%ld\n", other(i));
			fflush(stdout);
			return 0;
		}
	C
	local k needs=()
	for k in third second first; do
		# shellcheck disable=SC2086 # words
		gcc -O2 -fPIC -shared $1 -o "$dir/lib$k.so" "$dir/$k.c" -L"$dir" "${needs[@]}" -Wl,-rpath,"$dir"
		needs=(-lthird -l$k)
	done
	# shellcheck disable=SC2086
	gcc -O1 $1 -o "$dir/jumps" "$dir/jumps.c" -L"$dir" -lfirst -Wl,-rpath,"$dir" -Wl,-rpath-link,"$dir"
}

@test "libcalls: what a library's function jumps to in another library ends its call, with time and result" {
	local how
	for how in -Wl,-z,lazy -Wl,-z,now "-fno-plt -Wl,-z,now"; do
		make_jumps "$how"
		devtrace record -l -o "$dir/t.db" "$dir/jumps" >"$dir/said"
		[ "$(wc -l <"$dir/said")" = 7 ]
		devtrace sql -n -c "$dir/t.db" "SELECT function, result FROM calls WHERE function IN ('first', 'second', 'third', 'other') AND duration > 2000000 AND ended = 'tail' AND flags & 512 = 0 ORDER BY begin" | tr -d '\r' >"$dir/got"
		diff "$dir/said" "$dir/got"
		# those that it jumps to are no calls of the program, and nothing is left over
		[ "$(devtrace calls "$dir/t.db" | grep -cE 'second|third|not recorded|time to its jump|unwound')" = 0 ]
		devtrace check "$dir/t.db"
		# by time, which is known at the other function's exit only; and in sums
		devtrace record -l --filter 'time>1ms' -o "$dir/t.db" "$dir/jumps" >/dev/null
		[ "$(count_of first)" = 4 ]
		[ "$(count_of printf)" = 0 ]
		devtrace record -l --sum 'count if first time>1ms' -o "$dir/t.db" "$dir/jumps" >/dev/null
		[ "$(devtrace sum "$dir/t.db" | grep -cw 4)" = 1 ]
	done
}

@test "libcalls: a library that is loaded later jumps to what is hooked already; off leaves nothing on" {
	make_jumps ""
	cat >"$dir/turns.c" <<-'C'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <stdlib.h>
		int main(int argc, char **argv)
		{
			char line[64];
			void (*release)(void *) = NULL;
			puts("ready");
			fflush(stdout);
			while (fgets(line, sizeof(line), stdin)) {
				if (!release)
					release = (void (*)(void *))dlsym(dlopen(argv[1], RTLD_LAZY), "release");
				for (int i = 0; i < 50; i++)
					release(malloc(7));
				puts("done");
				fflush(stdout);
			}
			return 0;
		}
	C
	gcc -O1 -fno-builtin -o "$dir/turns" "$dir/turns.c"
	coproc "$dir/turns" "$dir/libfirst.so" 3>&-
	local pid=$COPROC_PID answer in=${COPROC[1]} out=${COPROC[0]}
	read -r answer <&"$out"
	turn() { echo >&"$in" && read -r answer <&"$out"; }
	devtrace attach -d -l -s "lj$$" "$pid"
	turn
	turn
	devtrace cat -s "lj$$" >"$dir/first"
	devtrace ctl -s "lj$$" 'trace libcalls off'
	turn
	[ "$(devtrace cat -s "lj$$" | wc -l)" = 0 ]
	devtrace ctl -s "lj$$" 'trace libcalls on'
	turn
	devtrace cat -s "lj$$" >"$dir/second"
	devtrace ctl -s "lj$$" quit
	turn
	exec {in}>&-
	wait "$pid"
	# of each of the fifty calls of release: an entry, its jump, and the exit of free
	for k in first second; do
		awk '$1 != "c" { n[$1 " " $2]++ } END { for (k in n) if (n[k] >= 50) { split(k, w); print w[1], n[k] } }' "$dir/$k" | sort >"$dir/counts"
		[ "$k" = first ] && n=100 || n=50
		# malloc and release; malloc, the jump, and free
		printf '%s\n' "E $n" "E $n" "X $n" "X $n" "X $n" | diff - "$dir/counts"
	done
}

@test "libcalls: what a function of the program jumps to that a library has called: an entry, with its arguments" {
	cat >"$dir/back.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		static char *word[] = {"one", "two", "three", "four", "five"};
		/* jumps to strcmp, and is called by qsort; and by the program, where strcmp returns to the program */
		__attribute__((noinline)) static int compare(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }
		__attribute__((noinline)) static int deeper(const void *a, const void *b) { return compare(a, b); }
		static int (*volatile how[])(const void *, const void *) = {compare, deeper};
		int main(void)
		{
			int n = 0;
			qsort(word, 5, sizeof(*word), how[0]);
			n += bsearch(&word[2], word, 5, sizeof(*word), deeper) != NULL;
			for (int i = 0; i < 20; i++)
				n += how[i & 1](&word[0], &word[1]) > 0;
			for (int i = 0; i < 5; i++)
				printf("%s %p\n", word[i], (void *)word[i]);
			fflush(stdout);
			return n - 1;
		}
	C
	for how in "" "-no-pie -fno-pie" "-fno-plt -Wl,-z,now"; do
		# shellcheck disable=SC2086 # words
		gcc -O2 -w -fno-builtin -D__NO_INLINE__ $how -o "$dir/back" "$dir/back.c"
		objdump -d "$dir/back" | grep -qE 'jmp .*(strcmp|GLOBAL_OFFSET|# )'
		run -0 ltrace -e strcmp -o "$dir/ltrace" "$dir/back"
		run -0 devtrace record -l -o "$dir/t.db" "$dir/back"
		# with -fno-plt ltrace sees none: as many as the first program made
		[[ $how == *no-plt* ]] || n=$(grep -c strcmp "$dir/ltrace")
		[ "$n" -gt 25 ]
		[ "$(count_of strcmp)" = "$n" ]
		# those that return to the program have results, and are recorded once
		[ "$(devtrace sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function = 'strcmp' AND ended = 'returned'" | tr -d '\r')" = 20 ]
		[ "$(devtrace sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function = 'strcmp' AND ended = 'unseen'" | tr -d '\r')" = $((n - 20)) ]
		devtrace check "$dir/t.db"
		# in the calls of qsort and bsearch, with the program's pointers
		devtrace calls "$dir/t.db" >"$dir/calls"
		p=$(awk '/^two/ { print $2 }' <<<"$output")
		grep -E "^ {17,}.*strcmp\(s1=0x" "$dir/calls" | grep -qF "s2=$p"
		devtrace record -l -N strcmp -o "$dir/t.db" "$dir/back" >/dev/null
		[ "$(count_of strcmp)" = 0 ]
		[ "$(count_of qsort)" = 1 ]
		devtrace record -l --sum 'count by function if strcmp' -o "$dir/t.db" "$dir/back" >/dev/null
		[ "$(devtrace sum "$dir/t.db" | grep strcmp | grep -cw "$n")" = 1 ]
		devtrace record -l --filter strcmp -o "$dir/t.db" "$dir/back" >/dev/null 2>"$dir/err"
		[ "$(count_of strcmp)" = "$n" ]
	done
	# in a large file such jumps are not looked for, which is said; in this one they were
	! grep -q 'not looked for' "$dir/err" || false
	echo 'char large[9 << 20] = {1};' >>"$dir/back.c"
	gcc -O2 -w -fno-builtin -D__NO_INLINE__ -o "$dir/large" "$dir/back.c"
	devtrace record -l -o "$dir/t.db" "$dir/large" >/dev/null 2>"$dir/err"
	[ "$(grep -c "large: where a library calls .* above 8 MiB such jumps are not looked for" "$dir/err")" = 1 ]
	[ "$(count_of strcmp)" = 20 ]
}

@test "libcalls: what a callback jumps to has its name also when the program ends in it, before anybody has looked" {
	local i
	printf '#include <stdlib.h>\nvoid boot(void (*f)(int)) { f(3); __asm__ volatile(""); }\nvoid shell(int n) { exit(n); }\n' >"$dir/boot.c"
	printf 'void boot(void (*)(int));\nvoid shell(int);\nstatic void inner(int n) { shell(n * 2 + 1); }\nint main(void) { boot(inner); return 1; }\n' >"$dir/start.c"
	gcc -O2 -shared -fPIC -o "$dir/libboot.so" "$dir/boot.c"
	for how in "-Wl,-z,lazy" "-Wl,-z,now -fno-plt"; do
		# shellcheck disable=SC2086 # words
		gcc -O2 $how -o "$dir/start" "$dir/start.c" -L"$dir" -lboot -Wl,-rpath,"$dir"
		objdump -d "$dir/start" | grep -qE 'jmp .*(shell|# )'
		for i in 1 2 3; do
			run -7 devtrace record -l -o "$dir/t.db" "$dir/start"
			devtrace check "$dir/t.db"
			[ "$(devtrace sql -n -c "$dir/t.db" "SELECT count(*), arg0 FROM calls WHERE function = 'shell'" | tr -d '\r')" = 1,7 ]
		done
	done
}

@test "libcalls: of openssl, each call of a function that returns has its result, also of those that jump to libc's" {
	echo text >"$dir/text"
	ltrace -c -o "$dir/ltrace" openssl dgst -sha256 "$dir/text" >/dev/null
	devtrace record -l -o "$dir/t.db" openssl dgst -sha256 "$dir/text" >/dev/null
	for name in CRYPTO_free CRYPTO_malloc CRYPTO_clear_free OPENSSL_LH_free; do
		n=$(awk -v f=$name '$4 == f { print $3 } $5 == f { print $4 }' "$dir/ltrace")
		[ "$(count_of $name)" = "$n" ] || { echo "$name: ltrace $n, devtrace $(count_of $name)"; return 1; }
	done
	# a jump through a pointer of the library's own data leads nobody knows where
	[ "$(devtrace sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE flags & 512 AND function LIKE 'CRYPTO%'" | tr -d '\r')" = 0 ]
	devtrace check "$dir/t.db"
}

@test "libcalls: what the kernel's vdso answers (time, gettimeofday), of the program only, with threads and children" {
	cat >"$dir/clocks.c" <<-'C'
		#include <sys/time.h>
		#include <time.h>
		void ask(void) /* what libraries call is not the program's */
		{
			struct timeval t;
			for (int i = 0; i < 30; i++) {
				gettimeofday(&t, 0);
				time(0);
			}
		}
		long jump(void) { return time(0); }
	C
	cat >"$dir/asks.c" <<-'C'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/time.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		void ask(void);
		long jump(void);
		static void *thread(void *arg)
		{
			for (int i = 0; i < 200; i++)
				time((time_t *)arg);
			return arg;
		}
		int main(void)
		{
			struct timeval t;
			struct timespec s;
			pthread_t other;
			time_t into;
			for (int i = 0; i < 100; i++) {
				gettimeofday(&t, NULL);
				clock_gettime(CLOCK_REALTIME, &s);
				/* the clocks agree, so what was moved out of the way still works */
				if ((s.tv_sec - t.tv_sec) * 1000000000 + s.tv_nsec - t.tv_usec * 1000 < 0 || time(&into) != into ||
				    into - s.tv_sec > 1 || s.tv_sec - into > 1)
					abort();
			}
			printf("now %ld %ld\n", (long)t.tv_sec, (long)t.tv_usec);
			pthread_create(&other, 0, thread, 0);
			pthread_join(other, 0);
			ask();
			printf("jump %d\n", jump() - time(NULL) > 1);
			fflush(stdout);
			if (fork() == 0) {
				for (int i = 0; i < 50; i++)
					time(NULL);
				_exit(0);
			}
			wait(NULL);
			return 0;
		}
	C
	gcc -O2 -fPIC -shared -o "$dir/libclocks.so" "$dir/clocks.c"
	gcc -O1 -o "$dir/asks" "$dir/asks.c" -L"$dir" -lclocks -Wl,-rpath,"$dir" -pthread
	for how in "" "-p overwrite"; do
		# shellcheck disable=SC2086
		run -0 devtrace record -l $how -o "$dir/t.db" "$dir/asks"
		[[ $output != *vdso* ]]
		[ "$(count_of time)" = 351 ] # 100, 200 of the thread, 1, 50 of the child; that by jump() is in it
		[ "$(count_of gettimeofday)" = 100 ]
		[ "$(count_of clock_gettime)" = 100 ]
		[ "$(devtrace sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function IN ('time', 'gettimeofday', 'jump') AND (result IS NULL OR flags & 512)" | tr -d '\r')" = 0 ]
		devtrace check "$dir/t.db"
	done
	devtrace calls "$dir/t.db" | grep -qE "gettimeofday\(tv=\{tv_sec=$(awk '/^now/ { print $2 ", tv_usec=" $3 }' <<<"$output")\}, tz=0x0\) = 0"
}

@test "libcalls: the vdso is as it was after a session, and after one that was killed; a static program goes on" {
	cat >"$dir/clock.c" <<-'C'
		#include <stdio.h>
		#include <string.h>
		#include <sys/auxv.h>
		#include <time.h>
		/* prints the sum of the vdso's bytes whenever it is asked to */
		int main(void)
		{
			const unsigned char *vdso = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
			char line[64];
			puts("ready");
			fflush(stdout);
			while (fgets(line, sizeof(line), stdin)) {
				unsigned long sum = 0;
				for (int i = 0; i < 8192; i++)
					sum = sum * 31 + vdso[i];
				for (int i = 0; i < 40; i++)
					time(NULL);
				printf("%lu\n", sum);
				fflush(stdout);
			}
			return 0;
		}
	C
	gcc -O1 -o "$dir/clock" "$dir/clock.c"
	gcc -O1 -static -o "$dir/clock-static" "$dir/clock.c"
	coproc "$dir/clock" 3>&-
	local pid=$COPROC_PID answer before k in=${COPROC[1]} out=${COPROC[0]}
	read -r answer <&"$out"
	turn() { echo >&"$in" && read -r answer <&"$out"; }
	turn
	before=$answer
	for k in quit kill quit; do
		devtrace attach -d -l -s "lv$$" "$pid"
		turn
		[ "$answer" != "$before" ]
		[ "$(devtrace cat -s "lv$$" | grep -c ^E)" -ge 40 ]
		if [ $k = quit ]; then
			devtrace ctl -s "lv$$" quit
		else
			kill -9 "$(pgrep -f "attach -d -l -s lv$$ $pid")"
		fi
		turn
		[ $k = kill ] || [ "$answer" = "$before" ]
	done
	exec {in}>&-
	wait "$pid"
	run -0 --separate-stderr devtrace record -l -o "$dir/t.db" "$dir/clock-static" < <(echo)
	run -0 --separate-stderr devtrace record -F '*' -o "$dir/t.db" "$dir/clock-static" < <(echo)
	[ "$(wc -l <<<"$output")" = 2 ]
}

@test "libcalls: of time and gettimeofday as many as ltrace counts, of programs as Debian has them" {
	local p name n any=0
	echo text >"$dir/text"
	git init -q "$dir/repo"
	git -C "$dir/repo" -c user.name=n -c user.email=e commit -q --allow-empty -m first
	for p in "curl -s file://$dir/text" "sqlite3 :memory: .tables" "openssl dgst -sha256 $dir/text" "git --no-pager -C $dir/repo log -1 --oneline"; do
		# shellcheck disable=SC2086 # words
		ltrace -c -o "$dir/ltrace" $p >/dev/null
		# shellcheck disable=SC2086
		devtrace record -l -o "$dir/t.db" $p >/dev/null
		while read -r name n; do
			any=$((any + n))
			[ "$(count_of "$name")" = "$n" ] || { echo "$p: $name: ltrace $n, devtrace $(count_of "$name")"; return 1; }
		done < <(awk '$5 == "time" || $5 == "gettimeofday" { print $5, $4 }' "$dir/ltrace")
	done
	[ "$any" -gt 0 ]
}

@test "libcalls: what functions fill in is what the program finds there" {
	cat >"$dir/fills.c" <<-'C'
		#include <poll.h>
		#include <stdio.h>
		#include <sys/epoll.h>
		#include <sys/resource.h>
		#include <sys/stat.h>
		#include <time.h>
		#include <unistd.h>
		int main(void)
		{
			int p[2], e = epoll_create1(0);
			struct epoll_event in = {.events = EPOLLIN, .data.u64 = 0x1122334455667788}, out[4];
			struct pollfd polled;
			struct rlimit l;
			struct stat st;
			struct timespec t;
			if (pipe(p) || epoll_ctl(e, EPOLL_CTL_ADD, p[0], &in) || write(p[1], "x", 1) != 1)
				return 1;
			polled = (struct pollfd){p[0], POLLIN | POLLPRI, 0};
			if (epoll_wait(e, out, 4, 1000) != 1 || poll(&polled, 1, 1000) != 1 || getrlimit(RLIMIT_STACK, &l) ||
			    clock_getres(CLOCK_REALTIME, &t) || stat("/etc/passwd", &st))
				return 1;
			printf("events[0]={events=EPOLLIN, data=%llu}\n", (unsigned long long)out[0].data.u64);
			printf("fds[0]={fd=%d, events=POLLIN|POLLPRI, revents=POLLIN}\n", polled.fd);
			printf("rlim_cur=%llu\n", (unsigned long long)l.rlim_cur);
			printf("{tv_sec=%ld, tv_nsec=%ld}\n", (long)t.tv_sec, t.tv_nsec);
			printf("st_size=%lld\n", (long long)st.st_size);
			printf("pipefd={%d, %d}\n", p[0], p[1]);
			return 0;
		}
	C
	gcc -O1 -o "$dir/fills" "$dir/fills.c"
	# limits as they are for both
	devtrace record -l -o "$dir/t.db" "$dir/fills" >"$dir/said"
	[ "$(wc -l <"$dir/said")" = 6 ]
	devtrace calls "$dir/t.db" >"$dir/calls"
	while read -r words; do
		grep -qF -- "$words" "$dir/calls" || { echo "not there: $words"; cat "$dir/calls"; return 1; }
	done <"$dir/said"
}

@test "libcalls: a static program has none, and it is said" {
	printf '#include <stdio.h>\nint main(void) { return puts("hi") < 0; }\n' >"$dir/static.c"
	gcc -O1 -static -o "$dir/static" "$dir/static.c"
	strip -o "$dir/bare" "$dir/static"
	run -0 devtrace -l "$dir/static"
	[[ $output == *"static is static: it calls no libraries; without -l its own functions are traced"* ]]
	run -0 devtrace --failed "$dir/bare"
	[[ $output == *"bare is static: it calls no libraries; without --failed its own functions are traced"* ]]
	run -0 devtrace record -l -o "$dir/t.db" "$dir/static"
	[[ $output == *"it calls no libraries"* ]]
	# stripped, its own functions are what there is
	run -0 devtrace "$dir/bare"
	[[ $output == *"bare is static and stripped: its own functions are traced, by their addresses"* ]]
	[[ $output == *"bare+0x"*"("* ]]
	run -0 devtrace -l true
	[[ $output != *static* ]]
}

@test "libcalls: bad input: names that are nothing, two callers, a file without imports" {
	run -1 devtrace record -lnot-there -o "$dir/t.db" "$dir/loop"
	[[ $output == *not-there* ]]
	run -1 devtrace record "-la b" -o "$dir/t.db" "$dir/loop"
	[[ $output == *"'a b' is no name of a module"* ]]
	start_spin "$dir/loop"
	devtrace attach -d -s "lb$$" "$pid"
	devtrace ctl -s "lb$$" "trace '* ^loop' new one"
	run -1 devtrace ctl -s "lb$$" "trace '* ^libc.so.6' new two"
	[[ $output == *"'^libc.so.6': calls from '^loop' are recorded by 'one'"* ]]
	run -1 devtrace ctl -s "lb$$" "trace '* ^a:b' new two"
	[[ $output == *"^ needs the name of a module"* ]]
	run -1 devtrace ctl -s "lb$$" "trace '* ^loop ^loop' new two"
	[[ $output == *"one module for a range"* ]]
	run -1 devtrace ctl -s "lb$$" "trace '* read ^loop' new two"
	[[ $output == *"beside it there can only be !PATTERN"* ]]
	devtrace ctl -s "lb$$" quit
	stop_spin
}

@test "ctl says of which patterns no function is there yet, and of no other" {
	start_spin "$dir/loop"
	devtrace attach -d -l -s "ly$$" "$pid"
	devtrace ctl -s "ly$$" | grep "^trace '\* ^' new"
	! devtrace ctl -s "ly$$" | grep 'no function matches yet' || false
	for words in "trace 'nosuch*' new none" "trace none on" "trace usleep new some" "trace some on"; do
		devtrace ctl -s "ly$$" "$words"
	done
	[ "$(devtrace ctl -s "ly$$" | grep 'no function matches yet')" = "#trace none: no function matches yet" ]
	devtrace ctl -s "ly$$" quit
	stop_spin
}

@test "-l=MODULE is --libcalls=MODULE; a module that is not there is told without an empty list of near names" {
	run devtrace record -l=libnosuch -o "$dir/no.db" true
	[ "$status" = 1 ]
	[[ $output == *"no module 'libnosuch' is loaded"* ]]
	run devtrace record -lc -o "$dir/no.db" true
	[ "$status" = 1 ]
	[[ $output == *"no module 'c' is loaded whose calls of libraries could be recorded"* ]]
	! grep -E 'near names: *$|: ,|, *$' <<<"$output" || false
	devtrace record -l=libc.so.6 -o "$dir/yes.db" true 2>/dev/null
}

@test "-l=MODULE of a module that is loaded later: told at the start, and at the end if it never was" {
	cat >"$dir/later.c" <<-'C'
		#include <dlfcn.h>
		#include <stdlib.h>
		int main(int argc, char **argv)
		{
			void *p = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
			return p ? ((int (*)(const char *))dlsym(p, "later"))("12") != 12 : 0;
		}
	C
	echo 'int atoi(const char *); int later(const char *s) { int n = atoi(s); return n; }' >"$dir/plug.c"
	gcc -O1 -o "$dir/later" "$dir/later.c"
	gcc -O1 -fno-builtin -shared -fPIC -o "$dir/liblater.so" "$dir/plug.c"
	run devtrace record -l=liblater -o "$dir/later.db" "$dir/later" "$dir/liblater.so"
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *"no module 'liblater' is loaded at the start: its calls of libraries are recorded from when it is"* ]]
	[[ $output != *"was loaded"* ]]
	[ "$(devtrace calls "$dir/later.db" | grep -c 'atoi(nptr="12")')" = 1 ]
	run devtrace record -l=liblater -o "$dir/later.db" "$dir/later"
	echo "$output"
	[[ $output == *"no module 'liblater' was loaded whose calls of libraries could be recorded"* ]]
}

@test "libcalls: -c has a row for the program's own time, and the rows' own times are the run" {
	cat >own.c <<-'C'
		#include <stdio.h>
		#include <time.h>
		#include <unistd.h>
		static double now(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_MONOTONIC, &t);
			return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
		}
		int main(void)
		{
			double begin = now();
			volatile unsigned long x = 0;
			for (unsigned long i = 0; i < 100000000; i++)
				x += i;
			fprintf(stderr, "own %f\n", now() - begin);
			usleep(50000);
			return 0;
		}
	C
	gcc -O1 -o own own.c
	devtrace -c -l ./own >table 2>said
	python3 - "$(sed -n 's/^own //p' said)" <<-'P'
		import re, sys
		unit = {'ns': 1e-6, 'us': 1e-3, 'ms': 1, 's': 1e3}
		rows = {}
		for line in open('table'):
		    m = re.match(r' *([\d.]+) (\w+) +([\d.]+) (\w+) .*?  (the .*|outside .*|[a-z_]\w*)$', line.rstrip())
		    if m:
		        rows[m[5]] = float(m[3]) * unit[m[4]]
		own = [v for k, v in rows.items() if k.startswith('outside of calls')][0]
		run = rows.pop('the whole run')
		# the program's own measure of its loop is less than what it took outside of libraries
		assert float(sys.argv[1]) <= own + 1 < float(sys.argv[1]) + 200, (sys.argv, rows)
		assert 'clock_nanosleep' in rows or 'usleep' in rows, rows
		assert abs(sum(rows.values()) - run) < 0.1, (rows, run)
	P
	# not where something is left out, or other functions are recorded
	run bash -c 'devtrace -c -l --filter usleep ./own 2>/dev/null'
	[[ $output == *usleep* ]]
	[[ $output != *"the whole run"* ]]
	devtrace record -l -o own.db ./own 2>/dev/null
	devtrace report own.db | grep -q 'the whole run'
	[[ $(devtrace report -F usleep own.db) != *"the whole run"* ]]
}

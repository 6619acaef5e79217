# SPDX-License-Identifier: MIT
# -A and the option TEXTS: the texts that a function's arguments point to, at its entry.
load common

ctl() { "$dt" ctl -s "$session" "$@"; }

setup() {
	session=texts-$$-$BATS_TEST_NUMBER
}

teardown() {
	"$dt" ctl -s "$session" quit 2>/dev/null || true
}

setup_file() {
	export dir
	dir=$(mktemp -d)
	chmod 755 "$dir"
	cat >"$dir/greet.c" <<-'C'
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		__attribute__((noinline)) int greet(const char *name, int n, char *const other)
		{
			__asm__ volatile("" : : "r"(name), "r"(other) : "memory");
			return n + (name != NULL) + (other != NULL);
		}
		__attribute__((noinline)) int sum(int a, int b) { return a + b; }
		int main(int argc, char **argv)
		{
			int turns = argc > 1 ? atoi(argv[1]) : 1, all = 0;
			char named[16] = "first";
			if (turns > 1) {
				puts("ready");
				fflush(stdout);
			}
			for (int i = 0; i < turns; i++) {
				all = greet(named, 3, "second, which is longer than one record holds of it");
				all += greet((char *)16, sum(i, 1), NULL);
				close(open("/etc/hostname", O_RDONLY));
				if (turns > 1)
					usleep(1000);
			}
			printf("%d\n", all);
			return 0;
		}
	C
	gcc -O1 -g -o "$dir/greet" "$dir/greet.c"
	gcc -O1 -g -B"$root/build/lib" -o "$dir/sleds" "$dir/greet.c"
	gcc -O1 -g -static -o "$dir/static" "$dir/greet.c"
}

# one call of greet each with its texts, of program $1
texts_of() {
	"$dt" record -o t.db -A greet "./$1" >out
	[ "$(cat out)" = "$("./$1")" ]
	"$dt" calls t.db >calls
	[ "$(grep -c 'greet(' calls)" = 2 ] || { cat calls; return 1; }
	[ "$(grep -c 'name="first"' calls)" = 1 ] || { cat calls; return 1; }
	grep -q 'other="second, which is longer than one record holds of it"' calls || { cat calls; return 1; }
	grep -q 'name=?' calls || { cat calls; return 1; }
	# nobody else's
	! grep -q 'sum(\|main(' calls || { cat calls; return 1; }
}

@test "-A shows the texts of a function's arguments, a bad pointer as such" {
	cd "$dir"
	texts_of greet
}

@test "-A shows them in programs with sleds" {
	cd "$dir"
	texts_of sleds
}

@test "-A shows them in static programs" {
	cd "$dir"
	texts_of static
}

@test "-A knows the C library's functions without debug information" {
	cd "$dir"
	"$dt" record -o o.db -A 'libc.so.6:open' ./greet >out
	"$dt" calls o.db >calls
	grep -q 'file="/etc/hostname"' calls || { cat calls; false; }
}

@test "-A beside -F: the others are recorded as they were" {
	cd "$dir"
	"$dt" record -o b.db -F sum -F greet -A greet ./greet >out
	"$dt" calls b.db >calls
	[ "$(grep -c 'sum(' calls)" = 1 ]
	[ "$(grep -c 'greet(' calls)" = 2 ]
	[ "$(grep -c 'name="first"' calls)" = 1 ]
}

@test "attach -A and TEXTS in a session: they come and go" {
	cd "$dir"
	start_spin "$dir/greet" 20000
	"$dt" attach -d -s "$session" -A greet "$pid" >log 2>&1 3>&-
	"$dt" cat -s "$session" -f >seen 2>/dev/null 3>&- &
	reader=$!
	# "first", as a word of the record
	three() { [ "$(grep -c 0000007473726966 seen)" -ge 3 ]; }
	for _ in $(seq 500); do
		three && break
		sleep 0.02
	done
	kill "$reader"
	wait "$reader" || true
	three || { cat log; head seen; false; }
	# it is printed, and can be told again
	ctl | grep TEXTS >line
	[ "$(wc -l <line)" = 1 ] || { ctl; false; }
	ctl trace texts0 off
	ctl delete texts0 || ctl trace texts0 remove
	[ "$(ctl | grep -c TEXTS || true)" = 0 ]
	ctl - <line
	[ "$(ctl | grep TEXTS)" = "$(cat line)" ]
	ctl quit
	stop_spin
}

@test "TEXTS for a range of addresses, and for a library that is loaded later" {
	cd "$dir"
	start_spin "$dir/greet" 20000
	"$dt" attach -d -s "$session" "$pid" >log 2>&1 3>&-
	ctl - <<-'T'
		trace greet greet+4 new few TEXTS
		trace few on
		start
	T
	"$dt" cat -s "$session" -f >ranged 2>/dev/null 3>&- &
	reader=$!
	for _ in $(seq 500); do
		[ "$(grep -c 0000007473726966 ranged)" -ge 3 ] && break
		sleep 0.02
	done
	kill "$reader"
	wait "$reader" || true
	[ "$(grep -c 0000007473726966 ranged)" -ge 3 ] || { ctl; head ranged; false; }
	ctl quit
	stop_spin
	cat >late.c <<-'C'
		#include <dlfcn.h>
		int main(void)
		{
			int (*f)(const char *) = dlsym(dlopen("./liblate.so", RTLD_NOW), "late_one");
			return f("of the library") != 1;
		}
	C
	echo 'int late_one(const char *what) { return *what != 0; }' >liblate.c
	gcc -g -O1 -shared -fPIC -o liblate.so liblate.c
	gcc -g -O1 -o late late.c
	"$dt" record -o l.db -A 'liblate.so:late_*' ./late
	"$dt" calls l.db | grep -q 'what="of the library"' || { "$dt" calls l.db; false; }
}

@test "-A refuses what is no pattern" {
	cd "$dir"
	run "$dt" record -o no.db -A 'open@path:str' ./greet
	[ "$status" = 1 ]
	[[ $output == *"is no pattern of functions"* ]]
	[ ! -e no.db ]
}

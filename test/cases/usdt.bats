# SPDX-License-Identifier: MIT
# USDT probes that binaries have in themselves: recorded with the values of their arguments.
load common

setup_file() {
	export dir
	dir=$(mktemp -d)
	chmod 755 "$dir"
	cat >"$dir/probes.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		#ifndef BARE
		#define _SDT_HAS_SEMAPHORES 1
		#endif
		unsigned short own_guarded_semaphore __attribute__((section(".probes")));
		unsigned short own_plain_semaphore __attribute__((section(".probes")));
		unsigned short own_values_semaphore __attribute__((section(".probes")));
		#include <sys/sdt.h>
		struct pair { short first; signed char second; };
		static struct pair pairs[4] = {{-3, -1}, {300, 100}, {-32768, -128}, {32767, 127}};
		static int counter;
		__attribute__((noinline)) long step(long n, const char *name)
		{
			DTRACE_PROBE2(own, plain, n, name);
			if (own_guarded_semaphore)
				DTRACE_PROBE1(own, guarded, ++counter);
			DTRACE_PROBE4(own, values, pairs[n & 3].first, pairs[n & 3].second, (unsigned)n * 3, (char)-n);
			return n * 2;
		}
		int main(int argc, char **argv)
		{
			long sum = 0;
			int turns = argc > 1 ? atoi(argv[1]) : 4;
			if (turns > 1000) {
				puts("ready");
				fflush(stdout);
			}
			for (long i = 0; i < turns; i++) {
				sum += step(i, argv[0]);
				if (turns > 1000)
					usleep(1000);
			}
			printf("%ld %d %d\n", sum, counter, own_guarded_semaphore);
			return 0;
		}
	C
	for level in 0 2; do
		gcc -O$level -g -o "$dir/probes$level" "$dir/probes.c"
	done
	gcc -O2 -g -DBARE -o "$dir/bare" "$dir/probes.c"
	cat >"$dir/throws.cc" <<-'C'
		#include <stdexcept>
		int main()
		{
			for (int i = 0; i < 3; i++)
				try { throw std::runtime_error("x"); } catch (std::exception &e) {}
		}
	C
	g++ -O2 -o "$dir/throws" "$dir/throws.cc"
}

@test "check-022-usdt: probes are recorded with their arguments" {
	cd "$dir"
	for level in 0 2; do
		[ "$("$dt" record -F 'own:*' -o "u$level.db" "./probes$level")" = "12 4 1" ]
		"$dt" calls "u$level.db" >out
		[ "$(grep -c 'own:plain(arg1=[0-3], arg2=0x' out)" = 4 ]
		[ "$(grep -o 'own:guarded(arg1=[0-9]*' out | tr '\n' ' ')" = \
			"own:guarded(arg1=1 own:guarded(arg1=2 own:guarded(arg1=3 own:guarded(arg1=4 " ]
		[ "$(grep -o 'own:values(.*' out)" = "own:values(arg1=-3, arg2=-1, arg3=0, arg4=0)
own:values(arg1=300, arg2=100, arg3=3, arg4=-1)
own:values(arg1=-32768, arg2=-128, arg3=6, arg4=-2)
own:values(arg1=32767, arg2=127, arg3=9, arg4=-3)" ] || { cat out; false; }
	done
}

@test "usdt: they stand between the calls they are in, and of everything in the program" {
	cd "$dir"
	"$dt" record -o all.db ./bare >/dev/null
	"$dt" calls all.db >out
	[ "$(grep -A2 'step(n=2' out | grep -c 'own:')" = 2 ]
	"$dt" record -F step -o none.db ./bare >/dev/null
	[ "$("$dt" calls none.db | grep -c 'own:')" = 0 ]
}

@test "usdt: a semaphore is raised only for a probe that was asked for by its name" {
	cd "$dir"
	# the program prints its sum, how often the semaphore let it by, and the semaphore
	[ "$("$dt" record -o all.db ./probes2)" = "12 0 0" ]
	[ "$("$dt" record -F '*' -F '*:*' -o all.db ./probes2)" = "12 0 0" ]
	[ "$("$dt" record -F '*' -F 'own:plain' -o all.db ./probes2)" = "12 0 0" ]
	[ "$("$dt" record -F '*' -F 'own:guarded' -o all.db ./probes2)" = "12 4 1" ]
	[ "$("$dt" record -F 'own:*' -o all.db ./probes2)" = "12 4 1" ]
	[ "$("$dt" record -F '*:guarded' -o all.db ./probes2)" = "12 4 1" ]
	# Python checks each line while somebody wants its line probe
	"$dt" record -F '*' -F '_PyCode_CheckLineNumber' -o py.db /usr/bin/python3 -S -c 'for i in range(1000): pass'
	run "$dt" report py.db
	[ "$status" = 0 ]
	if grep -q '_PyCode_CheckLineNumber' <<<"$output"; then false; fi
}

@test "usdt: a semaphore is raised as long as somebody wants the probe" {
	cd "$dir"
	start_spin "$dir/probes2" 60000
	"$dt" attach -d -s "usdt-$pid" "$pid"
	at=$((0x$(nm probes2 | awk '/own_guarded_semaphore/ {print $1}') + 0x$(awk '/probes2$/ {split($1, a, "-"); print a[1]; exit}' /proc/$pid/maps)))
	count() { dd if="/proc/$pid/mem" iflag=skip_bytes,count_bytes bs=2 skip="$at" count=2 2>/dev/null | od -An -tu2 | tr -d ' '; }
	[ "$(count)" = 0 ]
	"$dt" ctl -s "usdt-$pid" trace 'own:guarded' new g 2>err && return 1 # no pattern: a function or an address
	"$dt" ctl -s "usdt-$pid" trace 'own:guard*' new g
	[ "$(count)" = 0 ]
	"$dt" ctl -s "usdt-$pid" trace g on
	[ "$(count)" = 1 ]
	"$dt" ctl -s "usdt-$pid" trace '+own:guarded' new h
	"$dt" ctl -s "usdt-$pid" trace h on
	[ "$(count)" = 1 ]
	"$dt" ctl -s "usdt-$pid" trace g off
	[ "$(count)" = 1 ]
	"$dt" ctl -s "usdt-$pid" trace h remove
	[ "$(count)" = 0 ]
	"$dt" ctl -s "usdt-$pid" trace g on
	"$dt" ctl -s "usdt-$pid" start
	"$dt" cat -f -l -s "usdt-$pid" | head -n 1 | grep -q 'kind=P'
	"$dt" ctl -s "usdt-$pid" quit
	while [ -n "$("$dt" list 2>/dev/null | grep "usdt-$pid")" ]; do sleep 0.02; done
	[ "$(count)" = 0 ]
	! grep -q devtrace "/proc/$pid/maps" || false
	stop_spin
}

@test "usdt: a controller that is killed leaves a raised semaphore, the next one lowers it" {
	cd "$dir"
	start_spin "$dir/probes2" 60000
	at=$((0x$(nm probes2 | awk '/own_guarded_semaphore/ {print $1}') + 0x$(awk '/probes2$/ {split($1, a, "-"); print a[1]; exit}' /proc/$pid/maps)))
	count() { dd if="/proc/$pid/mem" iflag=skip_bytes,count_bytes bs=2 skip="$at" count=2 2>/dev/null | od -An -tu2 | tr -d ' '; }
	"$dt" attach -F 'own:*' -o killed.db "$pid" 3>&- &
	tracer=$!
	for i in $(seq 3000); do [ "$(count)" = 1 ] && break; sleep 0.02; done
	[ "$(count)" = 1 ]
	kill -9 "$tracer"
	wait "$tracer" || true
	[ "$(count)" = 1 ]
	"$dt" attach -d -s "usdt-$pid" "$pid"
	[ "$(count)" = 0 ]
	"$dt" ctl -s "usdt-$pid" quit
	stop_spin
}

@test "usdt: Debian's own: libstdc++ tells of exceptions, Python of functions" {
	cd "$dir"
	"$dt" record -F 'libstdcxx:*' -o throws.db ./throws
	"$dt" calls throws.db >out
	[ "$(grep -c 'libstdcxx:throw(' out)" = 3 ]
	[ "$(grep -c 'libstdcxx:catch(' out)" = 3 ]
	[ "$("$dt" record -F 'python:import*' -F 'python:gc*' -o py.db /usr/bin/python3 -c 'import json; print(json.dumps([1]))')" = "[1]" ]
	"$dt" calls py.db >out
	[ "$(grep -c 'python:import__find__load__start(arg1=0x' out)" -gt 5 ]
	[ "$(grep -c 'python:import__find__load__start(' out)" = "$(grep -c 'python:import__find__load__done(' out)" ]
	[ "$(grep -c 'python:gc__start(arg1=2)' out)" -gt 0 ]
}

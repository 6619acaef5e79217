#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Plans of very many functions, kept from run to run: what is recorded is the same as without them, and the program stays
# as it was. The oracles: runs without memos, strace, which sees the plan's file read, and the program's bytes in its file.
load devtrace

setup() {
	dir=$(mktemp -d)
	cd "$dir" || return
	export DEVTRACE_MEMOS=$dir/cache
	export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # which can not be under strace
	cat >work.sh <<-'S'
		f() { local i; for ((i = 0; i < $1; i++)); do a[i]=$((i * 3)); done; }
		f 50
		echo ${#a[@]} "${a[@]: -1}"
	S
	pid=
}

teardown() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
	check_traces
	cd /
	rm -rf "$dir"
}

# how often each function was called; what depends on the environment's size and on addresses is left out
counts() {
	"$dt" sql --csv --no-header "$1" "SELECT function, count(*) FROM calls GROUP BY function ORDER BY function" |
		grep -vE '^"?(hash|x?malloc|sh_malloc|internal_|.*_hash_|.*free|morecore|binsrch)' | tr -d '\r'
}

# bytes of the program's code in memory that are not as in its file, by Python
changed() {
	python3 - "$1" <<-'P'
		import os, sys
		pid = sys.argv[1]
		exe = os.readlink("/proc/%s/exe" % pid)
		maps = [x.split() for x in open("/proc/%s/maps" % pid) if exe in x and " r-xp " in x]
		mem, f = open("/proc/%s/mem" % pid, "rb"), open(exe, "rb")
		n = 0
		def piece(x):
		    low, high = (int(v, 16) for v in x[0].split("-"))
		    mem.seek(low), f.seek(int(x[2], 16))
		    a = mem.read(high - low)
		    b = f.read(high - low).ljust(high - low, b"\0")
		    return sum(p != q for p, q in zip(a, b))
		print(sum(piece(x) for x in maps))
	P
}

plans() {
	find cache -name '*.plan' | wc -l
}

@test "plans: the second run reads what the first one made, and records the same; also when the program is elsewhere" {
	bash work.sh >alone
	DEVTRACE_MEMOS= "$dt" record -o none.db -F 'bash:*' bash work.sh >out 2>/dev/null
	diff alone out
	"$dt" record -o a.db -F 'bash:*' bash work.sh >out 2>/dev/null
	diff alone out
	[ "$(plans)" = 1 ]
	# while the plan is made nothing runs unrecorded
	diff <(counts none.db) <(counts a.db)
	before=$(stat -c '%i %s %Y' cache/*.plan)
	for i in 1 2 3; do
		strace -o log -e trace=openat "$dt" record -o b.db -F 'bash:*' bash work.sh >out 2>/dev/null
		diff alone out
		[ "$(grep -cE '\.plan", O_RDONLY.* = [0-9]' log)" = 1 ]
		[ "$(grep -cE '\.plan.*O_WRONLY' log)" = 0 ]
		"$dt" check b.db >/dev/null
		diff <(counts none.db) <(counts b.db)
	done
	[ "$(counts b.db | wc -l)" -gt 100 ]
	[ "$(stat -c '%i %s %Y' cache/*.plan)" = "$before" ]
}

@test "plans: few functions have none, other functions have their own, another program too" {
	"$dt" record -o a.db -F 'bash:expand*' bash work.sh >out 2>/dev/null
	[ "$(plans)" = 0 ]
	"$dt" record -o a.db -F 'bash:*' bash work.sh >out 2>/dev/null
	[ "$(plans)" = 1 ]
	"$dt" record -o a.db -F "bash:[a-s]*" bash work.sh >out 2>/dev/null
	[ "$(plans)" = 2 ]
	"$dt" check a.db >/dev/null
	cp "$(command -v bash)" ./own
	touch -d 'last year' own
	sleep 2.1
	"$dt" record -o a.db -F 'own:*' ./own work.sh >out 2>/dev/null
	[ "$(plans)" = 3 ]
	# another state of the file: the old plan is not for it
	printf x >>own
	sleep 2.1
	strace -o log -e trace=openat "$dt" record -o a.db -F 'own:*' ./own work.sh >out 2>/dev/null
	[ "$(grep -cE '\.plan", O_RDONLY.* = [0-9]' log)" = 0 ]
	[ "$(plans)" = 4 ]
	# all memos can be gone, and the folder unusable
	chmod 777 cache
	"$dt" record -o a.db -F 'own:*' ./own work.sh >out 2>/dev/null
	[ "$(plans)" = 4 ]
	"$dt" check a.db >/dev/null
}

@test "plans: damaged ones are taken for none, and made anew" {
	"$dt" record -o a.db -F 'bash:*' bash work.sh >alone 2>/dev/null
	plan=$(echo cache/*.plan)
	cp "$plan" whole
	size=$(stat -c %s whole)
	for how in empty short long bit head link; do
		rm -f "$plan"
		case $how in
		empty) : >"$plan" ;;
		short) head -c $((size / 2)) whole >"$plan" ;;
		long) cat whole whole >"$plan" ;;
		bit) python3 -c 'import sys; b = bytearray(open("whole", "rb").read()); b[len(b) // 2] ^= 4; open(sys.argv[1], "wb").write(b)' "$plan" ;;
		head) python3 -c 'import sys; b = bytearray(open("whole", "rb").read()); b[100:108] = b"\xff" * 8; open(sys.argv[1], "wb").write(b)' "$plan" ;;
		link) ln -s "$dir/whole" "$plan" ;;
		esac
		"$dt" record -o b.db -F 'bash:*' bash work.sh >out 2>said
		diff alone out
		diff <(counts a.db) <(counts b.db)
		"$dt" check b.db >/dev/null
		[ -f "$plan" ]
		[ ! -L "$plan" ]
		[ "$(stat -c %s "$plan")" -gt $((size / 2)) ]
	done
	# one that others may write to is no one's word
	cp whole "$plan"
	chmod 666 "$plan"
	"$dt" record -o b.db -F 'bash:*' bash work.sh >out 2>/dev/null
	diff alone out
	[ "$(stat -c %a "$plan")" = 600 ]
}

@test "plans: attached by a plan and let go again, and after a killed controller, every byte is as before" {
	mkfifo never
	cat >loop.sh <<-'S'
		exec 9<>never
		echo ready
		while :; do
			for ((i = 0; i < 100; i++)); do a[i]=$i; done
			read -r -t 0.01 -u 9 x
		done
	S
	bash loop.sh >ready &
	pid=$!
	until grep -q ready ready; do sleep 0.05; done
	[ "$(changed $pid)" = 0 ]
	for i in 1 2 3; do
		"$dt" attach -d -s p$$ -o t$i.db -F 'bash:*' $pid
		[ "$(changed $pid)" -gt 10000 ]
		if [ $i = 2 ]; then
			# the next controller takes away what this one leaves
			kill -9 "$(pgrep -f "attach -d -s p$$ ")"
			sleep 0.5
		else
			sleep 1
			"$dt" ctl -s p$$ quit >/dev/null
			[ "$(changed $pid)" = 0 ]
			"$dt" check t$i.db >/dev/null
		fi
	done
	[ "$(plans)" -ge 1 ]
	kill -0 $pid
}

@test "plans: a part of a program that it has mapped a second time: calls there are recorded, too" {
	cat >twice.c <<-'C'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <sys/mman.h>
		#include <unistd.h>
		__attribute__((noipa)) int outside(int n) { volatile int k = n; return k - 1 + (k & 0); }
		__attribute__((noipa, section("again"), aligned(4096))) int inside(int n) { volatile int k = n; return k * 3 + (k & 0); }
		__attribute__((noipa, section("again"))) int beside(int n) { volatile int k = n; return k * 5 + (k & 0); }
		__attribute__((noipa, section("apart"), aligned(4096))) int behind(int n) { volatile int k = n; return k + 1 + (k & 0); }
		extern char __executable_start;
		int main(void)
		{
			uintptr_t at = (uintptr_t)inside, page = at & ~4095ul;
			FILE *maps = fopen("/proc/self/maps", "r");
			unsigned long low, high, offset;
			char line[400];
			int sum = 0, (*copy[2])(int);
			while (fgets(line, sizeof(line), maps))
				if (sscanf(line, "%lx-%lx %*s %lx", &low, &high, &offset) == 3 && low <= at && at < high)
					break;
			fclose(maps);
			char *again = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE,
					   open("/proc/self/exe", O_RDONLY), (off_t)(offset + (page - low)));
			if (again == MAP_FAILED)
				return 1;
			copy[0] = (int (*)(int))(again + (at - page));
			copy[1] = (int (*)(int))(again + ((uintptr_t)beside - page));
			puts("ready");
			fflush(stdout);
			getchar();
			for (int i = 0; i < 100; i++)
				sum += inside(i) + outside(i) + behind(i) + copy[0](i) + (i % 2 ? copy[1](i) : 0);
			printf("%d\n", sum);
			return 0;
		}
	C
	gcc -O1 -o twice twice.c
	[ "$(echo | ./twice | tail -1)" = 52100 ]
	mkfifo to
	./twice <to >out &
	pid=$!
	exec {in}>to
	until grep -q ready out; do sleep 0.05; done
	"$dt" attach -d -s two$$ -o t.db -F 'twice:*side' -F 'twice:behind' $pid
	echo >&"$in"
	exec {in}>&-
	wait $pid
	pid=
	while "$dt" ctl -s two$$ >/dev/null 2>&1; do sleep 0.05; done
	[ "$(tail -1 out)" = 52100 ]
	"$dt" check t.db >/dev/null
	diff - <("$dt" sql --csv --no-header t.db "SELECT function, count(*) FROM calls GROUP BY function ORDER BY function" | tr -d '\r') <<-'W'
		behind,100
		beside,50
		inside,200
		outside,100
	W
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Memos: the second command reads no program again, and says the same; of anything that has changed nothing old is said.
# The oracles: the command without memos, nm, and strace, which sees files handed to processes that read them.
load devtrace

setup() {
	dir=$(mktemp -d)
	cd "$dir" || return
	export DEVTRACE_MEMOS=$dir/cache
	cat >p.c <<-'C'
		#include <string.h>
		#include <stdlib.h>
		__attribute__((noipa)) int first(int n) { return n + 1; }
		__attribute__((noipa)) int other(int n) { return n * 2; }
		int main(int argc, char **argv)
		{
			char *p = strdup("a text");
			int sum = first(argc) + other((int)strlen(p));
			free(p);
			return sum == 14 ? 0 : 1;
		}
	C
	gcc -O1 -g -o p p.c
	# what changed less than two seconds ago is not remembered
	touch -d 'last year' p
	sleep 3.1
}

teardown() {
	check_traces
	cd /
	rm -rf "$dir"
}

# names and values that are the same in each run: no times, no addresses, and not the name of a thread that is gone too soon
calls() {
	"$dt" "$@" 2>&1 | sed -E 's/^# thread [0-9]+.*/# thread/; s/^ +[0-9.]+ [mun]?s//; s/0x[0-9a-f]{6,}/ADDRESS/g'
}

memos() {
	find cache -name '*.elf' | wc -l
}

# the memo that holds a word
memo_with() {
	grep -l -- "$1" cache/*.elf
}

# a program that changes some bytes of a memo, and makes its sum right again
resum_py() {
	# the sum as symbols/memo-file.c makes it, computed here once more
	cat <<-'P'
		import random, struct, sys
		M = (1 << 64) - 1
		def mix(s, w):
		    s = (s ^ w) * 0x9e3779b97f4a7c15 & M
		    return (s << 29 | s >> 35) & M
		def sum64(b):
		    n = len(b)
		    lane = [0, M, n, n]
		    b = b + bytes(32 - n % 32)
		    for i in range(0, len(b), 32):
		        w = struct.unpack_from('<4Q', b, i)
		        lane = [mix(lane[k], w[k]) for k in range(4)]
		    return mix(mix(lane[0], lane[1]), mix(lane[2], lane[3]))
		whole, to, seed = sys.argv[1:]
		b = bytearray(open(whole, 'rb').read())
		assert struct.unpack_from('<Q', b, 8)[0] == sum64(bytes(b[16:]))
		r = random.Random(int(seed))
		for i in range(1 + int(seed) % 8):
		    b[r.randrange(88, len(b))] = r.choice((0, 1, 0x7f, 0x80, 0xff, r.randrange(256)))
		struct.pack_into('<Q', b, 8, sum64(bytes(b[16:])))
		open(to, 'wb').write(b)
	P
}

@test "memos: with and without them, of sleds or not, the same calls, arguments and lines" {
	local o
	for o in '-F *' '-l' '-F p:* -F libc.so.6:str*'; do
		set -f
		calls $o ./p >"without"
		rm -rf cache
		calls $o ./p >cold
		calls $o ./p >warm
		DEVTRACE_MEMOS='' calls $o ./p >without
		set +f
		[ "$(wc -l <without)" -gt 2 ]
		cmp without cold
		cmp without warm
	done
	[ "$(memos)" -ge 2 ]
}

@test "memos: what is known is not read again" {
	[ "$(id -u)" = 0 ] || skip "only root has files read by other processes"
	local -x ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # it can not be under strace
	strace -qq -e trace=sendmsg -o cold.log "$dt" ./p >/dev/null
	strace -qq -e trace=sendmsg -o warm.log "$dt" ./p >/dev/null
	grep -q SCM_RIGHTS cold.log
	! grep SCM_RIGHTS warm.log
}

@test "memos: a trace made with them is sound, and knows the same functions" {
	"$dt" record -F '*' -F 'libc.so.6:*' -o cold.db ./p
	"$dt" record -F '*' -F 'libc.so.6:*' -o warm.db ./p
	"$dt" check cold.db warm.db
	for f in cold warm; do
		sqlite3 $f.db "SELECT f.name, f.address % 4096, f.size, signature, file, line, kind, count(*) FROM site s JOIN function f ON f.id = s.function
			GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7" >$f.sites
	done
	[ -s cold.sites ]
	cmp cold.sites warm.sites
}

# Who uses the map of code has the memo's own memory, and writes into it: indices of names become addresses there
@test "memos: a map of code is kept as it was read, also when what is new is written beside it" {
	code() {
		python3 - "$1" <<-'P'
			import struct, sys
			b = open(sys.argv[1], 'rb').read()
			for at in range(0, len(b) - 56, 8):
			    what, more, one, two, result, size, stored = struct.unpack_from('<IIQQqQQ', b, at)
			    if what == 9 and not (more or one or two or result) and size == stored > 1000 and size < len(b) - at:
			        sys.stdout.buffer.write(b[at + 48:at + 56 + size])
			        sys.exit(0)
			sys.exit('no map')
		P
	}
	"$dt" record -F first -o 1.db ./p
	memo=$(memo_with "$dir/p")
	cp "$memo" one.memo
	code one.memo >one
	"$dt" record -F other -o 2.db ./p
	run -1 cmp "$memo" one.memo
	code "$memo" >two
	cmp one two
	[ "$("$dt" sql -n 2.db "SELECT count(*) FROM calls WHERE function = 'other'")" = 1 ]
}

@test "memos: a program that was built anew, of the same size and time, is read anew" {
	"$dt" -F '*' ./p | grep -q 'first('
	[ "$(memos)" -ge 1 ]
	cp p before
	sed -i 's/first/later/g' p.c
	gcc -O1 -g -o q p.c
	[ "$(stat -c %s q)" = "$(stat -c %s before)" ]
	# into the same inode, with the old time
	cat q >p
	touch -r before p
	run "$dt" -F '*' ./p
	[[ $output == *later\(* && $output != *first\(* ]]
	sleep 2.1
	run "$dt" -F '*' ./p
	[[ $output == *later\(* && $output != *first\(* ]]
	run "$dt" -F '*' ./p
	[[ $output == *later\(* && $output != *first\(* ]]
}

@test "memos: what changed just now is not remembered" {
	touch p
	"$dt" -F 'p:*' ./p >/dev/null
	run memo_with first
	[ "$status" != 0 ]
	sleep 3.1
	"$dt" -F 'p:*' ./p >/dev/null
	memo_with first
}

@test "memos: a debug file that comes, changes or goes is noticed" {
	objcopy --only-keep-debug p p.debug
	strip p
	objcopy --add-gnu-debuglink=p.debug p
	mv p.debug hidden
	sleep 3.1
	run "$dt" -F 'p:0x*' ./p
	[[ $output != *first\(* ]]
	memo_with p.debug
	mv hidden p.debug
	sleep 2.1
	for i in 1 2; do
		run "$dt" -F 'p:*' ./p
		[[ $output == *first\(* ]]
	done
	mv p.debug hidden
	run "$dt" -F 'p:0x*' ./p
	[[ $output != *first\(* ]]
}

@test "memos: a debug file that was downloaded is noticed, and that it is gone again" {
	local id who
	gcc -O1 -g -Wl,--build-id -o p p.c
	id=$(readelf -n p | sed -n 's/.*Build ID: //p')
	mkdir -p "hidden/$id" found
	objcopy --only-keep-debug p "hidden/$id/debuginfo"
	strip p
	chmod 755 . hidden "hidden/$id" found
	export DEBUGINFOD_CACHE_PATH=$dir/found
	sleep 2.1
	as() { "$@"; }
	for who in root user; do
		if [ $who = user ] && [ "$(id -u)" = 0 ]; then
			id dtuser 2>/dev/null || useradd -m dtuser
			mkdir home
			chown dtuser home
			as() { setpriv --reuid=dtuser --regid=dtuser --clear-groups env -u XDG_CACHE_HOME DEVTRACE_MEMOS="$dir/home/memos" HOME="$dir/home" "$@"; }
		fi
		for i in 1 2; do
			run as "$dt" -F 'p:0x*' ./p
			[[ $output == *p+0x* && $output != *first\(* ]]
		done
		mv "hidden/$id" found
		for i in 1 2; do
			run as "$dt" -F 'p:*' ./p
			[[ $output == *first\(n=1\)* ]]
		done
		mv "found/$id" hidden
		run as "$dt" -F 'p:0x*' ./p
		[[ $output == *p+0x* && $output != *first\(* ]]
	done
}

@test "memos: damaged ones are taken for none" {
	local size i
	calls -F 'p:*' ./p >right
	memo=$(memo_with first)
	cp "$memo" whole
	size=$(stat -c %s whole)
	# bytes of the head, of tables, of names and of the end; and files that end too early
	for i in 0 9 17 33 60 130 200 $((size / 4)) $((size / 3)) $((size / 2)) $((size * 3 / 4)) $((size - 1)); do
		python3 -c 'import sys; p = sys.argv[1]; i = int(sys.argv[2]); b = bytearray(open(p, "rb").read()); b[i] ^= 0x41; open(p, "wb").write(b)' "$memo" "$i"
		calls -F 'p:*' ./p >is
		cmp right is
		cmp -s "$memo" whole || [ "$(stat -c %s "$memo")" = "$size" ]
		cp whole "$memo"
		head -c "$i" whole >"$memo"
		calls -F 'p:*' ./p >is
		cmp right is
		cp whole "$memo"
	done
}

@test "memos: a map of much code is kept in little room, and known the next time" {
	local memo i
	cat >>p.c <<-'C'
		__asm__(".text\n.globl much\n.type much, @function\nmuch: .fill 9437184, 1, 0x90\nret\n.size much, . - much");
	C
	gcc -O1 -g -o p p.c
	touch -d 'last year' p
	sleep 3.1
	DEVTRACE_MEMOS='' calls -F 'p:*' ./p >right
	calls -F 'p:*' ./p >is
	cmp right is
	memo=$(memo_with much)
	[ "$(stat -c %s "$memo")" -lt 1000000 ]
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace -qq -o s -e trace=sendmsg "$dt" -F "p:*" ./p >is
	[ "$(grep -c SCM_RIGHTS s)" = 0 ]
	calls -F 'p:*' ./p >is
	cmp right is
	# what it is packed in is damaged, and the sum is right
	resum_py >resum.py
	cp "$memo" whole
	for i in $(seq 20); do
		python3 resum.py whole "$memo" "$i"
		run "$dt" -F 'p:*' ./p
		[ "$status" = 0 ] || { echo "$i: $status: $output"; return 1; }
	done
}

@test "memos: with a sum that is right, and contents that are not, nothing but names is wrong" {
	resum_py >resum.py
	calls -F 'p:*' ./p >right
	memo=$(memo_with first)
	cp "$memo" whole
	for i in $(seq 40); do
		python3 resum.py whole "$memo" "$i"
		# the program itself must not break: its status says that it has computed the right sum
		run "$dt" -F 'p:*' ./p
		[ "$status" = 0 ] || { echo "$i: $status: $output"; return 1; }
	done
}

@test "memos: a folder that others may write to, or is somebody else's, or a link, is not used" {
	mkdir cache
	chmod 777 cache
	"$dt" ./p >/dev/null
	[ "$(memos)" = 0 ]
	chmod 755 cache
	if [ "$(id -u)" = 0 ]; then
		chown nobody cache
		"$dt" ./p >/dev/null
		[ "$(memos)" = 0 ]
		chown root cache
	fi
	mv cache real
	ln -s real cache
	"$dt" ./p >/dev/null
	[ "$(find real -name '*.elf' | wc -l)" = 0 ]
	rm cache
	mv real cache
	"$dt" ./p >/dev/null
	[ "$(memos)" -ge 1 ]
}

@test "memos: an empty variable means none, and a folder that can not be made is no failure" {
	HOME=$dir XDG_CACHE_HOME=$dir/x DEVTRACE_MEMOS='' "$dt" ./p >/dev/null
	[ ! -e x ]
	[ ! -e .cache ]
	DEVTRACE_MEMOS=$dir/none/cache run "$dt" -F 'p:*' ./p
	[ "$status" = 0 ]
	[[ $output == *first\(* ]]
}

@test "memos: all together stay below 256 MiB, the oldest go, and other files stay" {
	local i
	mkdir cache
	for i in $(seq 10 14); do
		truncate -s 60M "cache/00000000000000$i.elf"
		touch -d "$i days ago" "cache/00000000000000$i.elf"
	done
	truncate -s 300M cache/else
	"$dt" ./p >/dev/null
	[ ! -e cache/0000000000000014.elf ]
	[ -e cache/0000000000000010.elf ]
	[ -e cache/else ]
	[ "$(du -bc cache/*.elf | tail -n 1 | cut -f1)" -le $((256 << 20)) ]
	memo_with first
}

@test "memos: an ordinary user's are that user's, in ~/.cache/devtrace" {
	[ "$(id -u)" = 0 ] || skip "needs root to become a user"
	id dtuser 2>/dev/null || useradd -m dtuser
	chmod 755 .
	mkdir home
	chown dtuser home
	as() { setpriv --reuid=dtuser --regid=dtuser --clear-groups env -u DEVTRACE_MEMOS -u XDG_CACHE_HOME HOME="$dir/home" "$@"; }
	as "$dt" -F 'p:*' ./p | grep -q 'first('
	[ "$(stat -c '%U %a' home/.cache/devtrace)" = 'dtuser 700' ]
	[ "$(find home -name '*.elf' | wc -l)" -ge 1 ]
	as "$dt" -F 'p:*' ./p | grep -q 'first('
	as env XDG_CACHE_HOME="$dir/home/x" "$dt" -F 'p:*' ./p >/dev/null
	[ ! -e home/x ] || [ -d home/x/devtrace ]
}

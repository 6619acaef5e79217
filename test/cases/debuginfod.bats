#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Debug files from debuginfod servers: Debian's server with files made here, and servers that hang, lie or break off
bats_require_minimum_version 1.5.0
load devtrace

setup_file() {
	command -v debuginfod >/dev/null && command -v dwz >/dev/null || skip "needs Debian's debuginfod and dwz"
	export top served id
	top=$(mktemp -d)
	served=$top/served
	chmod 755 "$top"
	mkdir "$served"
	cat >"$top/types.h" <<-'C'
		struct point { int x, y; };
		struct shape { struct point corner[4]; const char *name; struct shape *next; };
		struct scene { struct shape *first; unsigned long shapes; struct point size; };
		enum colour { RED, GREEN, BLUE };
		typedef unsigned long serial_t;
	C
	cat >"$top/prog.c" <<-'C'
		#include <stdio.h>
		#include <string.h>
		#include "types.h"
		__attribute__((noipa)) int alpha(int first, struct point *where) { return first + where->x; }
		__attribute__((noipa)) static int beta(const char *word, serial_t size)
		{
			return (int)strlen(word) + (int)size;
		}
		__attribute__((noipa)) int gamma_of(struct scene *of, enum colour in) { return (int)of->shapes + (int)in; }
		int main(int argc, char **argv)
		{
			struct point p = {argc, 2};
			struct scene s = {.shapes = 5};
			printf("%d\n", alpha(40, &p) + beta("hello", 3) + gamma_of(&s, BLUE));
			return 0;
		}
	C
	sed 's/alpha/delta/; s/main/other/' "$top/prog.c" >"$top/other.c"
	(
		cd "$top" || exit
		gcc -O1 -g -o whole prog.c
		gcc -O1 -g -shared -fPIC -o other.so other.c
		strip -o prog whole
		objcopy --only-keep-debug whole "$served/whole.debug"
		# two programs whose types dwz has moved to a file that they share
		for p in one two; do
			gcc -O1 -g -DNAME="$p" -Wl,--build-id -o "$p.whole" prog.c -Wl,--defsym="$p"=0
			cp "$p.whole" "$p.dwz"
		done
		dwz -m shared.dwz one.dwz two.dwz
		mkdir supplement
		mv shared.dwz supplement/shared.debug
		strip -o one one.whole
		objcopy --only-keep-debug one.dwz "$served/one.debug"
	)
	id=$(build_id "$top/whole")
	serve "$served"
	echo "$url" >"$top/url"
	echo "$server" >"$top/server"
}

teardown_file() {
	[ ! -e "$top/server" ] || kill "$(cat "$top/server")"
	rm -rf "$top"
}

setup() {
	command -v debuginfod >/dev/null && command -v dwz >/dev/null || skip "needs Debian's debuginfod and dwz"
	# the other user gets there
	work=$(mktemp -d)
	cd "$work"
	chmod 755 .
	export DEBUGINFOD_CACHE_PATH=$PWD/cache DEBUGINFOD_URLS
	DEBUGINFOD_URLS=$(cat "$top/url")
	unset DEBUGINFOD_MAXTIME DEBUGINFOD_MAXSIZE
	bad=
}

teardown() {
	[ -z "$bad" ] || end_bad
	[ -z "${more-}" ] || kill "$more"
	cd /
	dir=$work check_traces
	rm -rf "$work"
}

build_id() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

# serve FOLDER...: starts Debian's server; sets url and server, its process
serve() {
	local port
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	url=http://127.0.0.1:$port
	# without servers and a cache of its own
	env -u DEBUGINFOD_URLS -u DEBUGINFOD_CACHE_PATH HOME="$top" debuginfod -p "$port" -d :memory: -F "$@" >"$top/server.log" 2>&1 3>&- &
	server=$!
	# one of its files is there when it has read the folder
	for i in $(seq 200); do
		curl -sf -o /dev/null "$url/buildid/$id/debuginfo" && return
		sleep 0.05
	done
	cat "$top/server.log"
	false
}

# bad_server HOW [FILE]: a server of test/cases/debuginfod-server.py
bad_server() {
	local port
	mkfifo hold
	: >asked # that has the port of the server before, which may be read before the new one begins
	python3 "$root/test/cases/debuginfod-server.py" "$@" <hold >asked 3>&- &
	bad=$!
	exec {hold}>hold
	until read -r port <asked && [ -n "$port" ]; do sleep 0.02; done
	DEBUGINFOD_URLS=http://127.0.0.1:$port
}

end_bad() {
	exec {hold}>&-
	wait "$bad" || true
	rm hold
	bad=
}

# none_left: no process of the command's, and no file of a download's, is left
none_left() {
	for i in $(seq 100); do
		[ -n "$(find /proc -maxdepth 2 -name environ -exec grep -ls "DEBUGINFOD_CACHE_PATH=$DEBUGINFOD_CACHE_PATH" {} + 2>/dev/null |
			xargs -rn1 dirname | while read -r p; do grep -l '^devtrace' "$p/comm" 2>/dev/null; done)" ] || break
		sleep 0.05
	done
	[ "$i" -lt 100 ]
	[ -z "$(find . -name 'devtrace-*')" ]
}

# nothing_learnt COMMAND...: runs it; prog is as nameless as without servers; sets output to what it said
nothing_learnt() {
	run --separate-stderr "$@"
	[[ $output = *prog+0x* ]]
	[[ $output != *alpha* ]]
	output=$stderr
}

# as USER COMMAND...: with folders of that user's own
as() {
	if [ "$1" = "$(id -u)" ]; then
		shift
		"$@"
		return
	fi
	mkdir -p "of-$1"
	chown "$1" "of-$1"
	setpriv --reuid "$1" --regid "$1" --clear-groups env -C "of-$1" HOME="$PWD/of-$1" \
		DEBUGINFOD_CACHE_PATH="$PWD/of-$1/cache" XDG_RUNTIME_DIR="$PWD/of-$1" TMPDIR="$PWD/of-$1" "${@:2}"
}

# users: those as whom it is tried, by their numbers: this one, and if it is root, one that nobody has
other=47113
users() {
	id -u
	[ "$(id -u)" != 0 ] || echo "$other"
}

@test "names, lines and arguments of a stripped program are those of the whole one" {
	# by binutils and gdb
	nm "$top/whole" | awk '$2 ~ /[tT]/ && $3 ~ /^(alpha|beta|gamma_of|main)$/ { print $3, "0x" $1 }' | sort >names
	while read -r name address; do
		printf '%s %x %s' "$name" "$address" "$(addr2line -e "$top/whole" "$address" | sed 's/ (disc.*//')"
		gdb -nx -batch -ex "info scope $name" "$top/whole" 2>/dev/null |
			sed -n 's/^Symbol \([a-z]*\) is .*DW_OP.*\|^Symbol \([a-z]*\) is a variable.*/ \1\2/p' | tr -d '\n'
		echo
	done <names >want
	[ "$(wc -l <want)" = 4 ]
	for u in $(users); do
		[[ $(as "$u" "$dt" list --no-debuginfod "$top/prog" 2>&1) != *alpha* ]]
		as "$u" "$dt" list -v "$top/prog" >list 2>said
		for name in alpha beta gamma_of main; do
			read -r _ address place args < <(grep "^$name " want)
			line=$(grep "^prog:$name	0x$address	" list)
			[[ $line = *"	$place	"* ]]
			for a in $args; do [[ $name = main || $line = *[,\	]"$a":* ]]; done
		done
		[[ $(grep "^prog:alpha	" list) = *"first:i4@0,where:p@1;i4@0" ]]
	done
}

@test "a program is traced with names and arguments that are downloaded for it" {
	for u in $(users); do
		out=$(as "$u" "$dt" "$top/prog")
		[[ $out = *'alpha(first=40, where='*') = 41'* ]]
		[[ $out = *'beta(word='*', size=3) = 8'* ]]
		[[ $out = *'gamma_of(of='*', in='*') = 7'* ]]
		cache=$PWD/cache
		[ "$u" = "$(id -u)" ] || cache=$PWD/of-$u/cache
		[ "$(build_id "$cache/$id/debuginfo")" = "$(build_id "$top/whole")" ]
		[ "$(stat -c %u "$cache/$id/debuginfo")" = "$u" ]
		[ "$(stat -c %a "$cache")" = 700 ]
		# what was downloaded once is there without a server, for the commands that read, too
		out=$(DEBUGINFOD_URLS='' as "$u" "$dt" record -o t.db -F 'prog:alpha' "$top/prog")
		out=$(DEBUGINFOD_URLS='' as "$u" "$dt" list "$top/prog" 2>&1)
		[[ $out = *prog:alpha* ]]
		# and gdb finds it there
		out=$(DEBUGINFOD_URLS=http://127.0.0.1:1 as "$u" gdb -nx -batch -iex 'set debuginfod enabled on' \
			-ex 'info line alpha' "$top/prog" 2>&1)
		[[ $out = *'Line 4 of'* ]]
	done
	none_left
}

@test "the file that dwz shares is downloaded, too" {
	shared=$(build_id "$top/supplement/shared.debug")
	"$dt" list -v "$top/one.whole" | grep -E ':(alpha|beta|gamma_of)	' | sed 's/^one.whole/one/' | sort >want
	[ "$(wc -l <want)" = 3 ]
	# the server does not have it: this is said, and lines are known all the same
	"$dt" list -v "$top/one" 2>said | grep -E ':(alpha|beta|gamma_of)	' | sort >got
	grep -q 'the servers do not have it' said
	run -1 cmp -s want got
	[ ! -s "cache/$shared/debuginfo" ]
	for u in $(users); do
		rm -rf cache
		serve "$served" "$top/supplement"
		more=$server
		until curl -sf -o /dev/null "$url/buildid/$shared/debuginfo"; do sleep 0.05; done
		DEBUGINFOD_URLS=$url as "$u" "$dt" list -v "$top/one" 2>said | grep -E ':(alpha|beta|gamma_of)	' | sort >got
		DEBUGINFOD_URLS=$url as "$u" "$dt" record -o t.db -F 'one:*' "$top/one"
		kill "$more"
		more=
		diff want got
		out=$(DEBUGINFOD_URLS= as "$u" "$dt" calls t.db)
		[[ $out = *'alpha(first=40, where='*') = 41'* ]]
	done
}

@test "root has it downloaded by a user without rights" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	bad_server hang
	DEBUGINFOD_MAXTIME=60 "$dt" record -o t.db -F 'prog:*' "$top/prog" >out 2>&1 3>&- &
	controller=$!
	until [ -n "$(grep buildid asked)" ]; do sleep 0.02; done
	# the process that waits for the server has a cwd in the cache
	loader=
	for p in /proc/[0-9]*; do
		[[ $(readlink "$p/cwd") != "$PWD/cache/devtrace-"* ]] || loader="$loader ${p#/proc/}"
	done
	[ "$(wc -w <<<"$loader")" = 1 ]
	loader=${loader# }
	awk '/^Uid:/ { exit !($2 >= 2147400000 && $2 == $3 && $3 == $4 && $4 == $5) }' "/proc/$loader/status"
	[ "$(awk '/^Groups:/ { print NF }' "/proc/$loader/status")" = 1 ]
	for c in CapPrm CapEff CapInh; do [ "$(awk "/^$c:/ { print \$2 }" "/proc/$loader/status")" = 0000000000000000 ]; done
	[ "$(awk '/^NoNewPrivs:/ { print $2 }' "/proc/$loader/status")" = 1 ]
	# its descriptors: nothing, the channel, and what libcurl opens
	[ "$(readlink "/proc/$loader/fd/0")" = /dev/null ]
	run -1 grep -E "t\.db|prog$" <(ls -l "/proc/$loader/fd")
	kill "$controller"
	begin=$SECONDS
	wait "$controller" || true
	[ "$((SECONDS - begin))" -lt 20 ]
	none_left
}

@test "a server that hangs, or sends a byte a second, costs the time that is allowed, once" {
	for how in hang slow; do
		rm -rf cache
		bad_server "$how"
		begin=$EPOCHREALTIME
		DEBUGINFOD_MAXTIME=2 nothing_learnt "$dt" list "$top/prog" "$top/one"
		took=$((${EPOCHREALTIME/./} - ${begin/./}))
		grep 'from debuginfod: it did not come in the 2 s' <<<"$output" >line
		[ "$(wc -l <line)" = 1 ]
		grep -q DEBUGINFOD_MAXTIME line
		[ "$took" -gt 1500000 ]
		[ "$took" -lt 20000000 ]
		[ "$(grep -c buildid asked)" = 1 ]
		none_left
		end_bad
	done
}

@test "at a terminal a line says what is being downloaded, and how much of it has come" {
	bad_server slow
	DEBUGINFOD_MAXTIME=3 python3 "$root/test/cases/onpty.py" 100 '' "$dt" list "$top/prog" >shown || true
	grep -qaE 'downloading the debug file of [^ ]*prog: [0-9]+\.[0-9]( of [0-9.]+)? MB' shown || { cat -v shown; false; }
	end_bad
}

@test "a process that loads and does not go on is ended when the time is over" {
	local port inode loader i begin took
	bad_server hang
	begin=$EPOCHREALTIME
	DEBUGINFOD_MAXTIME=2 "$dt" list "$top/prog" >out 2>err &
	local list=$!
	for i in $(seq 100); do
		grep -q buildid asked && break
		sleep 0.02
	done
	# who has the other end of the server's connection: who is connected to its port
	port=$(printf ':%04X' "${DEBUGINFOD_URLS##*:}")
	inode=$(awk -v port="$port" '$3 ~ port "$" && $4 == "01" { print $10; exit }' /proc/net/tcp)
	[ -n "$inode" ]
	loader=$(find /proc/[0-9]*/fd -lname "socket:\[$inode\]" 2>/dev/null | cut -d/ -f3 | head -n 1)
	[[ $(<"/proc/$loader/comm") == devtrace* ]]
	kill -STOP "$loader"
	wait $list
	took=$((${EPOCHREALTIME/./} - ${begin/./}))
	[ "$took" -gt 1500000 ]
	[ "$took" -lt 15000000 ]
	grep -q 'from debuginfod: it did not come in the 2 s' err
	[ ! -e "/proc/$loader" ]
	none_left
	end_bad
}

@test "what a server sends instead of the file is refused, and not kept" {
	for how in garbage "file $top/other.so" "file $top/types.h"; do
		for u in $(users); do
			bad_server $how
			nothing_learnt as "$u" "$dt" list "$top/prog" "$top/one"
			[ "$(grep -c 'is refused' <<<"$output")" = 1 ]
			[[ $how != *other.so || $output = *"$(build_id "$top/other.so") for $id"* ]]
			[ "$(grep -c buildid asked)" = 1 ]
			[ -z "$(find . -name debuginfo)" ]
			run -0 as "$u" "$dt" record -o t.db -F 'prog:*' "$top/prog"
			[ "$(grep -c 'is refused' <<<"$output")" = 1 ]
			[ -z "$(find . -name debuginfo)" ]
			none_left
			end_bad
		done
	done
}

@test "a server that sends 10 GB, compressed or not, is stopped at the limit" {
	for how in zeros bomb; do
		bad_server "$how"
		DEBUGINFOD_MAXSIZE=3000000 nothing_learnt "$dt" list "$top/prog" "$top/one"
		[ "$(grep -c 'larger than 3000000 bytes' <<<"$output")" = 1 ]
		[ "$(grep -c buildid asked)" -le 2 ]
		[ "$(du -s cache | cut -f1)" -lt 1000 ]
		none_left
		end_bad
	done
}

@test "servers that break off, that are not there, or are no servers, are said once" {
	for how in close nonsense; do
		rm -rf cache
		bad_server "$how"
		nothing_learnt "$dt" list "$top/prog" "$top/one"
		[ "$(grep -c 'the servers do not have it, or did not send it' <<<"$output")" = 1 ]
		# it is not asked again for ten minutes, and this is said, too
		before=$(grep -c buildid asked)
		nothing_learnt "$dt" list "$top/prog" "$top/one"
		[ "$(grep -c 'the servers do not have it' <<<"$output")" = 1 ]
		[ "$(grep -c buildid asked)" = "$before" ]
		find cache -name debuginfo -exec touch -d '-20 min' {} +
		nothing_learnt "$dt" list "$top/prog" "$top/one"
		[ "$(grep -c buildid asked)" -gt "$before" ]
		none_left
		end_bad
	done
	rm -rf cache
	for url in http://127.0.0.1:1 nonsense http:// 'file:///etc/passwd' 'a b c'; do
		DEBUGINFOD_URLS=$url nothing_learnt "$dt" list "$top/prog" "$top/one"
		[ "$(grep -c 'no debug file of' <<<"$output")" = 1 ]
		none_left
		rm -rf cache
	done
	DEBUGINFOD_URLS=http://127.0.0.1:1 nothing_learnt "$dt" list "$top/prog"
	[[ $output = *'can not be asked: Connection refused'* ]]
	# nothing is said when it is off, and nothing is made
	rm -rf cache
	for url in '' ' '; do
		DEBUGINFOD_URLS=$url nothing_learnt "$dt" list "$top/prog"
		[[ $output != *debuginfod* ]]
	done
	nothing_learnt "$dt" list --no-debuginfod "$top/prog"
	[[ $output != *debuginfod* ]]
	[ ! -e cache ]
}

@test "a library that is missing or damaged is named, with Debian's package" {
	mkdir lib
	echo nothing >lib/libdebuginfod.so.1
	LD_LIBRARY_PATH=$PWD/lib nothing_learnt "$dt" list "$top/prog"
	[ "$(grep -c 'libdebuginfod is missing or damaged.*Debian has it in libdebuginfod1' <<<"$output")" = 1 ]
	# another library under its name
	gcc -shared -fPIC -o lib/libdebuginfod.so.1 "$top/other.c"
	LD_LIBRARY_PATH=$PWD/lib nothing_learnt "$dt" list "$top/prog"
	[ "$(grep -c 'libdebuginfod is missing or damaged.*undefined symbol: debuginfod_begin' <<<"$output")" = 1 ]
	none_left
}

@test "a cache that others can write to, or a file in it that is another one, is refused" {
	"$dt" list "$top/prog" >list 2>/dev/null
	grep -q prog:alpha list
	unset DEBUGINFOD_URLS
	file=cache/$id/debuginfo
	cp "$file" good
	for d in cache "cache/$id"; do
		chmod 777 "$d"
		nothing_learnt "$dt" list "$top/prog"
		[[ $output = *"$d can be written by others than its owner"* ]]
		chmod 700 "$d"
	done
	for bad in "$top/other.so" "$top/types.h"; do
		cp --remove-destination "$bad" "$file"
		nothing_learnt "$dt" list "$top/prog"
		[ "$(grep -c "$file is refused" <<<"$output")" = 1 ]
		run -0 --separate-stderr "$dt" record -o t.db -F 'prog:main' "$top/prog"
		[ "$(grep -c "$file is refused" <<<"$stderr")" = 1 ]
	done
	bad=
	# cut off at every length, and with any byte changed: it may tell less, or lies, but ends well
	size=$(stat -c %s good)
	for i in $(seq 0 "$((size / 40 + 1))" "$size"); do
		head -c "$i" good >damaged
		cp --remove-destination damaged "$file"
		run "$dt" list -v "$top/prog"
		[ "$status" -le 1 ]
		cp good damaged
		printf '\xff' | dd of=damaged bs=1 seek="$i" conv=notrunc status=none
		cp --remove-destination damaged "$file"
		run "$dt" list -v "$top/prog"
		[ "$status" -le 1 ]
	done
	cp --remove-destination good "$file"
	[ "$(id -u)" = 0 ] || return 0
	chown "$other" cache
	nothing_learnt "$dt" list "$top/prog"
	[[ $output = *"cache belongs to user $other, who could forge"* ]]
	# nor are folders made where another user could have put something else
	mkdir of
	chown "$other" of
	DEBUGINFOD_URLS=http://127.0.0.1:1 DEBUGINFOD_CACHE_PATH=$PWD/of/cache nothing_learnt "$dt" list "$top/prog"
	[[ $output = *"no folder is made in $PWD/of"* ]]
	[ -z "$(ls of)" ]
}

@test "Ctrl-C ends a download, and the command" {
	bad_server hang
	for command in "list $top/prog" "record -o t.db -F prog:* $top/prog"; do
		set -f
		DEBUGINFOD_MAXTIME=100 setsid env --default-signal=INT "$dt" $command >out 2>&1 3>&- &
		set +f
		before=$(grep -c buildid asked) || true
		until [ "$(grep -c buildid asked)" -gt "$before" ]; do sleep 0.02; done
		kill -INT -- "-$!"
		begin=$SECONDS
		wait $! || true
		[ "$((SECONDS - begin))" -lt 20 ]
		none_left
	done
}

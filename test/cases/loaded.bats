#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Libraries that are loaded when they are used: without one, what needs it says so in one line, and the rest works. And what
# `make' says of packages that are missing.
load common

setup() {
	cd "$dir"
}

# without FILE COMMAND...: runs it where the library is an empty file
without() {
	local library
	library=$(ldconfig -p | sed -n "s/.*$1 .*x86-64.* => //p" | head -n 1)
	[ -n "$library" ] || { echo "$1 is not installed"; return 1; }
	: >"$dir/empty"
	unshare -m sh -c 'mount --bind "$0" "$(readlink -f "$1")" && shift && exec "$@"' "$dir/empty" "$library" "${@:2}"
}

@test "devtrace is linked with what every command may use, and with nothing else" {
	readelf -dW "$dt" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(lib(a|ub|t)san|libgcc_s|ld-linux)' | sort >needed
	diff needed - <<-'L'
		libZydis.so.4.0
		libc.so.6
		libdw.so.1
		libelf.so.1
		liblzma.so.5
		libm.so.6
		libseccomp.so.2
		libsqlite3.so.0
		libzstd.so.1
	L
}

@test "without libbabeltrace2 there is no CTF, and all other formats" {
	"$dt" record -o t.db "$dir/fib" >/dev/null || [ $? = 3 ]
	run without libbabeltrace2.so.0 "$dt" export --ctf ctf t.db
	[ "$status" = 1 ]
	one_line "the Common Trace Format can not be written: " "libbabeltrace2.so.0: file too short; it is in Debian's libbabeltrace2-0"
	without libbabeltrace2.so.0 "$dt" export --chrome -o t.json t.db
	without libbabeltrace2.so.0 "$dt" report t.db >report
	"$dt" report t.db | cmp - report
}

@test "without libfuse3 sessions are not mounted" {
	mkdir -p mnt
	run without libfuse3.so.3 "$dt" mount mnt
	[ "$status" = 1 ]
	one_line "sessions can not be mounted: " "libfuse3.so.3: file too short; it is in Debian's libfuse3-3"
	without libfuse3.so.3 "$dt" "$dir/fib" >tree || [ $? = 3 ]
	grep -q 'fib(n=5)' tree
}

@test "without libedit a shell has no prompt; commands by -c and from a pipe are obeyed" {
	start_spin
	cat >shell <<-S
		#!/bin/sh
		exec "$dt" shell $pid
	S
	chmod +x shell
	# script may take a shell that passes no functions on
	{ declare -f without; echo 'without libedit.so.2 ./shell'; } >prompt
	export dir
	SHELL=/bin/sh run script -qec "bash ./prompt" /dev/null
	[ "$status" = 1 ]
	one_line "there is no prompt: " "libedit.so.2: file too short; it is in Debian's libedit2; -c, and commands from a pipe, need it not"
	without libedit.so.2 "$dt" shell -c status "$pid" >status
	grep -q "records, 0 not read" status
	echo status | without libedit.so.2 "$dt" shell "$pid" >status
	grep -q "records, 0 not read" status
	stop_spin
}

@test "make: what is missing is said with the command for it; nothing is installed" {
	mkdir -p none
	# a compiler that finds no header
	run env CC="gcc -nostdinc -I$PWD/none" sh "$root/install-deps.sh" missing
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 2 ]
	[[ ${lines[0]} == "devtrace can not be built yet: what these packages have is missing: "*libdw-dev*libzydis-dev* ]]
	[[ ${lines[1]} == "'make deps' installs them (as root, or with sudo: apt-get install "*libdw-dev*libzydis-dev* ]]
	# each of them is one that apt knows
	apt-cache show --no-all-versions ${lines[0]##*: } | grep -c '^Package: ' >known
	[ "$(cat known)" = "$(wc -w <<<"${lines[0]##*: }")" ]
	run env CC=gcc sh "$root/install-deps.sh" missing
	[ "$status" = 0 ]
	[ "$output" = "" ]
	run env CC=no-such-compiler sh "$root/install-deps.sh" missing
	[ "$status" = 1 ]
	[[ ${lines[0]} == *": no-such-compiler libdw-dev "* ]]
	# make stops there
	run make -C "$root" B="$PWD/made" CC="gcc -nostdinc -I$PWD/none"
	[ "$status" = 2 ]
	[[ $output == *"'make deps' installs them"* ]]
	[ ! -e made ]
	# no rule but those that say so installs anything on its way
	run ! grep -n '|.*\bdeps\b' "$root/Makefile" "$root"/*/*.mk "$root"/*/*/*.mk "$root"/*/*/*/*.mk
}

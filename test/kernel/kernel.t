#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The module in real kernels, by QEMU without acceleration: Debian's 6.1 and 6.12, two cores. TAP.
# usage: kernel.t [6.1|6.12]...   CASES=PATTERN: only the cases whose name matches (a grep pattern);
#        SOAK=CASE: only the long one of that name, with LOADS=N, SECONDS_OF_ALL=N, TURNS=N
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
n=0
devtrace=${DEVTRACE_BUILD:-$here/../../build}/devtrace

for p in qemu-system-x86_64 busybox cpio; do
	command -v $p >/dev/null || { echo "not ok 1 - $p is missing: ./install-deps.sh kernel"; exit 1; }
done

result() {
	n=$((n + 1))
	[ "$1" = 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}

# known OUT [OPTION]: the program whose system calls are known
known() {
	gcc -O1 -g -Wall ${2-} -nostdlib -static -no-pie -fno-pie -ffreestanding -fno-stack-protector \
		-fcf-protection=none -o "$1" "$here/known.c"
}

# image OUT FOLDER SECONDS [FILE...]: an initial file system with the modules and the cases, of the files named
# if any are; the language is fuzzed so long
image() {
	local d=$work/root out=$1 folder=$2 seconds=$3 f
	shift 3
	rm -rf "$d" && mkdir -p "$d"/{bin,proc,sys,dev,tmp,cases,etc}
	cp "$(command -v busybox)" "$d/bin/busybox"
	for m in devtrace test/traced test/gone fuse; do
		[ "$m" = fuse ] && [ ! -e "$folder/fuse.ko" ] || strip --strip-debug -o "$d/$(basename $m).ko" "$folder/$m.ko" || return
	done
	cp "$here"/guest/run.sh "$d/"
	# devtrace itself, and what it is to trace
	strip --strip-debug -o "$d/bin/devtrace" "$devtrace" &&
		gcc -O1 -g -o "$d/bin/io" "$here/io.c" &&
		known "$d/bin/known" && known "$d/bin/known80" -DINT80 && known "$d/bin/known32" -m32 &&
		gcc -O2 -Wall -I"$here/../.." -o "$d/bin/map" "$here/map.c" &&
		gcc -O1 -g -Wall -o "$d/bin/pingpong" "$here/pingpong.c" || return
	cp "$(command -v fusermount3)" "$d/bin/" || return
	# stock programs, which strace looks at, too
	mkdir -p "$d/usr/bin"
	for f in strace ls find git; do
		cp -L "$(command -v $f)" "$d/usr/bin/" || return
	done
	# what is loaded when it is used: libgcc_s by a thread that ends, libbpf and FUSE by devtrace, with what they need
	mapfile -t loaded < <(for lib in libgcc_s.so.1 libbpf.so.1 libfuse3.so.3; do
		ldconfig -p | grep -o "/[^ ]*x86_64[^ ]*/$lib" | head -n 1
	done)
	{ ldd "$devtrace" "$d"/usr/bin/* "${loaded[@]}" | grep -oE '(^|[[:space:]])/[^ :]*( |$)' | tr -d '[:blank:]' | sort -u; printf '%s\n' "${loaded[@]}"; } | while read -r lib; do
		mkdir -p "$d${lib%/*}" && cp -L "$lib" "$d$lib"
	done
	for f in "$here"/guest/*.sh; do [ "${f##*/}" = run.sh ] || cp "$f" "$d/cases/"; done
	# tracepoints that the documents have for examples
	grep -rhoE 'kernel:[a-z_]+\+[0-9a-f]+' "$here"/../../{doc,man,cmd,session} | sort -u >"$d/documented" || return
	mkdir "$d/examples" && cp "$here"/../../examples/kernel/*.sh "$d/examples/" || return
	# the sessions of the papers say what the language means, which is the same in both
	[[ $folder != */6.12.* || -n ${CASES-} ]] || sed -i 's/^case_check_example_/left_out_/' "$d"/cases/examples.sh
	for f in "$d"/cases/*.sh; do
		[[ $# = 0 || " $* " = *" ${f##*/} "* ]] || sed -i 's/^case_/left_out_/' "$f"
	done
	if [ -n "${CASES-}" ]; then
		sed -i -E "/^case_/{/$CASES/!s/^case_/left_out_/}" "$d"/cases/*.sh
	fi
	echo 'nobody:x:65534:65534::/:/bin/sh' >"$d/etc/passwd"
	cat >"$d/init" <<-'I'
		#!/bin/busybox sh
		/bin/busybox --install -s /bin
		mount -t proc proc /proc
		mount -t sysfs sysfs /sys
		mount -t devtmpfs dev /dev
		mkdir -p /dev/shm /tmp
		mount -t tmpfs shm /dev/shm
		mount -t debugfs debug /sys/kernel/debug
		SOAK=@SOAK@ LOADS=@LOADS@ SECONDS_OF_ALL=@SECONDS@ TURNS=@TURNS@ FUZZ=@FUZZ@ sh /run.sh
		echo "RUN-RC $?"
		poweroff -f
	I
	sed -i "s,@FUZZ@,$seconds,; s,@TURNS@,${TURNS:-10},; s,@SOAK@,${SOAK-},; s,@LOADS@,${LOADS:-1},; s,@SECONDS@,${SECONDS_OF_ALL:-10}," "$d/init"
	chmod +x "$d/init"
	(cd "$d" && find . | cpio -o -H newc --quiet) >"$out"
}

# boot NAME VMLINUZ: what it prints is in $work/NAME.console. cmpxchg16b is left out: QEMU 7.2 leaves wrong
# flags behind it, which 6.12 dies of. One thread for both cores: with two, QEMU 7.2 can go on executing
# the int3 that another core has just replaced, and a kernel whose code is changed never gets out of it.
# And what QEMU is slow at: 'rep movsb' (erms, fsrm) goes a byte at a time, code is translated anew for each
# process that has it elsewhere (norandmaps), and a boot tests its cryptography for 0.3 s.
boot() {
	timeout "${LIMIT:-600}" qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -serial stdio \
		-m 1024 -smp 2 -cpu max,-cx16,-erms,-fsrm -accel tcg,thread=single -kernel "$2" -initrd "$work/$1.initrd" \
		-append "console=ttyS0 norandmaps cryptomgr.notests quiet panic=-1" </dev/null 2>&1 | sed -u 's,\r,,g' >"$work/$1.console"
}

# machines: the files whose cases one of them runs, a line each. Three for each kernel: it waits for its own
# clock now and then, and one for each core would leave the cores idle. One of the three for every change: test/share.bash.
machines() {
	if [ -n "${CASES-}${SOAK-}" ]; then
		echo
		return
	fi
	printf '%s\n' 'bpf.sh strace.sh' 'system.sh user.sh wakes.sh cgroups.sh' 'calls.sh tracepoints.sh examples.sh filters.sh language.sh map.sh points.sh' | share 3
}

# costs VERSION: what a record costs in 6.1: instructions, whatever else the machine does
costs() {
	[ "$1" != 6.1 ] || [ -n "${CASES-}${SOAK-}" ] || "$here/cost.sh" "$1" >"$work/costs"
}

# at_most COST WHAT: as cost.sh calls it
at_most() {
	awk -v what="$2" -v most="$1" 'index($0, what) && !found {found = $1} END {exit !(found && found <= most)}' "$work/costs"
	result $? "Linux 6.1: at most $1 instructions: $(grep -m 1 -F "$2" "$work/costs")"
}

# judge_costs: those of doc/kernel.md's table that may not grow
judge_costs() {
	at_most 110 ' entry'
	at_most 345 ' entry and exit'
	at_most 165 ' point, optimised: 1'
	at_most "$(awk '/ function_graph/ {print int($1 - 1)}' "$work/costs")" ' entry and exit'
}

# judge_strace NAME VERSION: what strace and devtrace have printed of the same runs
judge_strace() {
	local name data thread
	sed -n 's/^@strace //p' "$work/$1.console" >"$work/strace"
	while read -r name data; do
		rm -rf "$work/both" && mkdir "$work/both"
		base64 -d <<<"$data" | tar xz -C "$work/both"
		for thread in "$work"/both/st.*; do
			/usr/bin/python3 "$here/strace.py" "$thread" "$work/both/devtrace.${thread##*.}" >"$work/said"
			result $? "Linux $2: $name: system calls as strace prints them: $(tail -n 1 "$work/said" | sed 's/.* - //')"
			grep '^#' "$work/said"
		done
	done <"$work/strace"
}

# judge NAME VERSION: the results in it, and what a kernel says that has been damaged
judge() {
	local line
	while read -r line; do
		case $line in
		"ok "*) result 0 "Linux $2: ${line#ok * - }" ;;
		"not ok "*) result 1 "Linux $2: ${line#not ok * - }" ;;
		"# "*) echo "$line" ;;
		esac
	done <"$work/$1.console"
	grep -q 'RUN-RC 0' "$work/$1.console"
	result $? "Linux $1: it ran to the end"
	grep -E 'WARNING:|BUG:|BUG at|Oops|general protection|KASAN|possible (recursive|circular) locking|inconsistent lock|RCU.*stall|soft lockup|Call Trace' "$work/$1.console" |
		grep -v 'sysrq\|NMI backtrace' >"$work/bad"
	[ ! -s "$work/bad" ]
	result $? "Linux $1: the kernel has nothing to complain of"
	sed 's/^/# /' "$work/bad"
	judge_strace "$1" "$2"
	[ -z "${CONSOLE-}" ] || cp "$work/$1.console" "$CONSOLE.$1"
}

booted=() versions=("$@")
. "$here/../share.bash"
[ $# != 0 ] || mapfile -t versions < <(printf '%s\n' 6.12 6.1 | FROM=${FROM:-${KERNEL_FROM-}} share 2) # the slower one first
for version in "${versions[@]}"; do
	out=$("$here/build.sh" "$version" 2>"$work/build.log")
	result $? "Linux $version: devtrace.ko builds for ${out##*/}"
	grep -q warning: "$work/build.log" || [ -z "$out" ] && sed 's/^/# /' "$work/build.log"
	[ -n "$out" ] || continue
	# what stays beside the rings when it has been loaded; without tables for unwinding and versions
	bytes=$(size -A "$out/devtrace.ko" | awk '$1 ~ /^\.(text|exit|rodata|data|bss|static_call)/ {n += $2} END {print n}')
	[ "$bytes" -lt 65536 ]
	result $? "Linux $version: less than 64 KiB of code and data: $bytes bytes"
	# the other has time for more while the slower one is at its cases
	fuzz=10
	[ "$version" = 6.1 ] || fuzz=3
	costs "$version" &
	name=$version
	while read -ra files; do
		if image "$work/$name.initrd" "$out" ${FUZZ:-$fuzz} "${files[@]}"; then
			boot "$name" "$out/vmlinuz" &
			booted+=("$name $version")
		else
			result 1 "Linux $name: its first file system"
		fi
		name=$version-2
	done < <(machines)
done
wait
for which in "${booted[@]}"; do
	judge $which
done
[ ! -e "$work/costs" ] || judge_costs
echo "1..$n"

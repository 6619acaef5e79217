#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The module in real kernels, by QEMU without acceleration: Debian's 6.1 and 6.12, two cores. TAP.
# usage: kernel.t [6.1|6.12]...   CASES=PATTERN: only the cases whose name matches (a grep pattern)
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

# image OUT FOLDER: an initial file system with the modules and the cases
image() {
	local d=$work/root
	rm -rf "$d" && mkdir -p "$d"/{bin,proc,sys,dev,tmp,cases,etc}
	cp "$(command -v busybox)" "$d/bin/busybox"
	for m in devtrace test/traced; do strip --strip-debug -o "$d/$(basename $m).ko" "$2/$m.ko" || return; done
	cp "$here"/guest/run.sh "$d/"
	# devtrace itself, and what it is to trace
	strip --strip-debug -o "$d/bin/devtrace" "$devtrace" &&
		gcc -O1 -g -o "$d/bin/io" "$here/io.c" || return
	ldd "$devtrace" | grep -o '/[^ ]*' | while read -r lib; do
		mkdir -p "$d${lib%/*}" && cp -L "$lib" "$d$lib"
	done
	for f in "$here"/guest/*.sh; do [ "${f##*/}" = run.sh ] || cp "$f" "$d/cases/"; done
	mkdir "$d/examples" && cp "$here"/../../examples/kernel/*.sh "$d/examples/" || return
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
		DEBUG=@DEBUG@ TAIL=200 sh /run.sh
		echo "RUN-RC $?"
		poweroff -f
	I
	sed -i "s,@DEBUG@,${DEBUG-}," "$d/init"
	chmod +x "$d/init"
	(cd "$d" && find . | cpio -o -H newc --quiet | gzip -1) >"$1"
}

for version in ${@:-6.1 6.12}; do
	out=$("$here/build.sh" "$version" 2>"$work/build.log")
	result $? "Linux $version: devtrace.ko builds for ${out##*/}" || true
	[ -n "$out" ] || { sed 's/^/# /' "$work/build.log"; continue; }
	grep -q warning: "$work/build.log" && sed 's/^/# /' "$work/build.log"
	image "$work/initrd" "$out"
	# cmpxchg16b is left out: QEMU 7.2 leaves wrong flags behind it, which 6.12 dies of
	timeout ${LIMIT:-120} qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -serial stdio \
		-m 1024 -smp 2 -cpu max,-cx16 -accel tcg,thread=multi -kernel "$out/vmlinuz" -initrd "$work/initrd" \
		-append "console=ttyS0 quiet panic=-1" </dev/null 2>&1 | sed -u 's,\r,,g' >"$work/console"
	while read -r line; do
		case $line in
		"ok "*) result 0 "Linux $version: ${line#ok * - }" ;;
		"not ok "*) result 1 "Linux $version: ${line#not ok * - }" ;;
		"# "*) echo "$line" ;;
		esac
	done <"$work/console"
	grep -q 'RUN-RC 0' "$work/console"
	result $? "Linux $version: it ran to the end"
	# what a kernel says that has been damaged
	if grep -E 'WARNING:|BUG:|BUG at|Oops|general protection|KASAN|possible (recursive|circular) locking|inconsistent lock|RCU.*stall|soft lockup|Call Trace' "$work/console" |
		grep -v 'sysrq\|NMI backtrace' >"$work/bad"; then
		result 1 "Linux $version: the kernel has nothing to complain of"
		sed 's/^/# /' "$work/bad"
	else
		result 0 "Linux $version: the kernel has nothing to complain of"
	fi
	[ -z "${CONSOLE-}" ] || cp "$work/console" "$CONSOLE"
done
echo "1..$n"

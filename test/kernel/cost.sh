#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What a record costs in the kernel, in instructions: QEMU counts them (-icount), so the numbers are the
# same each time. One core. Prints one line each: what, instructions beyond the untraced call.
# usage: cost.sh [6.1|6.12]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=${1:-6.1}
out=$("$here/build.sh" "$version")
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
mkdir -p "$d/root"/{bin,proc,sys,dev,tmp}
cp "$(command -v busybox)" "$d/root/bin/busybox"
for m in devtrace test/traced; do strip --strip-debug -o "$d/root/$(basename $m).ko" "$out/$m.ko"; done
cat >"$d/root/init" <<'I'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t debugfs debug /sys/kernel/debug
insmod /devtrace.ko && insmod /traced.ko
C=/dev/tracectl
N=1000
# least [of]: the least of some batches: the first ones are translated, or interrupted
least() {
	for i in 1 2 3 4 5 6 7 8; do echo "time${1-} $N" >/proc/traced; done
	dmesg | sed -n 's/.*traced: \([0-9]*\) for.*/\1/p' | tail -n 8 | sort -n | head -n 1
}
tell() { echo "$*" >$C; }
none=$(least)
cost() { echo "COST $* $((($(least) - none) * 10 / N))"; }
echo "COST nothing traced $((none * 10 / N))"
tell size 16
tell trace traced_empty new e ENTRY
tell trace e on
tell start
cost entry
tell trace e remove
tell trace traced_empty new b
tell trace b on
cost entry and exit
tell stop
cost entry and exit, stopped
tell start
tell follow on
tell watch 1
cost entry and exit, watched
tell watch 0
tell trace b remove
# each hit is looked at, whatever the option is
tell trace traced_empty new b UNFREEZE
tell trace b on
cost entry and exit with an option
tell trace b remove
tell trace traced_empty new b COUNT
tell trace b on
cost entry with COUNT, and exit
tell trace b remove
# where there is room for a jump; it takes a second to become one
was=$none none=$(least calls)
for i in 5 7 9 b; do tell trace traced_call+$i 2>/dev/null && break; done
sleep 2
echo "COST point, optimised: $(cat /sys/kernel/debug/kprobes/list | grep -c OPTIMIZED) $((($(least calls) - none) * 10 / N))"
tell delete traced_call+$i
none=$was
tell stop
T=/sys/kernel/debug/tracing
echo traced_empty >$T/set_graph_function
echo traced_empty >$T/set_ftrace_filter
[ ! -e $T/options/funcgraph-args ] || echo 1 >$T/options/funcgraph-args
[ ! -e $T/options/funcgraph-retval ] || echo 1 >$T/options/funcgraph-retval
echo function_graph >$T/current_tracer && cost function_graph: entry and exit
echo nop >$T/current_tracer
echo >$T/set_ftrace_filter
echo "p:one traced_empty a=%di b=%si c=%dx d=%cx
r:two traced_empty v=%ax" >$T/kprobe_events && echo 1 >$T/events/kprobes/enable && sleep 2 &&
	cost kprobe_events: entry and exit with their values
rmmod traced
rmmod devtrace
poweroff -f
I
chmod +x "$d/root/init"
# noapictimer: where instructions are counted, finding out that timer's frequency takes 4 s
(cd "$d/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$d/initrd"
timeout 400 qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -serial stdio -m 1024 -smp 1 \
	-cpu max,-cx16,-erms,-fsrm -accel tcg -icount shift=0,sleep=off -kernel "$out/vmlinuz" -initrd "$d/initrd" \
	-append "console=ttyS0 noapictimer cryptomgr.notests quiet panic=-1" </dev/null 2>&1 | sed -u 's,\r,,g' |
	sed -n 's/^COST \(.*\) \([0-9-]*\)\([0-9]\)$/\2.\3 \1/p; /Oops\|WARNING\|BUG:/p'

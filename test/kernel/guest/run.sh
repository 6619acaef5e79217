# SPDX-License-Identifier: MIT
# Runs inside the kernel that is tested, as its first program, in busybox's shell: TAP on the console.
# In an emulated machine a process takes 3 to 5 ms: what is asked often the shell does itself.
C=/dev/tracectl
n=0

load() {
	insmod /devtrace.ko && insmod /traced.ko
}

unload() {
	{ rmmod traced; rmmod devtrace; }
}

# All the log has now.
records() {
	dd if=/dev/trace bs=1210000 count=1 2>/dev/null
}

tell() {
	echo "$*" >$C
}

# The last thing the device said.
said() {
	dmesg | awk '/devtrace: / {last = $0} END {sub(/.*devtrace: /, "", last); print last}'
}

# What could be written back: ctl without its comments
state() {
	while IFS= read -r line; do
		case $line in
		'#'*) ;;
		*) echo "$line" ;;
		esac
	done <$C
}

do_traced() {
	echo "$*" >/proc/traced
}

# counter NAME: of those that ctl shows
counter() {
	while read -r name value rest; do
		[ "$name" != "#$1" ] || break
		value=0
	done <$C
	echo "${value%,}"
}

# This process: a case is not the shell that $$ means.
me() {
	exec sh -c 'echo $PPID'
}

# As after loading.
clean() {
	echo 'stop
watch 0
disarm
events 0
uniform off
unfreeze
policy overwrite
subsystem all on
switches off
syscalls off
interrupts off
follow off
size 13' >$C || return
	case $(state) in
	*trace*) ;;
	*) return ;;
	esac
	sed -n "s/^trace.* new \('.*'\|[^ ]*\).*/delete \1/p; s/^trace \([^ ]*\) rename .*/delete \1/p" $C >/tmp/delete
	sed -n '/ new /d; / on$/d; / off$/d; / rename /d; s/^trace \([^ ]*\).*/delete \1/p' $C >>/tmp/delete
	[ ! -s /tmp/delete ] || cat /tmp/delete >$C
}

# count NAME: of what 'counts' says, which is one line of names and numbers; to who has it open for both
count() {
	exec 3<>$C
	echo counts >&3
	IFS= read -r line <&3
	exec 3>&-
	line=" $line "
	line=${line#* $1 }
	echo "${line%% *}"
}

# address SYMBOL [BEYOND]: in traced.ko, and so many bytes beyond it
address() {
	printf %x $((0x$(sed -n "s/^$1 //p" /proc/traced) + ${2:-0}))
}

is() {
	[ "$1" = "$2" ] || {
		echo "# got '$1', not '$2'"
		return 1
	}
}

# refused WORDS COMMAND: an error that says so, and nothing has changed
refused() {
	state >/tmp/before
	words=$1
	shift
	if tell "$@" 2>/dev/null; then
		echo "# not refused: $*"
		return 1
	fi
	case $(said) in
	*"$words"*) ;;
	*) echo "# '$*' is refused with '$(said)'" && return 1 ;;
	esac
	state | cmp - /tmp/before
}

# be_busy [SECONDS [FOLDER]]: files are read and written again and again, with so much time between, until be_idle
be_busy() {
	rm -f /tmp/enough
	(while [ ! -e /tmp/enough ]; do ls -lR "${2:-/sys/kernel/slab}"; dd if=/dev/zero of=/tmp/x bs=4k count=50; sleep ${1:-0}; done) >/dev/null 2>&1 &
	busy=$!
}

be_idle() {
	: >/tmp/enough
	wait $busy
	rm /tmp/enough
}

# sound FILE...: what is not goes to /tmp/unsound, which fails the case
sound() {
	for trace; do
		[ ! -s "$trace" ] || devtrace check -q "$trace" >>/tmp/out 2>&1 || echo "$trace" >>/tmp/unsound
	done
}

# A trace is checked before another one takes its place: whoever records is this, and then devtrace itself.
mkdir /checked
cat >/checked/devtrace <<'END'
#!/bin/sh
case $1 in
record | attach)
	file= before=
	for word; do
		[ "$before" != -o ] || file=$word
		before=$word
	done
	[ ! -s "$file" ] || /bin/devtrace check -q "$file" >/tmp/check.$$ 2>&1 || {
		cat /tmp/check.$$
		echo "$file, before: $*"
	} >>/tmp/unsound
	rm -f /tmp/check.$$
	;;
esac
exec /bin/devtrace "$@"
END
chmod 755 /checked/devtrace
PATH=/checked:$PATH

for f in /cases/*.sh; do
	. "$f"
done
load || echo "# can not be loaded"
fresh=$(state)
cases=$(sed -n 's/^\(case_[a-zA-Z0-9_]*\)().*/\1/p' /cases/*.sh)
[ -z "$SOAK" ] || cases=$SOAK
for name in $cases; do
	n=$((n + 1))
	read -r begun idle </proc/uptime
	(set -ex; $name) >/tmp/out 2>&1
	status=$?
	# every trace that it has made is sound
	sound /tmp/*.db
	rm -f /tmp/*.db
	[ ! -e /tmp/unsound ] || {
		cat /tmp/unsound >>/tmp/out
		status="$status, a trace is not sound"
		rm /tmp/unsound
	}
	# a case that failed without the module
	[ -c $C ] || { rm -f $C; load; }
	clean >>/tmp/out 2>&1 && [ "$(state)" = "$fresh" ] || {
		cat $C >>/tmp/out
		status="$status, not clean"
		unload
		load
	}
	if [ "$status" = 0 ]; then
		echo "ok $n - ${name#case_} ($begun)"
	else
		echo "not ok $n - ${name#case_} ($status)"
		sed 's/^/# /' /tmp/out | tail -n 60
	fi
done
unload
echo "1..$n"

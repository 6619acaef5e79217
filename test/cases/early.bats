# SPDX-License-Identifier: MIT
# Calls of the kernel that BPF leaves out before they are recorded: what is recorded is the same as where the
# recorder chooses, and as the program itself knows. System calls only, which kernels allow that are locked down;
# test/kernel/guest/bpf.sh has functions.
load read-helper

# may: can BPF record system calls here?
may() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ "$(uname -m)" = x86_64 ] || skip "the BPF programs are for x86-64"
	timeout 60 devtrace record -k'__x64_sys_close' -F main -o may.db true >may.out 2>&1 || skip "BPF: $(tail -n 1 may.out)"
}

# Reads of 1 to 10 bytes, each tenth of the thousand of them with 5; each hundredth is followed by one that fails, with
# 5; two polls of 400 ms, in the order of time far apart, and 2 of 2 ms. Another thread is in a poll when all ends.
setup() {
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	PATH=$build:$build/test/tool:$PATH
	cd "$BATS_FILE_TMPDIR" || return 1
	[ -x reads ] && return
	may
	cat >reads.c <<-'END'
		#include <fcntl.h>
		#include <poll.h>
		#include <pthread.h>
		#include <unistd.h>

		static void *wait(void *none)
		{
			poll(NULL, 0, 60000);
			return none;
		}

		int main(void)
		{
			char b[16];
			pthread_t t;
			int fd = open("/dev/zero", O_RDONLY);

			pthread_create(&t, NULL, wait, NULL);
			for (int i = 0; i < 2000; i++) {
				if (read(fd, b, 1 + i % 10) < 0)
					return 1;
				if (i % 100 == 0)
					read(-1, b, 5);
				if (i % 500 == 0)
					poll(NULL, 0, i % 1000 ? 2 : 400);
			}
			return 0;
		}
	END
	gcc -O1 -g -Wno-unused-result -pthread -o reads reads.c
}

# recorded FILE: its records of the two calls that the program makes by itself, how many are in no file, and how many
# records the kernel's rings had
recorded() {
	devtrace check "$1" >check.txt
	grep -q ' 0 lost' check.txt
	devtrace sql --csv --no-header "$1" "SELECT function, kind, count(*) FROM records WHERE function IN ('__x64_sys_read', '__x64_sys_poll') GROUP BY 1, 2" | tr -d '\r'
	sqlite3 -noheader "$1" "SELECT f.name, l.calls, l.untimed FROM left_out l JOIN function f ON f.id = l.function WHERE f.name IN ('__x64_sys_read', '__x64_sys_poll') ORDER BY 1"
}

# both WORDS READS POLLS: the records of both ways are the same, those of so many reads and polls
both() {
	devtrace record -k'__x64_sys_*' -F main --filter "$1" -o early.db ./reads
	devtrace record -k'__x64_sys_*' -F main --filter "$1" --sum 'count by depth' -o late.db ./reads
	recorded late.db | grep "${recorded_of:-.}" >late.txt
	recorded early.db | grep "${recorded_of:-.}" >early.txt
	diff early.txt late.txt
	count __x64_sys_read E "$2"
	count __x64_sys_poll E "$3"
}

# timed WORDS POLLS: the same of polls alone: on a busy machine a read may take long, too, in one of the two runs
timed() {
	recorded_of='__x64_sys_poll'
	both "$1" 0 "$2"
	recorded_of=''
}

# count FUNCTION KIND N
count() {
	n=$(sed -n "s/^$1,$2,//p" early.txt)
	[ "${n:-0}" = "$3" ] || { echo "$1 $2: $n, not $3"; cat early.txt; return 1; }
}

# in_rings FILE: how many records of the kernel's have crossed the rings
in_rings() {
	sqlite3 -noheader "$1" "SELECT sum(records) FROM written WHERE source = 'kernel'"
}

@test "conditions on arguments" {
	# libc's own first reads are of other sizes
	both 'count=5' 220 0
	[ "$(in_rings early.db)" -lt 900 ]
	[ "$(in_rings late.db)" -gt 4000 ]
	both '__x64_sys_poll' 0 5
	[ "$(in_rings early.db)" -lt 400 ]
}

@test "conditions on results, and failures" {
	# what the other thread waits in fails when the program ends
	both 'failed' 20 1
	both 'result=7' 200 0
	[ "$(in_rings early.db)" -lt 900 ]
	both 'error=EBADF count=5' 20 0
	both '__x64_sys_read count=5 -failed' 200 0
	both '__x64_sys_read result>9' "$(recorded_by_strace)" 0
}

# recorded_by_strace: how many reads of more than 9 bytes the program makes, says somebody else
recorded_by_strace() {
	strace -f -e trace=read -o strace.txt ./reads
	awk '/read\(.*= [0-9]+$/ && $NF > 9' strace.txt | wc -l
}

@test "least durations: calls are recorded where they began" {
	timed 'time>1ms' 5
	[ "$(in_rings early.db)" -lt 300 ]
	timed 'time>200ms' 3
	# entries are in the order of time, beside those of all other threads: as check sees it
	devtrace check early.db
	[ "$(devtrace sql --csv --no-header early.db "SELECT count(*) FROM calls WHERE function = '__x64_sys_poll' AND duration BETWEEN 399900000 AND 790000000" | tr -d '\r')" = 2 ]
}

@test "words about other calls are left to the recorder" {
	both 'depth<2 failed' 20 1
	[ "$(in_rings early.db)" -gt 4000 ]
	both 'in:main failed' 0 0
}

@test "what the kernel forbids is said, and the rest is recorded" {
	grep -q ' ksys_read$' /proc/kallsyms
	if devtrace record -kksys_read -F main -o f.db true >f.out 2>&1; then
		skip "this kernel lets BPF probe its functions"
	fi
	cat f.out
	grep -q "BPF may not probe the kernel's functions, such as 'ksys_read': this kernel allows it to nobody" f.out
	devtrace record -k'ksys_re* __x64_sys_close' -T 'tracepoint:sched:sched_switch' -F main -o f.db true 2>f.out
	cat f.out
	grep -q 'functions may not be probed: ksys_read.*(this kernel allows it to nobody: Operation not permitted)$' f.out
	[ "$(devtrace sql --csv --no-header f.db "SELECT count(*) > 0 FROM records WHERE function = '__x64_sys_close'" | tr -d '\r')" = 1 ]
	[ "$(devtrace sql --csv --no-header f.db "SELECT count(*) > 0 FROM records WHERE function = 'sched:sched_switch'" | tr -d '\r')" = 1 ]
	# one by its name is refused
	run devtrace record -k'ksys_read' -T 'tracepoint:sched:sched_switch' -F main -o f.db true
	[ $status != 0 ]
	[[ $output == *"'ksys_read'"* ]]
}

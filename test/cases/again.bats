# SPDX-License-Identifier: MIT
# Numbers of threads and processes that the kernel gives again within one recording.
load devtrace

setup_file() {
	[ "$(id -u)" = 0 ] || skip "unshare needs root"
	export dir
	dir=$(mktemp -d)
	gcc -O1 -g -pthread -o "$dir/again" "$root/test/programs/again.c"
}

teardown_file() {
	rm -rf "$dir"
}

setup() {
	# who is who must hold with what the kernel tells of threads, too
	unset DEVTRACE_SWITCHES
	cd "$dir"
	rm -f t.db* said go
}

# inside COMMAND...: in a PID namespace of its own
inside() {
	unshare -p -f --mount-proc -- "$@"
}

# of_again HOW... -- PROGRAM...: records what it does to t.db, and what it says to said
of_again() {
	local how=()
	while [ "$1" != -- ]; do
		how+=("$1")
		shift
	done
	shift
	inside "$dt" record -o t.db "${how[@]}" -F again:work -F again:outer -F again:stay -- "$@" 9>said
}

# compare [HOW...]: said with t.db; lines has how many threads and numbers there were
compare() {
	"$dt" check t.db
	run python3 "$root/test/cases/again.py" "$dt" t.db said "$@"
	echo "$output"
	[ "$status" = 0 ]
}

@test "threads of one process with the same numbers are shown apart" {
	of_again -- ./again 400 t
	compare
	[[ "${lines[0]}" = "400 threads, "[12]?" numbers" ]]
}

@test "threads, children, killed ones and executed programs with the same numbers are shown apart" {
	of_again -- ./again 400 tfek
	compare
	[[ "${lines[0]}" = "800 threads, "* ]]
	# some number was a thread's and a process's
	n=$("$dt" sql -n t.db 'SELECT count(*) FROM threads a JOIN threads b ON a.number = b.number
		WHERE a.thread = a.process AND b.thread <> b.process')
	[ "$n" -gt 20 ]
}

@test "each thread with a number has its own process, which has its own times" {
	of_again -- ./again 200 fk
	compare
	n=$("$dt" sql -n t.db 'SELECT count(*) FROM processes a JOIN processes b ON a.number = b.number AND
		a.process <> b.process AND a.begin < b."end" AND b.begin < a."end"')
	# the end of one is seen a little after it, when the next may have begun
	[ "$n" -lt 60 ]
	# that one was there at all may have gone unseen when there was much to do
	n=$("$dt" sql -n t.db "SELECT count(*) FROM processes WHERE \"end\" IS NULL")
	[ "$n" -lt 20 ]
}

@test "switches and waits are those of the thread that has the number then" {
	[ "$("$dt" record -o /dev/null -S -F again:work -- true 2>&1 | grep -c perf_event)" = 0 ] || skip "no switches here"
	of_again -S -- ./again 400 t
	compare switches
}

@test "numbers that come again in a PID namespace that is traced from outside" {
	"$dt" record -o t.db --follow -F again:work -F again:outer -F again:stay -- \
		unshare -p -f --mount-proc -- ./again 120 tfk 9>said
	compare inner
	# all of them told of their births, so no number stands for two
	[ "$("$dt" sql -n t.db 'SELECT count(DISTINCT thread) FROM calls')" = "$(wc -l <said)" ]
}

@test "attach: threads that are there, and those that come later" {
	mkfifo quiet
	# The end of the shell inside is that of its namespace, and of what writes the file. It waits for that without
	# processes at first, which would have numbers of those whose names are still to be read.
	# shellcheck disable=SC2016 # for the shell inside
	inside bash -c './again 200 tfe go 9>said & p=$!
		"$0" attach -d -s again$$ -o t.db -F again:work -F again:outer -F again:stay $p || exit
		touch go; wait $p
		exec 8<>quiet
		read -rt 2 -u 8
		for i in {1..50}; do "$0" check t.db | grep -q "written: as many" && break; read -rt 0.2 -u 8; done' "$dt"
	rm quiet
	compare
}

@test "what is chosen while recording is chosen by the thread that has the number then" {
	of_again --filter 'time<10s' -- ./again 300 tfe
	compare
	rm -f t.db*
	of_again --filter 'thread:t5*' -- ./again 100 t
	[ "$("$dt" sql -n t.db "SELECT count(*) FROM calls c JOIN threads t ON c.thread = t.thread
		WHERE t.name NOT LIKE 't5%'")" = 0 ]
}

@test "people are shown the kernel's number, and may choose by it" {
	of_again -- ./again 60 t
	compare
	number=$("$dt" sql -n t.db 'SELECT number FROM threads GROUP BY number HAVING count(*) = 3 LIMIT 1')
	id=$("$dt" sql -n t.db "SELECT max(thread) FROM threads WHERE number = $number")
	[ "$id" -ge 1073741824 ]
	run "$dt" calls -t "$number" t.db
	[ "$(grep -c "^# thread $number" <<<"$output")" = 3 ]
	[ "$(grep -c "$id" <<<"$output")" = 0 ]
	n=$("$dt" sql -n t.db "SELECT count(*) FROM calls WHERE function = 'work' AND thread IN
		(SELECT thread FROM threads WHERE number = $number)")
	[ "$n" = "$(awk -v number="$number" '$1 == number { n += $4 } END { print n }' said)" ]
	"$dt" report -f "thread:$number" t.db | grep -E '\bwork\b' | grep -qw "$n"
	# what programs read has ids, by which threads stay apart
	"$dt" cat -l t.db | grep -q "tid=$id .*number=$number"
	"$dt" export --folded t.db >folded
	[ "$(grep -c "$id" folded)" = 0 ]
}

@test "births that a confined program can not tell are counted and said" {
	cat >confined.c <<-'C'
		#include <linux/filter.h>
		#include <linux/seccomp.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <sys/prctl.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		static volatile int worked;
		__attribute__((noinline)) void work(void) { worked = worked * 3 + 1; }
		static void *thread(void *x) { work(); return x; }
		int main(void)
		{
			struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
			struct sock_fprog all = {1, &allow};
			pthread_t t;
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
			if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
				return 2;
			for (int i = 0; i < 3; i++)
				if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
					return 3;
			return 0;
		}
	C
	gcc -O1 -pthread -o confined confined.c
	run "$dt" record -o t.db -F confined:work -- ./confined
	[ "$status" = 0 ]
	[[ "$output" = *"3 threads or processes began unseen"* ]]
	[ "$(sqlite3 t.db "SELECT value FROM meta WHERE key = 'births_missed'")" = 3 ]
}

@test "where no number comes again, each keeps its own" {
	of_again -- ./again 15 tfekv
	[ "$("$dt" sql -n t.db 'SELECT count(*) FROM threads WHERE thread <> number')" = 0 ]
	[ "$("$dt" sql -n t.db 'SELECT count(*) FROM processes WHERE process <> number')" = 0 ]
}

@test "a file from before numbers were shown apart is read as before" {
	of_again -- ./again 10 t
	[ "$(sqlite3 t.db 'SELECT count(*) FROM again')" = 0 ]
	sqlite3 t.db 'DROP TABLE again'
	compare
	"$dt" report t.db >/dev/null
	[ "$("$dt" sql -n t.db 'SELECT count(*) FROM threads WHERE number <> thread')" = 0 ]
}

@test "check finds numbers that can not be" {
	of_again -- ./again 60 t
	cp t.db other.db
	sqlite3 t.db 'INSERT INTO again VALUES (1073750000, 12)'
	run "$dt" check t.db
	[ "$status" = 1 ]
	[[ "$output" = *"again: there is no thread or process 1073750000"* ]]
	sqlite3 other.db 'UPDATE again SET number = 0 WHERE tid = 1073741826'
	run "$dt" check other.db
	[ "$status" = 1 ]
	[[ "$output" = *"again: 1073741826 has the number 0, which cannot be"* ]]
	rm t.db other.db
}

@test "a child of vfork with a number that was another's is not that one" {
	of_again -- ./again 60 tv
	"$dt" check t.db
	# work() in the child, before it executes: a thread of its own for each
	n=$("$dt" sql -n t.db "SELECT count(*) FROM (SELECT thread FROM calls WHERE function = 'work' GROUP BY thread
		HAVING count(DISTINCT process) = 1)")
	[ "$n" = "$(wc -l <said)" ]
}

# SPDX-License-Identifier: MIT
# Conditions by the names of constants. What is right: the same conditions by the numbers that the compiler
# knows, and what sqlite computes of the registers.
load one-session

setup_file() {
	export dir
	dir=$(mktemp -d)
	cd "$dir"
	cat >calls.c <<-'C'
		#include <fcntl.h>
		#include <netdb.h>
		#include <netinet/in.h>
		#include <netinet/tcp.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/mman.h>
		#include <sys/socket.h>
		#include <unistd.h>
		int main(void)
		{
			static const int flag[] = {O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_CLOEXEC, O_APPEND, O_NONBLOCK, 1 << 30};
			int fd = open("/etc/passwd", O_RDONLY), one = 1;
			struct addrinfo h = {.ai_flags = AI_NUMERICHOST}, *r;
			for (int i = 0; i < 300; i++) {
				int flags = 0;
				for (int k = 0; k < 8; k++)
					flags |= rand() % 3 ? 0 : flag[k];
				open("/nowhere/at/all", flags, 0600);
				lseek(fd, 0, rand() % 3);
				setsockopt(-1, rand() % 2 ? SOL_SOCKET : IPPROTO_TCP, rand() % 4, &one, 4);
				mmap(NULL, 4096, rand() % 8, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			}
			getaddrinfo("no.number", NULL, &h, &r);
			getaddrinfo("127.0.0.1", NULL, &h, &r);
			fopen("/etc/hosts", "r");
			return 0;
		}
	C
	gcc -O0 -w -o calls calls.c
	"$root/build/devtrace" record -l -o c.db ./calls 2>/dev/null
}

teardown_file() {
	rm -rf "$dir"
}

# same NAMES WHERE: the calls that a filter by names means are those that the condition in SQL means
same() {
	"$dt" sql -n "$dir/c.db" "SELECT text FROM calls WHERE $2 ORDER BY begin" >want
	"$dt" calls -f "$1" "$dir/c.db" 2>said | sed -n 's/^ *[0-9.]* us *\([a-z].*\)$/\1/p' | sed 's/  \/\*.*//' >got
	sed -i 's/  \/\*.*//' want
	[ -s want ] || { echo "$1: none"; return 1; }
	diff want got >differ || { echo "$1:"; head -5 differ; return 1; }
	! grep -v 'leaves out' said
}

@test "names of constants choose the calls that their numbers choose" {
	cd "$BATS_TEST_TMPDIR"
	same whence=SEEK_SET "function = 'lseek' AND arg2 = 0"
	same whence!=SEEK_SET "function = 'lseek' AND arg2 <> 0"
	same arg3=SEEK_END "function = 'lseek' AND arg2 = 2"
	same 'open flags=O_RDONLY' "function = 'open' AND arg1 = 0"
	same 'flags=O_CREAT|O_RDWR' "function = 'open' AND arg1 = 66"
	same 'open flags!=O_CREAT|O_RDWR' "function = 'open' AND arg1 <> 66"
	same 'flags=O_CREAT|*' "function = 'open' AND arg1 & 64"
	same 'flags=O_CREAT|O_EXCL|*' "function = 'open' AND arg1 & 192 = 192"
	same 'flags=O_RDONLY|O_CLOEXEC|*' "function = 'open' AND arg1 & 3 = 0 AND arg1 & 524288"
	same 'flags!=O_RDONLY|* open' "function = 'open' AND arg1 & 3 <> 0"
	same 'flags=O_EXCL|0x40000000' "function = 'open' AND arg1 & 4294967295 = 1073741952"
	same 'prot=PROT_WRITE|PROT_READ' "function = 'mmap' AND arg2 = 3"
	same optname=SO_REUSEADDR "function = 'setsockopt' AND arg1 = 1 AND arg2 = 2"
	same optname=TCP_MAXSEG "function = 'setsockopt' AND arg1 = 6 AND arg2 = 2"
	same 'optname!=TCP_MAXSEG' "function = 'setsockopt' AND NOT (arg1 = 6 AND arg2 = 2)"
	same result=EAI_NONAME "function = 'getaddrinfo' AND text LIKE '%= EAI_NONAME%'"
	same 'mode=r*' "function = 'fopen'"
}

@test "names choose while recording, too, and in sums" {
	cd "$BATS_TEST_TMPDIR"
	for f in whence=SEEK_CUR 'flags=O_CREAT|*' optname=TCP_NODELAY result=EAI_NONAME; do
		"$dt" record -l --filter "$f" -o r.db "$dir/calls" 2>/dev/null
		"$dt" calls r.db 2>/dev/null | sed -n 's/^ *[0-9.]* us *\([a-z]*(.*\)$/\1/p' | sed 's/0x7[0-9a-f]*/P/g' >got
		"$dt" calls -f "$f" "$dir/c.db" 2>/dev/null | sed -n 's/^ *[0-9.]* us *\([a-z]*(.*\)$/\1/p' | sed 's/0x7[0-9a-f]*/P/g' >want
		[ -s want ]
		diff want got
	done
	"$dt" sum -e 'count if whence=SEEK_END' "$dir/c.db" >sum
	grep -qw "$("$dt" sql -n "$dir/c.db" "SELECT count(*) FROM calls WHERE function = 'lseek' AND arg2 = 2")" sum
}

@test "a name that nothing has is said" {
	cd "$BATS_TEST_TMPDIR"
	"$dt" calls -f whence=SEEK_SETT "$dir/c.db" >out 2>said
	[ "$(grep -c lseek out)" = 0 ]
	grep -q "no function that was met has a constant 'SEEK_SETT' for 'whence'" said
	"$dt" calls -f 'whence!=SEEK_SETT' "$dir/c.db" >out 2>said
	[ "$(grep -c lseek out)" = 0 ]
	refused=0
	"$dt" calls -f 'result=x-y' "$dir/c.db" 2>said || refused=$?
	[ "$refused" != 0 ]
	grep -q 'a number is wanted' said
	refused=0
	"$dt" calls -f 'arg1=*A' "$dir/c.db" 2>said || refused=$?
	[ "$refused" != 0 ]
	"$dt" calls -f 'flags=O_CREAT|' "$dir/c.db" 2>said >out
	[ "$(grep -c 'open(' out)" = 0 ]
}

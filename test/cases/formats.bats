# SPDX-License-Identifier: MIT
# Values of which only the traced process knows how many there are: the arguments behind a format of
# printf's, and arrays of texts. What is right: the values that a generator has put into programs, and what
# strace and the kernel say.
load one-session

setup_file() {
	export dir
	dir=$(mktemp -d)
}

teardown_file() {
	rm -rf "$dir"
}

# shown FILE: "#N values" for each call whose format begins with #N
shown() {
	"$dt" calls "$1" | sed -n 's/^ *[0-9.]* us *[a-z_]*printf[a-z_]*(.*format="\(#[0-9]*\):\([^"\\]\|\\.\)*"\(, \(.*\)\)\?)\( = -\?[0-9]*\)\?\(  \/\*.*\)\?$/\1 \4/p' | sed 's/ *$//'
}

@test "the arguments behind a format are those that the program passes" {
	cd "$dir"
	seed=$((RANDOM * 32768 + RANDOM))
	echo "seed $seed"
	python3 "$root/test/cases/formats.py" "$seed" 1500
	gcc -O0 -w -o plain formats.c
	gcc -O2 -w -D_FORTIFY_SOURCE=2 -o fortified formats.c
	for program in plain fortified; do
		./$program
		"$dt" record -l -o f.db ./$program
		shown f.db >got
		diff formats.said got >differ || { echo "$program:"; head -10 differ; return 1; }
		"$dt" check f.db >/dev/null
	done
	nm -D fortified | grep -q __vfprintf_chk
	# the same in sql, and nothing that is in no line
	"$dt" sql -n f.db "SELECT text FROM calls WHERE text LIKE '%printf_chk%' AND arguments LIKE '%\"#%'" | wc -l | grep -qx 1500
	"$dt" cat -k f.db >/dev/null
	"$dt" export --perfetto f.db >/dev/null
}

@test "what of a format's arguments is not recorded, or not known, is said" {
	cd "$dir"
	cat >odd.c <<-'C'
		#include <setjmp.h>
		#include <signal.h>
		#include <stdarg.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/mman.h>
		static sigjmp_buf back;
		static void on_fault(int s) { siglongjmp(back, s); }
		static char to[8192];
		int main(void)
		{
			char *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), big[301], wide[600];
			/* a caller that says of no vector register that it is used */
			int (*lies)(char *, const char *, ...) = sprintf;
			memset(big, 'y', 300);
			big[300] = 0;
			sprintf(to, "1 %s %d", big, 5);
			sprintf(to, "2 %s %s %s %d %d", big, big, big, 5, 6);
			sprintf(to, "3 %d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26);
			sprintf(to, "4 %d %y %d", 1, 2);
			sprintf(to, "5 %2$s %1$d", 7, "second");
			sprintf(to, "6 %3$d %1$d", 7, 8, 9);
			sprintf(to, "7 %ls %lc", L"wide", L'w');
			for (int i = 0; i < 3; i++)
				if (!sigsetjmp(back, 1)) {
					signal(SIGSEGV, on_fault);
					i == 0 ? sprintf(to, "8 %d %s %d", 1, gone, 2) : i == 1 ? sprintf(to, gone, 1) : sprintf(to, "9 %s", (char *)1);
					puts("not here");
				} else {
					puts("fault");
				}
			__asm__ volatile("xor %%eax, %%eax; call *%0" : : "r"(lies), "D"(to), "S"("10 %f %d"), "d"(4) : "rax", "rcx", "r8", "r9", "r10", "r11", "memory");
			return 0;
		}
	C
	gcc -O0 -w -mno-red-zone -mpreferred-stack-boundary=4 -o odd odd.c
	./odd >alone
	"$dt" record -l -o o.db ./odd >traced
	diff alone traced
	[ "$(grep -c '^fault$' alone)" = 3 ]
	"$dt" calls o.db | sed -n 's/^ *\([0-9.]* us\)\? *sprintf(.*format=\(.*\)$/\2/p' | sed 's/)\( = .*\| {.*\)\?\(  .*\)\?$//' >got
	y=$(printf 'y%.0s' {1..128})
	cat >want <<-END
		"1 %s %d", "$y"..., 5
		"2 %s %s %s %d %d", "$y"..., "${y:0:118}"..., ... 3 more
		"3 %d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, ...
		"4 %d %y %d", 1, ...
		"5 %2\$s %1\$d", 7, "second"
		"6 %3\$d %1\$d", 7, ...
		"7 %ls %lc", 0xWIDE, 119
		"8 %d %s %d", 1, 0xGONE?, 2
		0xGONE?, ...
		"9 %s", 0x1?
		"10 %f %d", ?, 4
	END
	sed -i 's/^\("7 [^,]*", 0x\)[0-9a-f]*/\1WIDE/; s/^\("8 .*0x\)[0-9a-f]*?/\1GONE?/; s/^0x[0-9a-f]*?/0xGONE?/' got
	diff want got
}

@test "arrays of texts are what the kernel is given" {
	cd "$dir"
	strace -o s.out -s 4096 -v -e trace=execve env -i A=1 'B=two words' "$(command -v ls)" -l '' 'a"b' /nowhere 2>/dev/null || true
	"$dt" record -l -o a.db env -i A=1 'B=two words' "$(command -v ls)" -l '' 'a"b' /nowhere 2>/dev/null || true
	want=$(sed -n '$!{s/^execve("\([^"]*\)", \(\[.*\]\), \[.*$/\2/p}' s.out | tail -1)
	[ -n "$want" ]
	"$dt" calls a.db | grep -F "execvp(file=\"$(command -v ls)\", argv=$want)"
	# more of them than are recorded, none, and one that is not there
	cat >many.c <<-'C'
		#include <errno.h>
		#include <spawn.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			static char *all[3001];
			char *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *none[] = {NULL}, *bad[] = {"x", gone, NULL};
			pid_t pid;
			for (int n = 1; n <= 3000; n = n < 60 ? n + 7 : n * 3) {
				for (int i = 0; i < n; i++)
					all[i] = "argument";
				all[n] = NULL;
				if (posix_spawn(&pid, "/bin/true", NULL, NULL, all, none) == 0)
					waitpid(pid, NULL, 0);
			}
			execv("/nowhere/1", bad);
			execv("/nowhere/2", (char **)gone);
			execv("/nowhere/3", none);
			return 0;
		}
	C
	gcc -O1 -w -o many many.c
	"$dt" record -l -o m.db ./many
	"$dt" calls m.db >calls
	for n in 1 8 15 22 29; do
		more=$((n > 23 ? n - 23 : 0))
		array=$(printf '"argument", %.0s' $(seq $((n - more))))
		grep -F "argv=[${array%, }$( ((more)) && echo ", ... $more more")], envp=[])" calls
	done
	grep -c 'argv=\["argument".*, \.\.\.\], envp' calls | grep -qx 1
	grep -E 'execv\(path="/nowhere/1", argv=\["x", 0x[0-9a-f]*\?\]\)' calls
	grep -E 'execv\(path="/nowhere/2", argv=0x[0-9a-f]*\?\)' calls
	grep -E 'execv\(path="/nowhere/3", argv=\[\]\)' calls
}

@test "options of sockets have the names that strace gives them, and their values" {
	cd "$dir"
	cat >names.c <<-'C'
		#include <sys/socket.h>
		int main(void)
		{
			int level[] = {0, 1, 6, 17, 41, 58, 99}, one = 1;
			for (int i = 0; i < 7; i++)
				for (int name = 0; name < 110; name++)
					setsockopt(-1, level[i], name, &one, 4);
			return 0;
		}
	C
	gcc -O1 -w -o names names.c
	strace -o n.strace -e trace=setsockopt ./names
	"$dt" record -l -o n.db ./names
	# "LEVEL NAME" of each; a number where there is no name
	sed -n 's: /\*[^*]*\*/::g; s/^setsockopt(-1, \([^,]*\), \([^,]*\), .*/\1 \2/p' n.strace | sed 's/_OLD\b//; s/IPV6_ADD_MEMBERSHIP/IPV6_JOIN_GROUP/; s/IPV6_DROP_MEMBERSHIP/IPV6_LEAVE_GROUP/' >want
	"$dt" calls n.db | sed -n 's/.*setsockopt(sockfd=-1, level=\([^,]*\), optname=\([^,]*\), .*/\1 \2/p' >got
	[ "$(wc -l <want)" = 770 ]
	[ "$(wc -l <got)" = 770 ]
	# a number where strace has a name, or none either, is no fault
	paste -d' ' want got | awk '$4 !~ /^[0-9]+$/ {names++; if ($2 != $4) {print "strace " $1 " " $2 ", devtrace " $3 " " $4; bad = 1}} END {print names " names"; exit bad || names < 150}' >differ || { head -20 differ; return 1; }
	cat >values.c <<-'C'
		#include <arpa/inet.h>
		#include <netinet/in.h>
		#include <netinet/tcp.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <sys/socket.h>
		#include <sys/time.h>
		int main(void)
		{
			int s = socket(AF_INET, SOCK_STREAM, 0), u = socket(AF_INET, SOCK_DGRAM, 0), six = socket(AF_INET6, SOCK_STREAM, 0), one = 1, v, sv[2];
			char ttl = 7, *end = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *last;
			struct linger l = {1, 5};
			struct timeval t = {3, 500};
			socklen_t n = sizeof(v);
			mprotect(end += 4096, 4096, PROT_NONE);
			memcpy(last = end - 4, &one, 4); /* nothing behind it is read */
			setsockopt(s, SOL_SOCKET, SO_REUSEADDR, last, 4);
			setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, 4);
			setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
			setsockopt(six, IPPROTO_IPV6, IPV6_V6ONLY, &one, 4);
			setsockopt(s, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
			setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
			setsockopt(u, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, 1);
			setsockopt(s, 99, SO_KEEPALIVE, &one, 4);
			setsockopt(-1, SOL_SOCKET, SO_KEEPALIVE, (void *)8, 4);
			getsockopt(s, SOL_SOCKET, SO_TYPE, &v, &n);
			n = sizeof(l), getsockopt(s, SOL_SOCKET, SO_LINGER, &l, &n);
			n = sizeof(v), getsockopt(-1, SOL_SOCKET, SO_TYPE, NULL, NULL);
			return 0;
		}
	C
	gcc -O1 -w -o values values.c
	"$dt" record -l -o v.db ./values
	"$dt" calls v.db | sed -n 's/.*[gs]etsockopt(sockfd=[0-9-]*, \(.*\)) = .*/\1/p' >got
	cat >want <<-'END'
		level=SOL_SOCKET, optname=SO_REUSEADDR, optval=[1], optlen=4
		level=SOL_TCP, optname=TCP_NODELAY, optval=[1], optlen=4
		level=SOL_TCP, optname=TCP_CONGESTION, optval="reno", optlen=4
		level=SOL_IPV6, optname=IPV6_V6ONLY, optval=[1], optlen=4
		level=SOL_SOCKET, optname=SO_LINGER, optval={l_onoff=1, l_linger=5}, optlen=8
		level=SOL_SOCKET, optname=SO_RCVTIMEO, optval={tv_sec=3, tv_usec=500}, optlen=16
		level=SOL_IP, optname=IP_MULTICAST_TTL, optval=[7], optlen=1
		level=99, optname=9, optval="\x01\x00\x00\x00", optlen=4
		level=SOL_SOCKET, optname=SO_KEEPALIVE, optval=0x8?, optlen=4
		level=SOL_SOCKET, optname=SO_TYPE, optval=[1], optlen=4
		level=SOL_SOCKET, optname=SO_LINGER, optval={l_onoff=1, l_linger=5}, optlen=8
		level=SOL_SOCKET, optname=SO_TYPE, optval=0x0, optlen=0x0
	END
	diff want got
	"$dt" check v.db >/dev/null
}

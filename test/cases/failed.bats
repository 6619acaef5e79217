#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Calls that failed: which, why, and where. What the program says of its calls is the oracle.
bats_require_minimum_version 1.5.0
load read-helper

setup_file() {
	dir=$BATS_FILE_TMPDIR
	cat >"$dir/p.c" <<-'C'
		#define _GNU_SOURCE
		#include <errno.h>
		#include <fcntl.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <string.h>
		__attribute__((noinline)) int fails(int n) { return n > 1 ? -1 : n; }
		__attribute__((noinline)) int outer(int n) { return fails(n) + 1; }
		static void say(const char *call, int e) { printf("%s = %d %s (%s)\n", call, e, strerrorname_np(e), strerror(e)); }
		int main(void)
		{
			static pthread_mutex_t m;
			int r = outer(1) + outer(2);

			pthread_mutex_lock(&m);
			say("pthread_mutex_trylock", pthread_mutex_trylock(&m));
			say("posix_fadvise", posix_fadvise(-1, 0, 0, POSIX_FADV_WILLNEED));
			say("pthread_mutex_trylock", pthread_mutex_trylock(&m));
			return r != 2;
		}
	C
	gcc -g -O1 -o "$dir/p" "$dir/p.c"
	cd "$dir"
	"${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}/devtrace" record -o t.db -F main -F outer -F fails -F 'libc.so.6:pthread_mutex_*lock' -F 'libc.so.6:posix_fadvise*' ./p >said
	# a function of the program's own has no prototype: a trace that says how it fails is made
	cp t.db own.db
	sqlite3 own.db "UPDATE function SET signature = 'n:i4@0;i4@0!-@3' WHERE name = 'fails'"
}

setup() {
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	PATH=$build:$build/test/tool:$PATH
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "calls --failed: a line for each call that failed, with the reason as the program has it" {
	devtrace calls --failed t.db >out
	sed -n 's/^ *[0-9.]* us  \([a-z_]*\)(.*) = /\1 = /p' out | diff - said
	! grep -q 'main\|mutex_lock' out || { cat out; false; }
	# the constant has the header's name
	grep -q 'posix_fadvise(fd=-1, offset=0, len=0, advise=POSIX_FADV_WILLNEED) = 9 EBADF' out
}

@test "calls --failed -B: with the calls that they were made in" {
	devtrace calls --failed -B own.db | sed 's/^ *[0-9.]* us/ us/; s/0x[0-9a-f]*\( <[^>]*>\)\?/P/g' >out
	cat >want <<-'TEXT'
		                main() {
		                  outer(n=2) {
		 us      fails(n=2) = -1
		 us    } = 0  /* outer */
		 us    pthread_mutex_trylock(mutex=P) = 16 EBUSY (Device or resource busy)
		 us    posix_fadvise(fd=-1, offset=0, len=0, advise=POSIX_FADV_WILLNEED) = 9 EBADF (Bad file descriptor)
		 us    pthread_mutex_trylock(mutex=P) = 16 EBUSY (Device or resource busy)
		 us  } = 0  /* main */
	TEXT
	grep -v '^#' out | diff - want
	run -2 devtrace calls -B own.db
	[ "${#lines[@]}" = 1 ]
	[[ $output == *--failed* ]]
}

@test "devtrace --failed PROG prints only those; record and attach --failed write only those" {
	devtrace --failed -F 'libc.so.6:pthread_mutex_*lock' ./p >out
	[ "$(grep -c ' us  ' out)" = 2 ]
	[ "$(grep -c 'pthread_mutex_trylock(.*) = 16 EBUSY' out)" = 2 ]
	devtrace record --failed -F 'libc.so.6:pthread_mutex_*lock' -o x.db ./p >said 2>err
	devtrace calls x.db 2>/dev/null >out
	[ "$(grep -c ' us  ' out)" = 2 ]
	[ "$(grep -c 'pthread_mutex_trylock(.*) = 16 EBUSY' out)" = 2 ]
	# the calls of libraries, where nothing is chosen: as devtrace --failed
	strip -o bare p
	devtrace record --failed -o x.db ./bare >said 2>err
	[ "$(devtrace calls x.db 2>/dev/null | grep -cE 'posix_fadvise(64)?\(.*EBADF|pthread_mutex_trylock\(.* = 16 EBUSY')" = 3 ]
	# beside other words both are meant
	devtrace record --failed --filter 'error=EBADF' -o x.db ./bare >said 2>err
	devtrace calls x.db >out 2>/dev/null
	[ "$(grep -c ' us  ' out)" = 1 ]
	grep -qE 'posix_fadvise(64)?\(.*EBADF' out
}

# programs that strace says a program could not execute: "PATH" ERROR
strace_failed() {
	strace -f -qq -e trace=execve -e status=failed "$@" 2>&1 >/dev/null | sed -n 's/^.*execve(\("[^"]*"\).* = -1 \(E[A-Z]*\) .*/\1 \2/p' | sort
}

# and devtrace's calls of execve that failed
devtrace_failed() {
	devtrace record "$@" >/dev/null 2>&1 || true
	devtrace check e.db >/dev/null
	devtrace calls --failed e.db | sed -n 's/^.* us  execve(path=\("[^"]*"\), .*) = -1 \(E[A-Z]*\) .*/\1 \2/p' | sort
}

@test "an execve that fails is a call that failed, as strace has it" {
	local words
	# the beginning of what dash prints is its own: that execve is the cause
	devtrace --failed dash -c 'exec /etc/passwd' >out 2>err || true
	grep -q 'execve(path="/etc/passwd", .* = -1 EACCES (Permission denied)' out || { cat out err; false; }
	for words in 'exec /etc/passwd' 'exec /nonexistent/program' '/etc/passwd; /etc/hostname; exec /dev/null'; do
		strace_failed dash -c "$words" >want
		devtrace_failed -l -f -o e.db dash -c "$words" >got
		[ -s want ]
		diff want got
	done
	# of libc's functions whoever calls them, and none that are not chosen
	devtrace_failed -F 'libc.so.6:execve' -o e.db dash -c 'exec /etc/passwd' >got
	[ "$(cat got)" = '"/etc/passwd" EACCES' ]
	devtrace_failed -F 'libc.so.6:getpid' -o e.db dash -c 'exec /etc/passwd' >got
	[ ! -s got ]
	devtrace_failed -l -N execve -o e.db dash -c 'exec /etc/passwd' >got
	[ ! -s got ]
	# one that succeeds does not return; its path is known all the same
	devtrace record -l -f -o e.db dash -c 'exec /bin/true'
	devtrace calls e.db | grep -q 'execve(path="/bin/true", .*the process executed another program'
}

@test "an execve that fails in threads, in children of vfork and fork, and with paths that are none" {
	cat >x.c <<-'C'
		#define _GNU_SOURCE
		#include <errno.h>
		#include <pthread.h>
		#include <signal.h>
		#include <spawn.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <sys/wait.h>
		#include <unistd.h>
		extern char **environ;
		static char *argv[] = {"x", NULL};
		static void *thread(void *path)
		{
			for (int i = 0; i < 20; i++)
				if (execve(path, argv, environ) != -1 || errno != ENOENT)
					_exit(7);
			return NULL;
		}
		static volatile int ticks;
		static void tick(int sig) { ticks++; }
		int main(void)
		{
			char longest[300], *page = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *edge = page + 4096 - 5;
			pthread_t t[3];
			int status;

			memset(longest, 'l', 299);
			longest[299] = 0;
			munmap(page + 4096, 4096);
			memcpy(edge, "/none", 5); /* it goes on where nothing is mapped */
			for (int i = 0; i < 3; i++)
				pthread_create(&t[i], 0, thread, "/nothing");
			for (int i = 0; i < 3; i++)
				pthread_join(t[i], 0);
			execve(longest, argv, environ);
			execve((char *)8, argv, environ);
			execve(edge, argv, environ);
			execve(NULL, argv, environ);
			for (int i = 0; i < 2; i++) {
				pid_t child = i ? vfork() : fork();
				if (!child) {
					execve("/in/a/child", argv, environ);
					_exit(errno == ENOENT ? 3 : 4);
				}
				if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
					return 8;
			}
			signal(SIGPROF, tick);
			ualarm(0, 0);
			if (posix_spawn(&(pid_t){0}, "/spawned/not", NULL, NULL, argv, environ) != ENOENT)
				return 9;
			execve("/bin/true", argv, environ);
			return 10;
		}
	C
	gcc -w -O1 -pthread -o x x.c
	for more in '' 'GLIBC_TUNABLES=glibc.pthread.rseq=0 DEVTRACE_NO_RSEQ=1'; do
		# shellcheck disable=SC2086 # several words
		env $more devtrace record -l -o e.db ./x
		devtrace check e.db
		devtrace sql -n -c e.db "SELECT text, errno FROM calls WHERE function = 'execve' AND failed" | tr -d '\r' >got
		[ "$(grep -c 'path=""/nothing"".*,ENOENT$' got)" = 60 ] || { cat got; false; }
		[ "$(grep -c 'path=""/in/a/child"".*,ENOENT$' got)" = 2 ] || { cat got; false; }
		[ "$(grep -c 'ENAMETOOLONG$' got)" = 1 ]
		[ "$(grep -c 'EFAULT$' got)" = 3 ] || { cat got; false; }
		[ "$(devtrace sql -n -c e.db "SELECT count(*) FROM calls WHERE function = 'execve'" | tr -d '\r')" = 67 ]
	done
}

@test "report --failed: the reasons, by their numbers" {
	devtrace report --failed -s name t.db >out
	grep -q 'posix_fadvise[0-9]*: 1 EBADF$' out || { cat out; false; }
	grep -q 'pthread_mutex_trylock: 2 EBUSY$' out || { cat out; false; }
	! grep -q 'main\|outer' out || { cat out; false; }
	devtrace report --failed own.db | grep -q 'fails: 1 for a reason that is not known$'
	devtrace report --failed --json own.db >json
	python3 - <<-'PY'
		import json
		rows = {r['function']: r for r in map(json.loads, open('json')) if 'function' in r}
		assert rows['pthread_mutex_trylock']['errors'] == {'EBUSY': 2}, rows
		assert rows['fails']['errors'] == {'': 1}, rows
		assert rows['fails']['calls'] == 1, rows
	PY
}

@test "sql: columns failed and errno" {
	devtrace sql -n own.db "SELECT function, failed, errno FROM calls WHERE function NOT LIKE '%unlock' AND NOT (function LIKE '%_lock' AND depth = 0) ORDER BY begin" >out
	sed -i 's/  */ /g; s/ $//' out
	grep -q '^fails 0$' out || { cat out; false; }
	grep -q '^fails 1$' out || { cat out; false; }
	[ "$(grep -c '^pthread_mutex_trylock 1 EBUSY$' out)" = 2 ]
	grep -q '^main$' out
	[ "$(devtrace sql -n own.db "SELECT count(*) FROM calls WHERE failed")" = 4 ]
}

@test "a signature of a later version, or a damaged one: nothing is known of failures" {
	for s in '!q' '!' '!-@9' '!-@3x' '?1&2'; do
		cp t.db bad.db
		sqlite3 bad.db "UPDATE function SET signature = 'n:i4@0;i4@0$s' WHERE name = 'fails'"
		devtrace calls bad.db >out
		grep -q 'fails(n=1)' out
		[ "$(devtrace sql -n bad.db "SELECT count(*) FROM calls WHERE failed AND function = 'fails'")" = 0 ]
	done
}

# the constants of each call and its result: of strace's lines, or of devtrace's. What strace knows of the kernel's calls
# only, or takes apart further, is left out.
constants() {
	sed -n 's/^\( *[0-9.]* us  \)\?\(open\|socket\|connect\|epoll_ctl\|setrlimit\|sendto\|bind\|unlink\)\(at\)\?(/\2(/p; s/^prlimit64(0, /setrlimit(/p' "$1" |
		sed 's/"[^"]*"\(\.\.\.\)\?//g; s/AT_FDCWD, //; s/IPPROTO_IP/0/; s/EPOLLIN//; s/inet_pton(AF_INET6//; s/NULL//g; s/ ([A-Z][^()]*)$//; s/ E[A-Z0-9]*$//' |
		sed 's/^\([a-z_]*\).* = \(-\?[0-9]*\)$/\1 \2 &/' | while read -r name result rest; do
		echo "$name $result" $(grep -oE '\b[A-Z][A-Z0-9_|]+|\b0[0-7]{3}\b' <<<"$rest")
	done
}

@test "constants, modes and addresses have the names that strace gives them" {
	cat >s.c <<-'C'
		#define _GNU_SOURCE
		#include <arpa/inet.h>
		#include <netinet/in.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/resource.h>
		#include <sys/select.h>
		#include <sys/socket.h>
		#include <sys/un.h>
		#include <sys/epoll.h>
		#include <time.h>
		#include <unistd.h>
		#include <fcntl.h>
		int main(void)
		{
			int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), u = socket(AF_UNIX, SOCK_DGRAM, 0), d = socket(AF_INET, SOCK_DGRAM, 0), six = socket(AF_INET6, SOCK_DGRAM, 0);
			struct sockaddr_in a = {AF_INET, htons(1), {htonl(0x7f000001)}};
			struct sockaddr_un b = {AF_UNIX, "/nonexistent-socket"};
			struct sockaddr_in6 c = {AF_INET6, htons(9), 0, IN6ADDR_LOOPBACK_INIT, 0};
			struct epoll_event e = {EPOLLIN, {.fd = 7}};
			connect(s, (void *)&a, sizeof(a));
			connect(u, (void *)&b, sizeof(b));
			strcpy(b.sun_path, "/short");
			connect(u, (void *)&b, sizeof(b));
			connect(six, (void *)&c, sizeof(c));
			sendto(d, "hi", 2, MSG_DONTWAIT, (void *)&a, sizeof(a));
			nanosleep(&(struct timespec){0, 5000}, NULL);
			select(0, NULL, NULL, NULL, &(struct timeval){0, 10});
			epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, s, &e);
			setrlimit(RLIMIT_NOFILE, &(struct rlimit){100, 200});
			setrlimit(RLIMIT_NOFILE, (void *)8);
			setrlimit(RLIMIT_NOFILE, NULL);
			bind(-1, NULL, 0);
			open("/tmp/x-decode", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
			unlink("/tmp/x-decode");
			return 0;
		}
	C
	gcc -o s s.c
	strace -e trace=openat,open,socket,connect,epoll_ctl,prlimit64,setrlimit,sendto,bind,unlink ./s 2>strace
	sed -i '0,/^socket/{/^socket/!d}' strace # what the loader does
	devtrace $(printf -- '-A libc.so.6:%s ' open socket connect epoll_ctl setrlimit sendto bind unlink) ./s >calls
	constants strace >want
	constants calls >got
	[ "$(wc -l <want)" = 16 ] || { cat want; false; }
	diff want got
	# what pointers lead to
	grep -q 'connect(sockfd=[0-9]*, addr={sa_family=AF_INET, sin_port=1, sin_addr=127.0.0.1}, addrlen=16) = -1' calls
	grep -q 'addr={sa_family=AF_UNIX, sun_path="/short"}, addrlen=110' calls
	grep -q 'addr={sa_family=AF_UNIX, sun_path="/nonexistent-socket"}, addrlen=110' calls
	grep -q 'addr={sa_family=AF_INET6, sin6_port=9, sin6_addr=::1}, addrlen=28' calls
	grep -q 'dest_addr={sa_family=AF_INET, sin_port=1, sin_addr=127.0.0.1}, addrlen=16' calls
	grep -q 'rlim={rlim_cur=100, rlim_max=200}) = 0' calls
	grep -q 'rlim=0x8?) = -1' calls
	grep -q 'rlim=NULL) = 0' calls
}

@test "buffers are shown as long as they are, as strace shows them" {
	cat >w.c <<-'C'
		#include <string.h>
		#include <unistd.h>
		#include <sys/mman.h>
		int main(void)
		{
			char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			char big[256];

			memset(big, 'x', sizeof(big));
			memcpy(page + 4093, "abc", 3);
			write(2, "hello, world", 5);
			write(2, page + 4093, 3); /* nothing is mapped behind it */
			write(2, "one\ntwo\n", 8);
			write(2, big, 255);
			write(2, (void *)8, 0);
			return 0;
		}
	C
	gcc -w -o w w.c
	strace -s 300 -o strace -e trace=write ./w 2>/dev/null
	sed -n 's/^write(\([0-9]*\), \(.*\)) *= \([0-9]*\)$/\1, \2 = \3/p' strace >want
	devtrace record -o w.db -A 'libc.so.6:write' ./w 2>/dev/null
	devtrace calls w.db | sed -n 's/^.* us  write(fd=\(.*\), buf=\(.*\), count=\(.*\)) = \([0-9]*\)$/\1, \2, \3 = \4/p' >got
	[ "$(wc -l <want)" = 5 ]
	diff want got
	devtrace sql -n w.db "SELECT text FROM calls" | grep -c 'buf="hello", count=5' | grep -qx 1
}

@test "failures: a library with sleds, which record no errno, gives no reason" {
	mkdir sleds
	cat >sleds/lib.c <<-'C'
		#include <errno.h>
		#include <stddef.h>
		void *gzopen(const char *path, const char *mode)
		{
			/* what a probe's exit would have errno in place of */
			__asm__ volatile("movq %0, %%xmm0; punpcklqdq %%xmm0, %%xmm0" :: "r"(5L) : "xmm0");
			errno = ENOENT;
			return *path == 'n' ? NULL : (void *)mode;
		}
	C
	cat >sleds/p.c <<-'C'
		void *gzopen(const char *path, const char *mode);
		int main(void) { return gzopen("none", "r") || !gzopen("file", "w"); }
	C
	gcc -O1 -B"$build/lib" -shared -fPIC -Wl,-soname,libz.so.1 -o sleds/libz.so.1 sleds/lib.c
	gcc -O1 -o sleds/p sleds/p.c sleds/libz.so.1 -Wl,-rpath,"$PWD/sleds"
	devtrace record -o sleds.db -F 'libz.so.1:gzopen' sleds/p
	devtrace calls sleds.db >out
	[ "$(grep -c 'gzopen(' out)" = 2 ] || { cat out; false; }
	devtrace calls --failed sleds.db >out
	[ "$(grep -c 'gzopen(' out)" = 1 ]
	grep -qE 'gzopen\(.*path="?.* = 0x0$|gzopen\(.*\) = (NULL|0x0)$' out || { cat out; false; }
	devtrace report --failed sleds.db >out
	grep -q 'gzopen: 1 for a reason that is not known' out || { cat out; false; }
}

@test "what is not certainly a failure is not told as one: the program says what its calls mean" {
	cat >q.c <<-'C'
		#define _GNU_SOURCE
		#include <arpa/inet.h>
		#include <errno.h>
		#include <fcntl.h>
		#include <ftw.h>
		#include <pwd.h>
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/ipc.h>
		#include <sys/ptrace.h>
		#include <sys/stat.h>
		#include <sys/wait.h>
		#include <threads.h>
		#include <time.h>
		#include <unistd.h>
		static long minus = -1;
		static int stop(const char *path, const struct stat *s, int type) { return -1; }
		static void wake(int sig) { }
		/* says the calls that fail; before each, errno is that of an earlier one */
		#define IS(name, good, call) do { errno = EIO; (void)(call); if (!(good)) puts(name); } while (0)
		int main(void)
		{
			struct tm tm = {.tm_year = 69, .tm_mon = 11, .tm_mday = 31, .tm_hour = 23, .tm_min = 59, .tm_sec = 59}, again = tm;
			char text[4096];
			struct passwd p, *found;
			mtx_t m;
			int pipes[2], child = fork();

			if (!child) {
				ptrace(PTRACE_TRACEME, 0, 0, 0);
				raise(SIGSTOP);
				_exit(0);
			}
			setenv("TZ", "UTC", 1);
			pipe(pipes);
			signal(SIGALRM, wake);
			waitpid(child, NULL, 0);
			IS("mktime", 1, mktime(&tm));
			IS("timegm", 1, timegm(&again));
			IS("ftok", 1, ftok("/", 0xff));
			IS("ftok", 0, ftok("/nonexistent", 1));
			IS("isatty", 1, isatty(pipes[0]));
			IS("inet_addr", 1, inet_addr("255.255.255.255"));
			IS("inet_aton", 1, inet_aton("no address", (void *)text));
			IS("sysconf", 1, sysconf(_SC_AIO_MAX));
			IS("pathconf", 1, pathconf("/", _PC_SYMLINK_MAX));
			IS("fcntl", 1, fcntl(pipes[0], F_SETOWN, -child));
			IS("fcntl", 1, fcntl(pipes[0], F_GETOWN));
			IS("fcntl", 0, fcntl(-1, F_GETOWN));
			IS("getpwnam", 1, getpwnam("no such user"));
			IS("getpwuid", 1, getpwuid(0x7fff1234));
			IS("getpwnam_r", 0, getpwnam_r("root", &p, text, 1, &found));
			setpwent();
			while (getpwent_r(&p, text, sizeof(text), &found) == 0)
				;
			IS("ftw", 1, ftw("/proc/self/fd", stop, 3));
			IS("ptrace", 1, ptrace(PTRACE_PEEKDATA, child, &minus, 0));
			IS("ptrace", 0, ptrace(PTRACE_PEEKDATA, child, (void *)8, 0));
			IS("ptrace", 0, ptrace(PTRACE_CONT, 0x7ffffff0, 0, 0));
			mtx_init(&m, mtx_timed);
			mtx_lock(&m);
			IS("mtx_trylock", 1, mtx_trylock(&m));
			IS("mtx_timedlock", 1, mtx_timedlock(&m, &(struct timespec){1, 0}));
			alarm(1);
			IS("pause", 1, pause());
			kill(child, SIGKILL);
			return 0;
		}
	C
	gcc -w -O1 -o q q.c
	fs=(mktime timegm ftok isatty inet_addr inet_aton sysconf pathconf fcntl getpwnam getpwuid getpwnam_r getpwent_r ftw ptrace mtx_trylock mtx_timedlock pause)
	devtrace record -o q.db "${fs[@]/#/-Flibc.so.6:}" ./q >said
	devtrace sql -n q.db "SELECT function FROM calls WHERE failed ORDER BY begin" >got
	[ "$(devtrace sql -n q.db "SELECT count(DISTINCT function) FROM calls")" -ge "${#fs[@]}" ]
	diff said <(sed 's/ *$//' got)
}

@test "zlib: more room is no failure, damage is" {
	cat >z.c <<-'C'
		#include <stdio.h>
		#include <string.h>
		#include <zlib.h>
		int main(void)
		{
			unsigned char in[1000] = "", out[2000], back[1000];
			unsigned long n = sizeof(out);
			z_stream z = {0};
			int r;

			compress(out, &n, in, sizeof(in));
			inflateInit(&z);
			z.next_in = out;
			z.avail_in = n;
			z.next_out = back;
			z.avail_out = sizeof(back);
			do
				r = inflate(&z, Z_FINISH);
			while (r == Z_OK);
			inflateMark(&z);
			r = inflate(&z, Z_FINISH); /* Z_STREAM_END once more */
			inflateReset(&z);
			z.next_in = out;
			z.avail_in = 0;
			printf("inflate %d\n", inflate(&z, Z_NO_FLUSH)); /* Z_BUF_ERROR */
			out[5] ^= 0xff;
			z.avail_in = n;
			z.next_out = back;
			z.avail_out = sizeof(back);
			printf("inflate %d\n", inflate(&z, Z_FINISH)); /* Z_DATA_ERROR */
			n = 1;
			printf("compress %d\n", compress(out, &n, in, sizeof(in))); /* Z_BUF_ERROR: it has not fit */
			inflateEnd(&z);
			return 0;
		}
	C
	gcc -w -O1 -o z z.c -lz || skip "zlib1g-dev is not there"
	devtrace record -o z.db -F 'libz.so.1:inflate*' -F 'libz.so.1:compress*' ./z >said
	[ "$(cat said)" = $'inflate -5\ninflate -3\ncompress -5' ]
	devtrace calls -B --failed z.db >all
	[ "$(devtrace sql -n z.db "SELECT group_concat(function || ' ' || result) FROM (SELECT * FROM calls WHERE failed AND depth = 0 ORDER BY begin)" | sed 's/ *$//')" = 'inflate Z_DATA_ERROR,compress Z_BUF_ERROR' ] || { cat all; false; }
	devtrace calls z.db | grep -q 'inflateMark(.*) = -\?[0-9]\+$'
}

@test "an address is as long as the program says, as strace shows it" {
	cat >a.c <<-'C'
		#include <string.h>
		#include <sys/socket.h>
		#include <sys/un.h>
		#include <netinet/in.h>
		#include <linux/netlink.h>
		static void call(const void *address, unsigned n)
		{
			char behind[200];

			memset(behind, 'x', sizeof(behind)); /* what is behind the address is no part of it */
			memcpy(behind, address, n);
			connect(-1, (void *)behind, n);
		}
		int main(void)
		{
			struct sockaddr_un u = {AF_UNIX, "/tmp/s"}, a = {AF_UNIX, "\0a\0b\0\0c"}, bad = {AF_UNIX, "\33[2J\"\\\377"};
			struct sockaddr_in in = {AF_INET, htons(7), {htonl(0x7f000001)}};
			struct sockaddr_in6 six = {AF_INET6, htons(9), 0, IN6ADDR_LOOPBACK_INIT, 0};
			struct sockaddr_nl nl = {AF_NETLINK, 0, 5, 6};

			call(&u, 2 + 6); /* without a NUL */
			call(&u, 2 + 3);
			call(&u, 2);
			call(&u, 2 + 20);
			call(&a, 2 + 7);
			call(&a, 2 + 1);
			call(&a, 2 + 4);
			call(&bad, 2 + 9);
			call(&in, 16);
			call(&in, 8);
			call(&in, 2);
			call(&six, 16);
			call(&nl, 12);
			call(&nl, 11);
			return 0;
		}
	C
	gcc -w -o a a.c
	strace -o strace -e trace=connect ./a
	devtrace record -o a.db -A 'libc.so.6:connect' ./a
	devtrace calls a.db >calls
	sed -n 's/^connect(-1, {\(.*\)}, \([0-9]*\)) *= .*/\1 \2/p' strace >want
	sed -n 's/^.*connect(sockfd=-1, addr={\(.*\)}, addrlen=\([0-9]*\)) = .*/\1 \2/p' calls >got
	[ "$(wc -l <want)" = 14 ]
	# both as bytes, and the names of members by which strace differs taken off
	plain() {
		python3 - "$1" <<-'PY'
			import re, sys
			for line in open(sys.argv[1]):
			    line = re.sub(r'htons\((\d+)\)|inet_addr\("([\d.]+)"\)', lambda m: m[1] or m[2], line)
			    line = line.replace('nl_groups=0x000006', 'nl_groups=0x6')
			    print(re.sub(r'\\(x[0-9a-f]{2}|[0-7]{1,3}|[a-z"\\])', lambda m: repr(m[0].encode().decode('unicode_escape')), line), end='')
		PY
	}
	diff <(plain want) <(plain got)
	devtrace sql -n a.db "SELECT text FROM calls" | grep -q 'sun_path="/tmp/s"}, addrlen=8'
	! grep -q $'\33' calls
}

@test "libm's functions are not asked for errno, whatever its file is called" {
	echo 'long twice(long x) { return 2 * x; }' >twice.c
	cat >m.c <<-'C'
		#include <errno.h>
		long twice(long x);
		int main(void) { errno = 5; return twice(21) != 42; }
	C
	# glibc before 2.34 has libm-2.31.so behind libm.so.6
	for name in libm.so.7 libm-2.31.so libm-2.36.so; do
		gcc -O1 -shared -fPIC -Wl,-soname,$name -o $name twice.c
		gcc -O1 -o m m.c ./$name -Wl,-rpath,"$PWD"
		devtrace record -o m.db -F "$name:twice" ./m
		devtrace cat -l m.db >records
		grep -q '^kind=X .* v0=0x2a' records || { cat records; false; }
		! grep -q '^kind=X .* v3=' records || { cat records; false; }
	done
}

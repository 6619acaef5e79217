# SPDX-License-Identifier: MIT
# Texts that arguments point to: which functions are sure to read them, so that the hook may read them
# directly; that a program whose texts can not be read notices nothing; and that they are right at the
# edges of pages. What is right: what the library does alone, and what the programs count and print.
load one-session

setup_file() {
	export dir
	dir=$(mktemp -d)
	gcc -O1 -g -fno-builtin -pthread -o "$dir/faults" "$root/test/programs/faults.c"
}

teardown_file() {
	rm -rf "$dir"
}

@test "the library's functions read what the table says, at once, whatever the processor" {
	cd "$dir"
	python3 "$root/test/cases/reads.py" "$root/symbols/prototypes/reads.txt" >reads.c
	gcc -O0 -fno-builtin -w -o reads reads.c -lz
	for without in '' -AVX2 -AVX2,-ERMS,-AVX_Fast_Unaligned_Load -AVX2,-SSE4_1,-SSE4_2,-SSSE3,-Fast_Unaligned_Copy; do
		GLIBC_TUNABLES=glibc.cpu.hwcaps=$without ./reads >out || { echo "without '$without':"; sort -u out | head -30; return 1; }
		grep -q '^done$' out
	done
}

# faults SEED ROUNDS THREADS OPTION...: the same with and without devtrace
faults() {
	local what=("${@:1:3}")
	shift 3
	./faults "${what[@]}" >alone
	timeout 60 "$dt" record -o f.db "$@" ./faults "${what[@]}" >traced
	diff alone traced || { echo "faults ${what[*]}, devtrace record $*"; return 1; }
	"$dt" check f.db >/dev/null
	faults=$(awk '{n += $3} END {print n}' alone)
	[ "$faults" -gt $((what[1] / 4)) ] || return 1
}

@test "a program that jumps out of faults in its texts does so all the same" {
	mkdir -p "$dir/f$BATS_TEST_NUMBER"
	cd "$dir"
	seed=$((RANDOM * 32768 + RANDOM))
	echo "seed $seed"
	faults "$seed" 10000 1 -l
	faults $((seed + 1)) 5000 3 -l
	faults $((seed + 2)) 2000 4 -l -b 64K
	faults $((seed + 3)) 5000 2 -A 'libc.so.6:str*' -A 'libc.so.6:mem*' -A 'libc.so.6:fputs' -N 'libc.so.6:*_l' -N 'libc.so.6:memset'
	GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-ERMS faults $((seed + 4)) 5000 2 -l
}

@test "a text that is gone is a fault of the program's own, where it ends by it too" {
	cd "$dir"
	cat >gone.c <<-'C'
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <ucontext.h>
		#include <unistd.h>
		static void on_fault(int s, siginfo_t *i, void *c)
		{
			/* a page that is there now: the call goes on as if nothing had been */
			mprotect((void *)((unsigned long)i->si_addr & -4096), 4096, PROT_READ | PROT_WRITE);
			write(1, "mended\n", 7);
		}
		int main(int argc, char **argv)
		{
			char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			strcpy(p + 4000, "mended in the middle");
			printf("%zu\n", strlen(p + 4000));
			fflush(stdout);
			mprotect(p, 4096, PROT_NONE);
			if (argc == 1)
				signal(SIGSEGV, (void *)on_fault), sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, NULL);
			if (argc == 3)
				munmap(p, 4096);
			printf("%zu\n", strlen(p + 4000));
			return 0;
		}
	C
	gcc -O1 -fno-builtin -w -o gone gone.c
	for args in '' 1 '1 2'; do
		alone=0
		./gone $args >alone || alone=$?
		status=0
		"$dt" record -l -o g.db ./gone $args >traced 2>err || status=$?
		[ "$status" = "$alone" ] || { echo "status $status, alone $alone"; cat err; return 1; }
		cmp alone traced
	done
	# of NULL and what was never there, the function itself is where the program ends
	cat >null.c <<-'C'
		#include <stdint.h>
		#include <string.h>
		int main(int argc, char **argv) { return (int)strlen((char *)(argc > 1 ? 0x7ffff000123 : 0)); }
	C
	gcc -O0 -fno-builtin -w -o null null.c
	for args in '' 1; do
		gdb -q -batch -ex run -ex 'info symbol $rip' --args ./null $args 2>&1 | grep -o 'strlen[a-z0-9_]*' | tail -1 >alone
		[ -s alone ]
		status=0
		"$dt" record -l -o g.db ./null $args 2>/dev/null || status=$?
		[ "$status" = 139 ]
		"$dt" calls g.db | grep -q 'strlen(s=\(NULL\|0x7ffff000123?\))' || { "$dt" calls g.db; return 1; }
	done
}

@test "texts at the edges of pages are what the program has there" {
	cd "$dir"
	cat >edges.c <<-'C'
		#include <stdio.h>
		#include <string.h>
		#include <sys/mman.h>
		static char kept[256];
		int main(void)
		{
			/* two pages, then nothing */
			char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *all = kept;
			mprotect(p + 8192, 4096, PROT_NONE);
			for (int i = 0; i < 8192; i++)
				p[i] = 'a' + i % 23;
			for (int i = 0; i < 100; i++)
				all[i] = 'A' + i % 26;
			for (int edge = 4096; edge <= 8192; edge += 4096)
				for (int before = 1; before < 70; before++)
					for (int n = 0; n < 100; n += 1 + n % 3) {
						char *s = p + edge - before, had = s[n], e[200];
						if (s + n >= p + 8192)
							continue;
						s[n] = '\0';
						printf("strlen(s=\"%s\") = %zu\n", s, strlen(s));
						s[n] = had;
						if (before >= n || edge < 8192) { /* exactly n bytes, no NUL */
							int c = strncmp(s, all, n);
							printf("strncmp(s1=\"%.*s\", s2=\"%.*s\", n=%d) = %d\n", n, s, n, all, n, c);
							if (n) {
								void *to = memcpy(e, s, n);
								printf("memcpy(dest=%p, src=\"%.*s\", n=%d) = %p\n", e, n, s, n, to);
							}
						}
						if (n % 4 == 0) { /* a text compared with itself */
							int c = strncmp(s, s, n);
							printf("strncmp(s1=\"%.*s\", s2=\"%.*s\", n=%d) = %d\n", n, s, n, s, n, c);
							s[n] = '\0';
							c = strcmp(s, s);
							printf("strcmp(s1=\"%s\", s2=\"%s\") = %d\n", s, s, c);
							s[n] = had;
							c = n ? memcmp(s, s, n) : 0;
							if (n)
								printf("memcmp(s1=\"%.*s\", s2=\"%.*s\", n=%d) = %d\n", n, s, n, s, n, c);
						}
					}
			return 0;
		}
	C
	gcc -O1 -fno-builtin -w -o edges edges.c
	setarch -R "$dt" record -l -o e.db ./edges >said
	"$dt" calls e.db | sed -n 's/^ *[0-9.]* us *\(\(strlen\|strn*cmp\|memcmp\|memcpy\)(.*\)$/\1/p' >calls
	[ "$(wc -l <said)" -gt 10000 ]
	grep -q '^strcmp' said
	diff said calls | head -20
	cmp said calls
}

@test "a program that has alignment checked has texts at any address" {
	cd "$dir"
	cat >checked.c <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		static char text[] = "\0a000000000000012345678901234567890123456789";
		static int (*volatile number)(const char *) = atoi;
		int main(void)
		{
			unsigned long flags = 0;
			long sum = 0;
			for (int i = 0; i < 40; i++) {
				unsigned long r = 0;
				/* with the flag AC: what is not aligned must not be read as a word */
				__asm__ volatile("pushfq\n\torl $0x40000, (%%rsp)\n\tpopfq\n\tcall *%[f]\n\tpushfq\n\tpop %[flags]\n\t"
						 "pushfq\n\tandl $~0x40000, (%%rsp)\n\tpopfq"
						 : "=a"(r), [flags] "=r"(flags) : "D"(text + 1 + i % 8), [f] "r"(number)
						 : "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
				sum += (int)r + (long)(flags >> 18 & 1);
			}
			printf("%ld\n", sum);
			return 0;
		}
	C
	gcc -O1 -fno-builtin -mno-red-zone -Wl,-z,now -w -o checked checked.c
	./checked >alone
	"$dt" record -l -o c.db ./checked >traced
	cmp alone traced
	[ "$("$dt" calls c.db | grep -c 'atoi(nptr="a*00*123456789[0-9]*")')" = 40 ]
}

@test "buffers are recorded with all their bytes, NULs too, and no more than they have" {
	cd "$dir"
	cat >buffers.c <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static void quoted(const unsigned char *b, size_t n)
		{
			size_t most = n < 256 ? n : 256;
			putchar('"');
			for (size_t i = 0; i < most; i++)
				if (b[i] >= ' ' && b[i] < 127 && b[i] != '"' && b[i] != '\\\\')
					putchar(b[i]);
				else
					printf(b[i] == '\\n' ? "\\\\n" : b[i] >= ' ' && b[i] < 127 ? "\\\\%c" : "\\\\x%02x", b[i]);
			printf(n > most ? "\"..." : "\"");
		}
		int main(void)
		{
			unsigned char *end = (unsigned char *)mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 8192;
			unsigned char to[1000], *b;
			int null = open("/dev/null", 1);
			mprotect(end, 4096, PROT_NONE);
			for (size_t n = 0; n < 600; n += 1 + n % 7) {
				for (int where = 0; where < 3; where++) {
					b = where == 0 ? end - n : where == 1 ? end - 4096 - n / 2 : end - 8192;
					for (size_t i = 0; i < n; i++)
						b[i] = rand() % 3 ? rand() % 128 : 0;
					long r = write(null, b, n);
					void *m = memcpy(to, b, n);
					printf("write(fd=%d, buf=", null), quoted(b, n), printf(", count=%zu) = %ld\n", n, r);
					printf("memcpy(dest=%p, src=", to), quoted(b, n), printf(", n=%zu) = %p\n", n, m);
				}
			}
			return 0;
		}
	C
	sed -i 's/\\\\/\\/g' buffers.c
	gcc -O0 -fno-builtin -w -include fcntl.h -o buffers buffers.c
	setarch -R "$dt" record -l -o b.db ./buffers >said
	"$dt" calls b.db | sed -n 's/^ *[0-9.]* us *\(\(write\|memcpy\)(.*\)$/\1/p' | grep -v 'write(fd=1' >calls
	[ "$(wc -l <said)" -gt 500 ]
	diff said calls | head -20
	cmp said calls
	"$dt" sql -n b.db "SELECT text FROM calls WHERE function IN ('write', 'memcpy') AND arg0 <> 1 ORDER BY begin" | cmp - said
	[ "$("$dt" sql -n b.db "SELECT count(*) FROM calls WHERE function = 'write' AND arguments LIKE '%\\u0000%'")" -gt 100 ]
	"$dt" check b.db >/dev/null
	"$dt" cat -k b.db >/dev/null
	"$dt" export --perfetto -o b.perfetto b.db >/dev/null || "$dt" export --perfetto b.db >/dev/null
}

@test "what functions fill in is what the program finds there" {
	cd "$dir"
	cat >filled.c <<-'C'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <poll.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/random.h>
		#include <sys/resource.h>
		#include <sys/socket.h>
		#include <sys/stat.h>
		#include <time.h>
		#include <unistd.h>
		static char b[600];
		#define REST "st_size=%ld, st_uid=%u, st_nlink=%lu, st_gid=%u, st_dev=%lu, st_ino=%lu, st_blocks=%ld, st_mtime=%ld"
		#define REST_OF(s) (long)s.st_size, s.st_uid, (long)s.st_nlink, s.st_gid, (long)s.st_dev, (long)s.st_ino, (long)s.st_blocks, (long)s.st_mtime
		/* lines as devtrace prints them; the mode by its number */
		int main(void)
		{
			FILE *say = stderr, *in = fopen("filled.c", "r");
			int fd = open("filled.c", O_RDONLY), p[2], sv[2];
			struct stat st;
			struct timespec t;
			struct rlimit limit;
			long n = read(fd, b, 30);
			fprintf(say, "read(fd=%d, buf=\"%s\", count=30) = %ld\n", fd, "#define _GNU_SOURCE\\n#include <", n);
			n = read(-1, b, 30);
			fprintf(say, "read(fd=-1, buf=%p <b>, count=30) = -1 EBADF (Bad file descriptor)\n", b);
			fstat(fd, &st);
			fprintf(say, "fstat(fd=%d, statbuf={st_mode=S_IFREG|S_IRUSR|S_IWUSR, " REST "}) = 0\n", fd, REST_OF(st));
			stat("/", &st);
			fprintf(say, "stat(path=\"/\", statbuf={st_mode=S_IFDIR|S_IRUSR|S_IWUSR|S_IXUSR|S_IRGRP|S_IXGRP|S_IROTH|S_IXOTH, " REST "}) = 0\n", REST_OF(st));
			pipe(p);
			fprintf(say, "pipe(pipefd={%d, %d}) = 0\n", p[0], p[1]);
			write(p[1], "a\0b\0", 4);
			struct pollfd f = {p[0], POLLIN | POLLPRI};
			n = poll(&f, 1, 0);
			fprintf(say, "poll(fds=%p, nfds=1, timeout=0, fds[0]={fd=%d, events=POLLIN|POLLPRI, revents=POLLIN}) = %ld\n", &f, p[0], n);
			n = read(p[0], b, 600);
			fprintf(say, "read(fd=%d, buf=\"a\\x00b\\x00\", count=600) = %ld\n", p[0], n);
			clock_gettime(CLOCK_REALTIME, &t);
			fprintf(say, "clock_gettime(clockid=CLOCK_REALTIME, tp={tv_sec=%ld, tv_nsec=%ld}) = 0\n", (long)t.tv_sec, t.tv_nsec);
			n = readlink("link", b, 600);
			fprintf(say, "readlink(path=\"link\", buf=\"to nowhere\", bufsiz=600) = %ld\n", n);
			char *s = fgets(b, 600, in);
			fprintf(say, "fgets(s=\"#define _GNU_SOURCE\\n\", size=600, stream=%p) = %p <b>\n", in, s);
			n = sprintf(b, "%d of %s", 5, "them");
			fprintf(say, "sprintf(str=\"5 of them\", format=\"%%d of %%s\", 5, \"them\") = %ld\n", n);
			getrlimit(RLIMIT_NOFILE, &limit);
			fprintf(say, "getrlimit(resource=RLIMIT_NOFILE, rlim={rlim_cur=%lu, rlim_max=%lu}) = 0\n", limit.rlim_cur, limit.rlim_max);
			socketpair(AF_UNIX, SOCK_DGRAM, 0, sv);
			fprintf(say, "socketpair(domain=AF_UNIX, type=SOCK_DGRAM, protocol=0, sv={%d, %d}) = 0\n", sv[0], sv[1]);
			send(sv[0], "hello", 5, 0);
			n = recv(sv[1], b, 600, 0);
			fprintf(say, "recv(sockfd=%d, buf=\"hello\", len=600, flags=0) = %ld\n", sv[1], n);
			return 0;
		}
	C
	chmod 600 filled.c
	rm -f link
	ln -s 'to nowhere' link
	gcc -O0 -g -fno-builtin -U_FORTIFY_SOURCE -w -o filled filled.c
	setarch -R "$dt" record -l -o l.db ./filled 2>said
	grep -v '^devtrace' said >want
	[ "$(wc -l <want)" = 14 ]
	"$dt" sql -n l.db "SELECT text FROM calls ORDER BY begin" | grep -v '^\(fprintf\|fopen\|open\|write\|send\)(' | diff want -
	"$dt" calls l.db | sed -n 's/^ *[0-9.]* us *//; s,  /\* tail call\( of [a-z_0-9]*\)\? \*/$,,; p' | grep -F -x -f want | diff want -
	"$dt" check l.db >/dev/null
	# the time of reading what was filled in is not the call's: the program's own of the whole is more
	[ "$("$dt" sql -n l.db "SELECT count(*) FROM calls WHERE function = 'read' AND duration < 0")" = 0 ]
	# by the functions' names, not as calls of the program
	setarch -R "$dt" record -A 'libc.so.6:read' -A 'libc.so.6:fgets' -A 'libc.so.6:poll' -o l.db ./filled 2>said
	grep '^\(read\|fgets\|poll\)(' said >want
	"$dt" sql -n l.db "SELECT text FROM calls ORDER BY begin" | grep -F -x -f want | awk '!seen[$0]++' | sort | diff <(sort want) -
}

@test "what is filled in is its own call's, with threads, jumps out of calls, and memory that goes" {
	cd "$dir"
	cat >many.c <<-'C'
		#include <pthread.h>
		#include <setjmp.h>
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static __thread sigjmp_buf out;
		static __thread volatile int waiting;
		static void on_signal(int s) { if (waiting) siglongjmp(out, 1); }
		static void *work(void *arg)
		{
			long me = (long)arg;
			int p[2];
			char *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), text[64];
			pipe(p);
			for (int i = 0; i < 300; i++) {
				int n = sprintf(text, "<%ld.%d>", me, i);
				if (i % 10 == 0 && sigsetjmp(out, 1) == 0) { /* left in the middle of a read */
					waiting = 1;
					pthread_kill(pthread_self(), 0);
					alarm(0);
					raise(SIGUSR1);
					read(p[0], m, 100);
				}
				waiting = 0;
				write(p[1], text, n);
				read(p[0], m + 4096 - n / 2, 100);
				if (memcmp(m + 4096 - n / 2, text, n))
					abort();
				if (i % 7 == 0)
					read(p[0] + 1000, m, 100);
			}
			return NULL;
		}
		int main(void)
		{
			pthread_t t[6];
			signal(SIGUSR1, on_signal);
			for (long i = 0; i < 6; i++)
				pthread_create(&t[i], NULL, work, (void *)i);
			for (int i = 0; i < 6; i++)
				pthread_join(t[i], NULL);
			return 0;
		}
	C
	gcc -O1 -fno-builtin -pthread -w -o many many.c
	"$dt" record -l -o m.db ./many
	"$dt" check m.db >/dev/null
	# what a thread has read is what it has written before
	"$dt" sql -n m.db "SELECT thread, text FROM calls WHERE function IN ('read', 'write') AND failed = 0 ORDER BY thread, begin" >texts
	sed 's/^\([0-9]*\)[^a-z]*\(read\|write\)(fd=[0-9]*, buf=\([^,]*\), count=[0-9]*).*/\1 \2 \3/' texts >pairs
	awk '$2 == "write" { last[$1] = $3 } $2 == "read" { n++; if ($3 == last[$1]) same++; else if ($3 !~ /^0x/) { print "not its own: " $0; bad = 1 } }
		END { print n " read, " same " known"; exit bad || n < 1800 || same < n * 0.7 }' pairs
}

@test "a call that begins on one core and ends on another has its prototype" {
	cd "$dir"
	[ "$(nproc)" -gt 1 ] || skip "one core"
	cat >moved.c <<-'C'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <sched.h>
		#include <stdatomic.h>
		#include <unistd.h>
		static int p[2];
		static atomic_int ready;
		static void *reader(void *x)
		{
			char text[8];
			ready = 1;
			read(p[0], text, sizeof(text)); /* enters on one core, leaves on another */
			return x;
		}
		int main(void)
		{
			cpu_set_t one, zero;
			pthread_t t;
			pthread_attr_t a;
			CPU_ZERO(&one); CPU_SET(1, &one); CPU_ZERO(&zero); CPU_SET(0, &zero);
			sched_setaffinity(0, sizeof(zero), &zero);
			pipe(p);
			pthread_attr_init(&a);
			pthread_attr_setaffinity_np(&a, sizeof(one), &one);
			pthread_create(&t, &a, reader, 0);
			while (!ready)
				;
			for (volatile int i = 0; i < 30000; i++)
				;
			pthread_setaffinity_np(t, sizeof(zero), &zero);
			write(p[1], "moved", 5);
			pthread_join(t, 0);
			return 0;
		}
	C
	gcc -O1 -w -pthread -o moved moved.c
	for i in {1..5}; do
		"$dt" record -l -o moved.db ./moved
		"$dt" sql -n moved.db "SELECT text FROM calls WHERE function = 'read'" | grep -qx 'read(fd=[0-9]*, buf="moved", count=8) = 5'
	done
}

@test "a call that fills something in takes the time that it takes" {
	cd "$dir"
	cat >slow.c <<-'C'
		#include <sys/wait.h>
		#include <unistd.h>
		int main(void)
		{
			char b[100];
			int p[2];
			pipe(p);
			if (!fork()) {
				usleep(100000);
				write(p[1], "late", 4);
				_exit(0);
			}
			return read(p[0], b, 100) != 4;
		}
	C
	gcc -O1 -w -o slow slow.c
	"$dt" record -l -o w.db ./slow
	"$dt" calls w.db | grep 'read(fd=[0-9]*, buf="late", count=100) = 4'
	ns=$("$dt" sql -n w.db "SELECT duration FROM calls WHERE function = 'read'")
	[ "${ns%.*}" -gt 90000000 ] || { echo "$ns ns"; return 1; }
}

@test "texts: what is known only at a call's end, of a call that has others in it: against the program's own output" {
	cd "$dir"
	cat >nested.c <<-'C'
		#include <stdio.h>
		int main(void)
		{
			char line[64];
			FILE *f = fopen("lines", "r");
			while (fgets(line, sizeof(line), f))
				fputs(line, stdout);
			return 0;
		}
	C
	gcc -O1 -o nested nested.c
	seq -f '%g words' 100 104 >lines
	"$dt" record -A 'libc.so.6:fgets' -A 'libc.so.6:read' -o nested.db ./nested >printed
	diff lines printed
	# as JSON each call has its text, whatever was in it; the first one has the call of read
	cat >nested.py <<-'P'
		import json, sys
		calls = [json.loads(line) for line in sys.stdin]
		calls = sorted((c for c in calls if c['type'] == 'call'), key=lambda c: c['id'])
		fgets = [c for c in calls if c['function'] == 'fgets']
		assert any(c['parent'] == fgets[0]['id'] for c in calls if c['function'] == 'read'), calls
		for c in fgets[:-1]:
		    sys.stdout.write(json.loads(c['arguments'][0]['text']))
	P
	"$dt" calls --json nested.db | python3 nested.py >seen
	diff printed seen
	# as text its line has been written by then
	"$dt" calls nested.db >text
	[ "$(grep -cE '^ +fgets\(s=0x[0-9a-f]+, .*\{$' text)" -ge 1 ]
	[ "$(grep -A 2 -m 1 '{$' text | tail -n 1 | tr -s ' ')" = ' * s="100 words\n"' ]
	[ "$(grep -cE 'fgets\(s="10[1-4] words.n"' text)" = 4 ]
}

/* SPDX-License-Identifier: MIT */
/*
 * What a thread is said to wait for: children of ours wait in each of the calls that are known, for
 * what we have made, so that we know what is right. They are looked at once the kernel says that
 * they are in that call.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/blocked.h"

#define MOST  8
#define TRIES 2000 /* of 5 ms: until a child waits */

static pid_t child[MOST];
static unsigned children;
static int to[2], from[2]; /* pipes: one that nobody writes to, one that is full */
static unsigned *shared;   /* words for futexes; the last one tells which thread waits */
static char folder[64];

/* ---- children that wait ---- */

/* Returns in which system call a thread waits, or a negative number. */
static long call_of(pid_t tid)
{
	char path[64], text[16] = "";
	FILE *f;
	char *end;
	long n;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	f = fopen(path, "r");
	if (!f)
		return -3;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	n = strtol(text, &end, 10);
	return end == text ? -2 : n;
}

/* Ends with its parent, which may have ended before. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

static pid_t start(void (*what)(void))
{
	pid_t me = getpid(), pid;

	assert_true(children < MOST);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		end_with(me);
		what();
		_exit(1);
	}
	child[children++] = pid;
	return pid;
}

static void end_all(void)
{
	for (unsigned i = 0; i < children; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	children = 0;
}

static void wait_until_in(pid_t tid, long number)
{
	for (unsigned i = 0; i < TRIES; i++) {
		if (call_of(tid) == number)
			return;
		usleep(5000);
	}
	fail_msg("thread %d does not wait in system call %ld, but %ld", tid, number, call_of(tid));
}

/* What is said of a thread, which waits in that call, is this. */
static void is_said(pid_t tid, long number, const char *wanted)
{
	struct dt_blocked b = {.next = 0};
	char text[DT_BLOCKED_TEXT] = "";

	wait_until_in(tid, number);
	/* who is at the other end is searched for so much of a processor's time */
	for (unsigned i = 0; i < 5; i++, b = (struct dt_blocked){.next = 0}) {
		assert_true(dt_blocked_read(&b, tid, text));
		if (!strstr(text, "not found in time"))
			break;
	}
	/* among so many processes that this can not be found */
	if (strstr(text, "not found in time"))
		print_message("# too many processes for: %s\n", wanted);
	else
		assert_string_equal(text, wanted);
}

__attribute__((format(printf, 3, 4))) static void says(void (*what)(void), long number,
						       const char *format, ...)
{
	char wanted[512];
	va_list a;

	va_start(a, format);
	vsnprintf(wanted, sizeof(wanted), format, a);
	va_end(a);
	is_said(start(what), number, wanted);
	end_all();
}

static unsigned long inode(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

/* ---- descriptors ---- */

static void wait_read(void)
{
	char c;

	syscall(SYS_read, to[0], &c, 1);
}

static void wait_write(void)
{
	static char page[4096];

	syscall(SYS_write, from[1], page, sizeof(page));
}

static void wait_splice(void)
{
	syscall(SYS_splice, to[0], NULL, from[1], NULL, 1, 0);
}

static void polls(unsigned n, bool timed)
{
	struct pollfd fd[4] = {
		{to[0], POLLIN, 0}, {from[1], POLLOUT, 0}, {to[0], POLLIN, 0}, {to[0], POLLPRI, 0}};

	if (timed)
		syscall(SYS_ppoll, fd, n, NULL, NULL, 8);
	else
		syscall(SYS_poll, fd, n, -1);
}

static void wait_poll0(void)
{
	polls(0, false);
}
static void wait_poll1(void)
{
	polls(1, false);
}
static void wait_poll2(void)
{
	polls(2, true);
}
static void wait_poll3(void)
{
	polls(3, false);
}
static void wait_poll4(void)
{
	polls(4, true);
}

static void selects(bool reads, bool writes)
{
	fd_set r, w;

	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_SET(to[0], &r);
	FD_SET(from[1], &w);
	syscall(SYS_select, reads || writes ? from[1] + 1 : 0, reads ? &r : NULL,
		writes ? &w : NULL, NULL, NULL);
}

static void wait_select0(void)
{
	selects(false, false);
}
static void wait_select1(void)
{
	selects(true, false);
}
static void wait_select2(void)
{
	selects(false, true);
}
static void wait_select3(void)
{
	selects(true, true);
}

static void wait_select4(void)
{
	fd_set r;

	FD_ZERO(&r);
	for (int fd = 100; fd < 104; fd++) {
		dup2(to[0], fd);
		FD_SET(fd, &r);
	}
	syscall(SYS_pselect6, 104, &r, NULL, NULL, NULL, NULL);
}

static void wait_epoll(void)
{
	struct epoll_event e = {.events = EPOLLIN}, out;
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, to[0], &e);
	syscall(SYS_epoll_wait, fd, &out, 1, -1);
}

static void descriptors(void **state)
{
	char in[128], out[128];
	int me = getpid();

	snprintf(in, sizeof(in), "pipe:[%lu], written by %d (test-blocked)", inode(to[0]), me);
	snprintf(out, sizeof(out), "pipe:[%lu], read by %d (test-blocked)", inode(from[1]), me);
	says(wait_read, SYS_read, "%s", in);
	says(wait_write, SYS_write, "%s", out);
	says(wait_splice, SYS_splice, "%s", in);
	says(wait_poll0, SYS_poll, "time to pass");
	says(wait_poll1, SYS_poll, "%s", in);
	says(wait_poll2, SYS_ppoll, "%s or %s", in, out);
	says(wait_poll3, SYS_poll, "%s or %s or %s", in, out, in);
	says(wait_poll4, SYS_ppoll, "%s or %s or %s or 1 more", in, out, in);
	says(wait_select0, SYS_select, "time to pass");
	says(wait_select1, SYS_select, "%s", in);
	says(wait_select2, SYS_select, "%s", out);
	says(wait_select3, SYS_select, "%s or %s", in, out);
	says(wait_select4, SYS_pselect6, "%s or %s or %s", in, in, in);
	says(wait_epoll, SYS_epoll_wait, "anon_inode:[eventpoll]");
}

/* ---- who is at the other end ---- */

static void hold_writing(void)
{
	close(to[0]);
	pause();
}

static void read_alone(void)
{
	char c;

	close(to[1]);
	syscall(SYS_read, to[0], &c, 1);
}

static void bad_name(void)
{
	prctl(PR_SET_NAME, "a*/\n\033\177b");
	hold_writing();
}

/* Children hold the end of a pipe that the last one waits for; we do not any more. */
static void ends(void **state)
{
	int were[2] = {to[0], to[1]};
	char name[64], wanted[256];
	pid_t first, second;

	assert_int_equal(pipe(to), 0);
	snprintf(name, sizeof(name), "pipe:[%lu], written by", inode(to[0]));
	/* one who reads does not write: of these there is none, but the process itself */
	start(wait_read);
	close(to[1]);
	is_said(child[0], SYS_read,
		(snprintf(wanted, sizeof(wanted), "%s the process itself", name), wanted));
	end_all();
	close(to[0]);

	for (unsigned holders = 1; holders <= 4; holders++) {
		assert_int_equal(pipe(to), 0);
		snprintf(name, sizeof(name), "pipe:[%lu], written by", inode(to[0]));
		for (unsigned i = 0; i < holders; i++)
			start(hold_writing);
		start(read_alone);
		close(to[1]);
		for (unsigned i = 0; i < holders; i++)
			wait_until_in(child[i], SYS_pause);
		first = child[0];
		second = child[1];
		snprintf(wanted, sizeof(wanted), "%s %d (test-blocked)", name, first);
		if (holders > 1)
			snprintf(wanted + strlen(wanted), 64, " and %d (test-blocked)", second);
		if (holders > 2)
			snprintf(wanted + strlen(wanted), 64, " and %u more", holders - 2);
		is_said(child[holders], SYS_read, wanted);
		end_all();
		close(to[0]);
	}

	assert_int_equal(pipe(to), 0);
	snprintf(name, sizeof(name), "pipe:[%lu], written by", inode(to[0]));
	start(bad_name);
	start(read_alone);
	close(to[1]);
	wait_until_in(child[0], SYS_pause);
	snprintf(wanted, sizeof(wanted), "%s %d (a?/???b)", name, child[0]);
	is_said(child[1], SYS_read, wanted);
	end_all();
	close(to[0]);
	to[0] = were[0];
	to[1] = were[1];
}

/* An answer is taken again for some time, by each of the two directions. */
static void again(void **state)
{
	char text[2][DT_BLOCKED_TEXT];
	struct dt_blocked b = {.next = 0};
	unsigned same = 0;

	start(wait_read);
	start(wait_write);
	wait_until_in(child[0], SYS_read);
	wait_until_in(child[1], SYS_write);
	for (unsigned i = 0; i < 2; i++)
		assert_true(dt_blocked_read(&b, child[i], text[i]));
	assert_string_not_equal(text[0], text[1]);
	assert_int_equal(b.next, 2);
	strcpy(b.end[0].who, "somebody");
	strcpy(b.end[1].who, "others");
	/* more than the time for that may be over at once */
	for (unsigned i = 0; i < 50 && !same; i++) {
		b.end[0].until = b.end[1].until = ~0ull;
		assert_true(dt_blocked_read(&b, child[0], text[0]));
		assert_true(dt_blocked_read(&b, child[1], text[1]));
		same = strstr(text[0], ", written by somebody") &&
		       strstr(text[1], ", read by others");
	}
	assert_true(same);
	b.end[0].until = 0;
	assert_true(dt_blocked_read(&b, child[0], text[0]));
	assert_null(strstr(text[0], "somebody"));
	end_all();
}

/* ---- files ---- */

static char path[128];

static void wait_openat(void)
{
	syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
}
static void wait_open(void)
{
	syscall(SYS_open, path, O_RDONLY);
}

/* where only the first bytes of a page are left */
static void wait_at_end(void)
{
	long room = (long)strlen(path) + 1;
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(page + 4096, 4096, PROT_NONE);
	room = room > 40 ? room : 40;
	strcpy(page + 4096 - room, path);
	syscall(SYS_openat, AT_FDCWD, page + 4096 - room, O_RDONLY);
}

static void wait_fifo(void)
{
	char c;
	int fd = open(path, O_RDONLY);

	syscall(SYS_read, fd, &c, 1);
}

static void wait_tty(void)
{
	char c;
	int fd = open(path, O_RDONLY | O_NOCTTY);

	syscall(SYS_read, fd, &c, 1);
}

static void take_flock(void)
{
	flock(open(path, O_RDWR), LOCK_EX);
	pause();
}

static void wait_flock(void)
{
	syscall(SYS_flock, open(path, O_RDWR), LOCK_EX);
}

static void wait_record(void)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	syscall(SYS_fcntl, open(path, O_RDWR), F_SETLKW, &l);
}

static void wait_open_record(void)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	syscall(SYS_fcntl, open(path, O_RDWR), F_OFD_SETLKW, &l);
}

static void take_record(void)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	fcntl(open(path, O_RDWR), F_SETLK, &l);
	pause();
}

static int left_open;

static void leave_locked(void)
{
	_exit(flock(left_open, LOCK_EX));
}

static void files(void **state)
{
	int fd, master;

	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	says(wait_openat, SYS_openat, "path %s", path);
	says(wait_open, SYS_open, "path %s", path);
	says(wait_at_end, SYS_openat, "path %s", path);
	fd = open(path, O_RDWR);
	says(wait_fifo, SYS_read, "pipe %s, written by %d (test-blocked)", path, (int)getpid());
	close(fd);

	master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master >= 0 && !grantpt(master) && !unlockpt(master)) {
		snprintf(path, sizeof(path), "%s", ptsname(master));
		says(wait_tty, SYS_read, "device %s", path);
	}
	close(master);
}

static void locks(void **state)
{
	pid_t holder;

	snprintf(path, sizeof(path), "%s/locked", folder);
	left_open = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(left_open >= 0);
	holder = start(take_flock);
	wait_until_in(holder, SYS_pause);
	says(wait_flock, SYS_flock, "the lock of %s, held by %d (test-blocked)", path, holder);
	holder = start(take_record);
	wait_until_in(holder, SYS_pause);
	says(wait_record, SYS_fcntl, "the lock of %s, held by %d (test-blocked)", path, holder);
	holder = start(take_record);
	wait_until_in(holder, SYS_pause);
	says(wait_open_record, SYS_fcntl, "the lock of %s, held by %d (test-blocked)", path,
	     holder);
	/* who has taken it has ended, and we have the descriptor */
	holder = start(leave_locked);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	children = 0;
	says(wait_flock, SYS_flock, "the lock of %s, held by %d (test-blocked)", path,
	     (int)getpid());
	close(left_open);
}

/* ---- sockets ---- */

static int sock;

static void wait_recv(void)
{
	char c;

	syscall(SYS_recvfrom, sock, &c, 1, 0, NULL, NULL);
}

static void wait_accept(void)
{
	syscall(SYS_accept4, sock, NULL, NULL, 0);
}

/* A socket that listens or receives at a port that is free; returns the port. */
static unsigned bind_to_any(int family, int type)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t n = family == AF_INET ? sizeof(a) : sizeof(a6);
	void *at = family == AF_INET ? (void *)&a : &a6;

	sock = socket(family, type, 0);
	if (sock < 0 || bind(sock, at, n)) {
		close(sock);
		return 0;
	}
	if (type == SOCK_STREAM)
		listen(sock, 1);
	getsockname(sock, at, &n);
	return ntohs(family == AF_INET ? a.sin_port : a6.sin6_port);
}

static void sockets(void **state)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
			   b;
	socklen_t n = sizeof(b);
	unsigned port = bind_to_any(AF_INET, SOCK_STREAM);
	int server = sock, pair[2];

	assert_int_not_equal(port, 0);
	says(wait_accept, SYS_accept4, "tcp 127.0.0.1:%u to 0.0.0.0:0", port);
	a.sin_port = htons((uint16_t)port);
	sock = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(sock, (void *)&a, sizeof(a)), 0);
	getsockname(sock, (void *)&b, &n);
	says(wait_recv, SYS_recvfrom, "tcp 127.0.0.1:%u to 127.0.0.1:%u", ntohs(b.sin_port), port);
	close(sock);
	close(server);

	port = bind_to_any(AF_INET, SOCK_DGRAM);
	says(wait_recv, SYS_recvfrom, "udp 127.0.0.1:%u to 0.0.0.0:0", port);
	close(sock);
	port = bind_to_any(AF_INET6, SOCK_STREAM);
	if (port) { /* the address as the kernel prints it: four words, each in the machine's order
		     */
		says(wait_accept, SYS_accept4,
		     "tcp [00000000000000000000000001000000]:%u to "
		     "[00000000000000000000000000000000]:0",
		     port);
		close(sock);
	}
	port = bind_to_any(AF_INET6, SOCK_DGRAM);
	if (port) {
		says(wait_recv, SYS_recvfrom,
		     "udp [00000000000000000000000001000000]:%u to "
		     "[00000000000000000000000000000000]:0",
		     port);
		close(sock);
	}

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	sock = pair[0];
	says(wait_recv, SYS_recvfrom, "local socket %lu", inode(sock));
	close(pair[0]);
	close(pair[1]);
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(un.sun_path, sizeof(un.sun_path), "%s/socket", folder);
	assert_int_equal(bind(sock, (void *)&un, sizeof(un)), 0);
	listen(sock, 1);
	says(wait_accept, SYS_accept4, "local socket %s", un.sun_path);
	close(sock);
	sock = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	says(wait_recv, SYS_recvfrom, "socket:[%lu]", inode(sock));
	close(sock);
}

/* ---- locks in memory, ends of threads ---- */

static unsigned futex_op, futex_word, futex_owner;

/* Waits in a futex whose word is so, and the one 8 bytes behind it; 0: the number of this process's
 * first thread, perhaps with the bit for waiting. */
static void *wait_futex(void *a)
{
	unsigned me = (unsigned)getpid();

	shared[0] = futex_word & ~FUTEX_WAITERS ? futex_word : me | futex_word;
	shared[2] = futex_owner ? futex_owner : me;
	__atomic_store_n(&shared[8], (unsigned)gettid(), __ATOMIC_RELEASE);
	syscall(SYS_futex, shared, futex_op, shared[0], NULL, NULL, ~0u);
	return a;
}

static void two_threads(void)
{
	pthread_t t;

	prctl(PR_SET_NAME, "owner");
	if (!pthread_create(&t, NULL, wait_futex, NULL))
		pause();
}

/* what: "lock" and so on, before the futex's address; held: whether who holds it is said, too */
static void futex(unsigned op, unsigned word, unsigned owner, const char *what, bool held)
{
	char wanted[256];
	size_t n;

	futex_op = op;
	futex_word = word;
	futex_owner = owner;
	shared[8] = 0;
	start(two_threads);
	for (unsigned i = 0; i < TRIES && !__atomic_load_n(&shared[8], __ATOMIC_ACQUIRE); i++)
		usleep(5000);
	n = (size_t)snprintf(wanted, sizeof(wanted), what, (unsigned long)shared);
	if (held)
		snprintf(wanted + n, sizeof(wanted) - n, "%d (owner)", child[0]);
	is_said((pid_t)shared[8], SYS_futex, wanted);
	end_all();
}

static void futexes(void **state)
{
	futex(FUTEX_WAIT, 5, 0, "futex 0x%lx", false);
	futex(FUTEX_WAIT, 2, 0, "lock 0x%lx, held by thread ", true);
	futex(FUTEX_WAIT, 2, 1, "lock 0x%lx", false);
	futex(FUTEX_WAIT, 0, 1, "the end of thread ", true);
	futex(FUTEX_WAIT, FUTEX_WAITERS, 1, "lock 0x%lx, held by thread ", true);
	futex(FUTEX_WAIT, FUTEX_WAITERS | 1, 0, "futex 0x%lx", false);
	futex(FUTEX_LOCK_PI, 0, 1, "lock 0x%lx, held by thread ", true);
}

/* ---- children, time, signals, and what is not known ---- */

static pid_t other;

static void nap(void)
{
	prctl(PR_SET_NAME, "napper");
	for (;;)
		syscall(SYS_pause);
}

static void have_child(void)
{
	pid_t me = getpid(), pid = fork();

	if (!pid) {
		end_with(me);
		nap();
	}
	__atomic_store_n(&shared[8], (unsigned)pid, __ATOMIC_RELEASE);
}

static void wait_any(void)
{
	have_child(), syscall(SYS_wait4, -1, NULL, 0, NULL);
}
static void wait_one(void)
{
	have_child(), syscall(SYS_wait4, shared[8], NULL, 0, NULL);
}
static void wait_id(void)
{
	have_child(), syscall(SYS_waitid, P_PID, shared[8], NULL, WEXITED, NULL);
}
static void wait_all(void)
{
	have_child(), syscall(SYS_waitid, P_ALL, shared[8], NULL, WEXITED, NULL);
}
static void wait_signal(void)
{
	syscall(SYS_rt_sigsuspend, &(sigset_t){{0}}, 8);
}
static void wait_wanted(void)
{
	syscall(SYS_rt_sigtimedwait, &(sigset_t){{1}}, NULL, NULL, 8);
}
static void wait_time(void)
{
	syscall(SYS_nanosleep, &(struct timespec){1000, 0}, NULL);
}
static void wait_clock(void)
{
	syscall(SYS_clock_nanosleep, 1, 0, &(struct timespec){1000, 0}, NULL);
}
static void wait_message(void)
{
	syscall(SYS_msgrcv, other, folder, 1, 0, 0);
}

static void wait_vfork(void)
{
	pid_t me = getpid();

	if (vfork() == 0) {
		end_with(me);
		for (;;)
			syscall(SYS_pause);
	}
}

static void says_child(void (*what)(void), long number)
{
	char wanted[64];
	pid_t pid;

	shared[8] = 0;
	pid = start(what);
	wait_until_in(pid, number);
	snprintf(wanted, sizeof(wanted), "process %u (napper)", shared[8]);
	wait_until_in((pid_t)shared[8], SYS_pause);
	is_said(pid, number, wanted);
	end_all();
}

static void others(void **state)
{
	says_child(wait_one, SYS_wait4);
	says_child(wait_id, SYS_waitid);
	says(wait_any, SYS_wait4, "a child");
	says(wait_all, SYS_waitid, "a child");
	says(nap, SYS_pause, "a signal");
	says(wait_signal, SYS_rt_sigsuspend, "a signal");
	says(wait_wanted, SYS_rt_sigtimedwait, "a signal");
	says(wait_time, SYS_nanosleep, "time to pass");
	says(wait_clock, SYS_clock_nanosleep, "time to pass");
	says(wait_vfork, SYS_vfork, "a child to execute its program");
	other = msgget(IPC_PRIVATE, 0600);
	if (other >= 0) {
		says(wait_message, SYS_msgrcv, "system call %d", SYS_msgrcv);
		msgctl(other, IPC_RMID, NULL);
	}
}

static void turn(void)
{
	for (;;)
		;
}

static void nothing(void **state)
{
	char text[DT_BLOCKED_TEXT];
	struct dt_blocked b = {.next = 0};
	pid_t pid = start(turn);

	for (unsigned i = 0; i < TRIES && call_of(pid) != -2; i++)
		usleep(5000);
	assert_false(dt_blocked_read(&b, pid, text));
	end_all();
	assert_false(dt_blocked_read(&b, pid, text));
}

static int begin(void **state)
{
	static char page[4096];

	if (call_of(getpid()) == -3) {
		print_message("1..0 # SKIP this kernel does not say what a thread waits in\n");
		exit(0);
	}
	snprintf(folder, sizeof(folder), "%.40s/blocked-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(folder) || pipe(to) || pipe(from))
		return -1;
	fcntl(from[1], F_SETFL, O_NONBLOCK);
	while (write(from[1], page, sizeof(page)) > 0)
		;
	fcntl(from[1], F_SETFL, 0);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED ? -1 : 0;
}

static int finish(void **state)
{
	static const char *const name[] = {"fifo", "locked", "socket"};

	end_all();
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, name[i]);
		unlink(path);
	}
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors), cmocka_unit_test(ends),	 cmocka_unit_test(again),
		cmocka_unit_test(files),       cmocka_unit_test(locks),	 cmocka_unit_test(sockets),
		cmocka_unit_test(futexes),     cmocka_unit_test(others), cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, begin, finish);
}

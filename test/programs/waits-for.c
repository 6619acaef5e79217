/* Waits for locks of each kind, ends of threads and children, pipes, sockets, files' locks, and says
 * for which, and who has them. argv[1]: a file to lock. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAP 150000

static pthread_mutex_t lock;
static int ready[2], data[2];

static void say(const char *function, const char *what, unsigned long a, const char *more, long b)
{
	printf("%s: ", function);
	printf(what, a);
	if (more)
		printf(more, b);
	putchar('\n');
}

static void *hold(void *a)
{
	pthread_setname_np(pthread_self(), "holder");
	pthread_mutex_lock(&lock);
	*(int *)a = gettid();
	write(ready[1], "x", 1);
	usleep(NAP);
	pthread_mutex_unlock(&lock);
	usleep(NAP);
	return NULL;
}

__attribute__((noinline)) void wait_plain(void) { pthread_mutex_lock(&lock); }
__attribute__((noinline)) void wait_inherit(void) { pthread_mutex_lock(&lock); }
__attribute__((noinline)) void wait_robust(void) { pthread_mutex_lock(&lock); }
__attribute__((noinline)) void wait_join(pthread_t t) { pthread_join(t, NULL); }
__attribute__((noinline)) void wait_pipe(void) { char c; read(data[0], &c, 1); }
__attribute__((noinline)) void wait_poll(void) { poll(&(struct pollfd){data[0], POLLIN, 0}, 1, -1); }
__attribute__((noinline)) void wait_select(void) { fd_set s; FD_ZERO(&s); FD_SET(data[0], &s); select(data[0] + 1, &s, NULL, NULL, NULL); }
__attribute__((noinline)) void wait_child(int pid) { waitpid(pid, NULL, 0); }
__attribute__((noinline)) void wait_file(int fd) { flock(fd, LOCK_EX); }
__attribute__((noinline)) void wait_posix(int fd) { fcntl(fd, F_SETLKW, &(struct flock){.l_type = F_WRLCK}); }
__attribute__((noinline)) void wait_socket(int fd) { char c; recv(fd, &c, 1, 0); }

static void locks(const char *name, void (*wait)(void), int protocol, int robust)
{
	pthread_mutexattr_t a;
	pthread_t t;
	int owner;
	char c;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, protocol);
	pthread_mutexattr_setrobust(&a, robust);
	pthread_mutex_init(&lock, &a);
	pthread_create(&t, NULL, hold, &owner);
	read(ready[0], &c, 1);
	say(name, "lock 0x%lx", (unsigned long)&lock, ", held by thread %ld (holder)", owner);
	wait();
	pthread_mutex_unlock(&lock);
	say("wait_join", "the end of thread %lu (holder)", (unsigned long)owner, NULL, 0);
	wait_join(t);
}

/* A child that writes to a pipe after a time, and ends after another */
static int child(void)
{
	int pid = fork();

	if (!pid) {
		usleep(NAP);
		write(data[1], "x", 1);
		usleep(NAP);
		_exit(0);
	}
	return pid;
}

static void pipes(const char *name, void (*wait)(void))
{
	struct stat st;
	int pid = child();
	char c;

	fstat(data[0], &st);
	say(name, "pipe:[%lu]", st.st_ino, ", written by %ld (waits-for)", pid);
	wait();
	if (wait != wait_pipe)
		read(data[0], &c, 1);
	say("wait_child", "process %lu (waits-for)", (unsigned long)pid, NULL, 0);
	wait_child(pid);
}

static void files(const char *name, const char *path, void (*wait)(int fd))
{
	int fd = open(path, O_RDWR | O_CREAT, 0600), pid;
	char c;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		fd = open(path, O_RDWR);
		wait(fd);
		write(ready[1], "y", 1);
		usleep(3 * NAP);
		_exit(0);
	}
	read(ready[0], &c, 1);
	printf("%s: the lock of %s, held by %d (waits-for)\n", name, path, pid);
	wait(fd);
	waitpid(pid, NULL, 0);
	close(fd);
}

static void sockets(void)
{
	struct sockaddr_in a = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}}, b;
	socklen_t n = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0), pid;

	bind(s, (void *)&a, sizeof(a));
	listen(s, 1);
	getsockname(s, (void *)&a, &n);
	connect(c, (void *)&a, sizeof(a));
	n = sizeof(b);
	getsockname(c, (void *)&b, &n);
	pid = fork();
	if (!pid) {
		s = accept(s, NULL, NULL);
		usleep(NAP);
		send(s, "x", 1, 0);
		_exit(0);
	}
	printf("wait_socket: tcp 127.0.0.1:%d to 127.0.0.1:%d\n", ntohs(b.sin_port), ntohs(a.sin_port));
	wait_socket(c);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	pipe(ready);
	pipe(data);
	/* the recorder has to read what the program is made of first */
	wait_plain();
	pthread_mutex_unlock(&lock);
	usleep(2 * NAP);
	locks("wait_plain", wait_plain, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	locks("wait_inherit", wait_inherit, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
	locks("wait_robust", wait_robust, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
	pipes("wait_pipe", wait_pipe);
	pipes("wait_poll", wait_poll);
	pipes("wait_select", wait_select);
	files("wait_file", argv[1], wait_file);
	files("wait_posix", argv[1], wait_posix);
	sockets();
	return argc != 2;
}

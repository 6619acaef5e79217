/* SPDX-License-Identifier: MIT */
/*
 * devtrace record --hosts and attach --hosts, on one of the machines: the other end
 * (cmd/trace-hosts.c) starts `record --here NAME N OPTION... PROG' or
 * `attach --here NAME N OPTION... PID...', with N words of options, by ssh or another command.
 * Standard input and output are for the other end:
 *
 *	here	devtrace-host 1 VERSION PORT ADDRESS,...	answers pings there; "-": no address
 *	there	go WORD ADDRESS:PORT,...	the word of pings, whom to ask ("-": nobody)
 *	here	size BYTES	now and then, of the trace
 *	there	stop	ends the program: SIGTERM; so does the end of standard input
 *	here	frozen, unfrozen, over	recording has frozen, goes on, has ended because of --until
 *	there	freeze, unfreeze, quit	has the session do so, too
 *	here	ended STATUS BYTES, and the bytes of the trace; 0: none
 *
 * All that the program and devtrace print goes to standard error.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/open.h"
#include "cmd/temporary.h"
#include "cmd/trace.h"
#include "core/version.h"
#include "session/client.h"
#include "session/ping.h"

#define TURN_MS	  1000 /* between two lines about the trace's size */
#define PATIENCE  5    /* ms, while the session does not take commands yet */
#define ADDRESSES 6

struct here {
	int pong, pidfd;
	pid_t pid;		 /* of the recording */
	bool told;		 /* it has been told to end */
	int news[2];		 /* a pipe: options.news of the session */
	char session[64];	 /* its name; "": it takes no commands yet */
	const char *command_due; /* what it is to be told; NULL: nothing */
	struct dt_temporary trace;
	char go[1024];	   /* the line that came */
	int argc, options; /* of the words, so many are options */
	char **argv;
	const char *command;
	int (*record)(int argc, char **argv, int news);
};

/* Binds a socket for pings to any port. Returns the port; 0: there are no pings. */
static unsigned open_pong(struct here *h)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	struct sockaddr_in old = {.sin_family = AF_INET};
	socklen_t size = sizeof(any);

	h->pong = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (h->pong >= 0 && bind(h->pong, (struct sockaddr *)&any, sizeof(any)) == 0 &&
	    getsockname(h->pong, (struct sockaddr *)&any, &size) == 0)
		return ntohs(any.sin6_port);
	if (h->pong >= 0)
		close(h->pong);
	size = sizeof(old);
	h->pong = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (h->pong >= 0 && bind(h->pong, (struct sockaddr *)&old, sizeof(old)) == 0 &&
	    getsockname(h->pong, (struct sockaddr *)&old, &size) == 0)
		return ntohs(old.sin_port);
	return 0;
}

/* Prints the addresses of this machine that others may reach. */
static void print_addresses(void)
{
	struct ifaddrs *all = NULL;
	unsigned n = 0;

	if (getifaddrs(&all))
		all = NULL;
	for (struct ifaddrs *a = all; a && n < ADDRESSES; a = a->ifa_next) {
		int family = a->ifa_addr ? a->ifa_addr->sa_family : AF_UNSPEC;
		char text[INET6_ADDRSTRLEN];
		const struct in6_addr *six = &((struct sockaddr_in6 *)a->ifa_addr)->sin6_addr;

		if ((a->ifa_flags & (IFF_LOOPBACK | IFF_UP)) != IFF_UP ||
		    (family != AF_INET && family != AF_INET6) ||
		    (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(six)))
			continue;
		if (inet_ntop(family,
			      family == AF_INET6 ? (const void *)six
						 : &((struct sockaddr_in *)a->ifa_addr)->sin_addr,
			      text, sizeof(text)))
			printf("%s%s", n++ ? "," : "", text);
	}
	puts(n ? "" : "-");
	freeifaddrs(all);
	fflush(stdout);
}

/* Reads a line from the other end. False: it is gone. */
static bool read_line(char *to, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && read(0, &to[n], 1) == 1)
		if (to[n++] == '\n') {
			to[n - 1] = '\0';
			return true;
		}
	return false;
}

/* Records, in a child. What it prints goes to standard error. */
static int record(struct here *h, pid_t parent)
{
	char *save = NULL, *word, *ask, pong[24];
	char **argv = calloc((size_t)h->argc + 10, sizeof(*argv));
	int n = 0, status;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (!argv || getppid() != parent) {
		free(argv);
		return 1;
	}
	signal(SIGINT, SIG_DFL);
	strtok_r(h->go, " ", &save); /* "go" */
	word = strtok_r(NULL, " ", &save);
	ask = strtok_r(NULL, " ", &save);
	argv[n++] = (char *)(uintptr_t)h->command;
	/* the user's own options, then what is only right here */
	for (int i = 0; i < h->options; i++)
		argv[n++] = h->argv[i];
	argv[n++] = "-o";
	argv[n++] = h->trace.path;
	if (word && h->pong >= 0) {
		setenv(DT_PING_WORD, word, 1);
		dt_format(pong, sizeof(pong), "fd:%d", h->pong);
		argv[n++] = "--pong";
		argv[n++] = pong;
		if (ask && strcmp(ask, "-")) {
			argv[n++] = "--ping";
			argv[n++] = ask;
		}
	}
	argv[n++] = "--";
	for (int i = h->options; i < h->argc; i++)
		argv[n++] = h->argv[i];
	close(h->news[0]);
	status = h->record(n, argv, h->news[1]);
	free(argv);
	/* nobody is left to remove it */
	if (getppid() != parent)
		dt_temporary_remove(&h->trace);
	return status;
}

/* Starts the recording. -1: reported. */
static int start(struct here *h)
{
	pid_t parent = getpid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	fflush(stdout);
	h->pid = fork();
	if (h->pid == 0) {
		if (null < 0 || dup2(null, 0) < 0 || dup2(2, 1) < 0)
			_exit(1);
		exit(record(h, parent));
	}
	if (null >= 0)
		close(null);
	close(h->news[1]);
	h->pidfd = h->pid > 0 ? pidfd_open(h->pid, 0) : -1;
	if (h->pidfd >= 0)
		return 0;
	dt_cmd_fail("no process: %s", strerror(errno));
	return -1;
}

/* Takes a line of the session's news: what the others have to know is passed on. */
static void take_news(struct here *h)
{
	char line[128];
	size_t n = 0;

	/* it is written at once, and a line is short */
	while (n + 1 < sizeof(line) && read(h->news[0], &line[n], 1) == 1 && line[n] != '\n')
		n++;
	line[n] = '\0';
	if (strncmp(line, "session ", 8) == 0) {
		dt_format(h->session, sizeof(h->session), "%s", line + 8);
	} else if (n) {
		printf("%s\n", line);
		fflush(stdout);
	} else { /* the session has ended */
		close(h->news[0]);
		h->news[0] = -1;
	}
}

/* Takes a line from the other end. */
static void take_command(struct here *h)
{
	static const char *const known[] = {"freeze", "unfreeze", "quit"};
	char line[64];

	if (read_line(line, sizeof(line)))
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (strcmp(line, known[i]) == 0) {
				h->command_due = known[i];
				return;
			}
	h->told = true;
	kill(h->pid, SIGTERM);
}

/* Tells the session what it is to be told, once it takes commands. One that does no longer has
 * ended before its program. */
static void tell_session(struct here *h)
{
	struct dt_client c;

	if (!*h->session)
		return;
	if (dt_client_open(&c, h->session, NULL) == 0) {
		dt_client_write(&c, h->command_due, strlen(h->command_due), 0, NULL);
		dt_client_close(&c);
	}
	h->command_due = NULL;
}

/* Waits until the recording ends, or the other end says so, or is gone. Returns its status. */
static int watch(struct here *h)
{
	struct stat st;
	int status = 0;

	for (;;) {
		struct pollfd p[3] = {{h->pidfd, POLLIN, 0},
				      {h->news[0], POLLIN, 0},
				      {h->told ? -1 : 0, POLLIN, 0}};
		int n = poll(p, 3, h->command_due ? PATIENCE : TURN_MS);

		if (n > 0 && p[0].revents)
			break;
		if (n > 0 && p[1].revents)
			take_news(h);
		if (n > 0 && p[2].revents)
			take_command(h);
		if (h->command_due) {
			tell_session(h);
		} else if (n == 0 && stat(h->trace.path, &st) == 0) {
			printf("size %lld\n", (long long)st.st_size);
			fflush(stdout);
		}
	}
	while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Sends the trace. */
static int send_trace(const struct here *h, int status)
{
	int fd = open(h->trace.path, O_RDONLY | O_CLOEXEC);
	struct stat st = {.st_size = 0};
	char buffer[65536];
	ssize_t n;

	if (fd >= 0 && fstat(fd, &st))
		st.st_size = 0;
	printf("ended %d %lld\n", status, (long long)st.st_size);
	while (fd >= 0 && (n = read(fd, buffer, sizeof(buffer))) > 0)
		if (fwrite(buffer, 1, (size_t)n, stdout) != (size_t)n)
			break;
	if (fd >= 0)
		close(fd);
	return fflush(stdout) || ferror(stdout);
}

int dt_trace_here(int argc, char **argv, const char *command,
		  int (*run)(int argc, char **argv, int news))
{
	struct here h = {
		.pong = -1, .pidfd = -1, .news = {-1, -1}, .command = command, .record = run};
	struct dt_error e;
	unsigned port;
	int status = 1;

	if (argc < 4 || (h.options = atoi(argv[2])) < 0 || h.options > argc - 3)
		return dt_cmd_fail("%s --here is what %s --hosts starts", command, command);
	h.argc = argc - 3;
	h.argv = argv + 3;
	setenv("DEVTRACE_HOST", argv[1], 1);
	/* who has closed the connection is noticed at the next write or read */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	port = open_pong(&h);
	printf(DT_HOSTS_GREETING DT_VERSION " %u ", port);
	print_addresses();
	if (!read_line(h.go, sizeof(h.go)) || strncmp(h.go, "go ", 3))
		return 1; /* the other end does without this one */
	if (pipe2(h.news, O_CLOEXEC))
		return dt_cmd_fail("no pipe: %s", strerror(errno));
	if (dt_temporary_make(&h.trace, &e))
		return dt_cmd_fail("%s", e.text);
	if (start(&h) == 0)
		status = send_trace(&h, watch(&h));
	dt_temporary_remove(&h.trace);
	return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * See hand-over.h. The process makes a pair of sockets; we take one of them from it
 * (pidfd_getfd(2)), and send the descriptor to the other (SCM_RIGHTS, unix(7)), where the process
 * receives it. All that is read from the process may have been made up by other threads of it: it
 * is used as numbers of its own descriptors only, and what we send, it may have.
 */
#include "hook/hand-over.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/inject.h"
#include "process/memory.h"

#define HAND_MS 5000 /* most time for the descriptor to be sent */
#define CONTROL CMSG_SPACE(sizeof(int))

/* What is in the page of the process. */
struct hand_over_page {
	int pair[2];
	char byte[8]; /* what is sent with the descriptor */
	struct iovec iov;
	struct msghdr head;
	_Alignas(8) unsigned char control[CONTROL];
};

/* Sends a descriptor of ours through a socket. */
static int send_descriptor(int to, int fd)
{
	_Alignas(8) unsigned char control[CONTROL] = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr head = {.msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&head);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(to, &head, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/* Sends fd to the socket of the process that is the other one of `pair'. */
static int send_to(pid_t pid, int pair, int fd)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), ours = -1, rc = -1;

	if (process >= 0)
		ours = (int)syscall(SYS_pidfd_getfd, process, pair, 0);
	if (ours >= 0)
		rc = send_descriptor(ours, fd);
	if (ours >= 0)
		close(ours);
	if (process >= 0)
		close(process);
	return rc;
}

/*
 * The same in a process that lives for this only: what the process has put in the socket's place,
 * a file of its own file system, could keep whoever closes it waiting. Waits HAND_MS at most.
 */
static int send_apart(pid_t pid, int pair, int fd)
{
	int status = 0;
	pid_t child = fork(), got = 0;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		_exit(send_to(pid, pair, fd) ? errno : 0);
	}
	if (child < 0)
		return -1;
	for (int ms = 0; ms < HAND_MS && (got = waitpid(child, &status, WNOHANG)) == 0; ms++)
		usleep(1000);
	if (got != child) {
		kill(child, SIGKILL);
		errno = ETIMEDOUT;
		return -1;
	}
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return errno ? -1 : 0;
}

/* Fills in what the process receives with. */
static void fill_in(struct hand_over_page *page, uint64_t at)
{
	page->iov = (struct iovec){(void *)(at + offsetof(struct hand_over_page, byte)), 1};
	page->head = (struct msghdr){
		.msg_iov = (void *)(at + offsetof(struct hand_over_page, iov)),
		.msg_iovlen = 1,
		.msg_control = (void *)(at + offsetof(struct hand_over_page, control)),
		.msg_controllen = sizeof(page->control)};
}

/* Returns the number that the process has received; -1: none. */
static int received(struct hand_over_page *page)
{
	struct cmsghdr c;
	int fd;

	memcpy(&c, page->control, sizeof(c));
	memcpy(&fd, page->control + CMSG_LEN(0), sizeof(fd));
	return c.cmsg_len == CMSG_LEN(sizeof(fd)) && c.cmsg_type == SCM_RIGHTS ? fd : -1;
}

int dt_hand_over(pid_t pid, pid_t tid, int mem, const struct dt_maps *maps, uint64_t code,
		 uint64_t scratch, int fd, struct dt_error *e)
{
	struct dt_injected_call pair = {"making sockets",
					SYS_socketpair,
					{AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, scratch},
					0,
					false};
	struct dt_injected_call rest[] = {
		{"receiving the session's memory", SYS_recvmsg, {0}, 0, true},
		{"closing a socket", SYS_close, {0}, 0, true},
		{"closing a socket", SYS_close, {0}, 0, true},
	};
	struct hand_over_page page;
	int sent, why;

	if (dt_inject(tid, mem, maps, code, &pair, 1, e) < 0)
		return -1;
	if (dt_memory_read(mem, scratch, &page, sizeof(page)) < 0)
		return dt_fail(e, "the area can not be read: %s", strerror(errno));
	sent = send_apart(pid, page.pair[0], fd);
	why = errno;
	fill_in(&page, scratch);
	if (dt_memory_write(mem, scratch, &page, sizeof(page)) < 0)
		return dt_fail(e, "the area can not be written: %s", strerror(errno));
	rest[0].arg[0] = (uint32_t)page.pair[1];
	rest[0].arg[1] = scratch + offsetof(struct hand_over_page, head);
	rest[0].arg[2] = MSG_CMSG_CLOEXEC | MSG_DONTWAIT;
	rest[1].arg[0] = (uint32_t)page.pair[0];
	rest[2].arg[0] = (uint32_t)page.pair[1];
	/* the sockets are closed, whatever has come of it */
	if (dt_inject(tid, mem, maps, code, rest, 3, e) < 0)
		return -1;
	if (sent < 0)
		return dt_fail(e, "the session's memory can not be handed to the process: %s",
			       strerror(why));
	if (rest[0].result < 0)
		return dt_fail(e, "receiving the session's memory failed in the traced process: %s",
			       strerror((int)-rest[0].result));
	if (dt_memory_read(mem, scratch, &page, sizeof(page)) < 0)
		return dt_fail(e, "the area can not be read: %s", strerror(errno));
	fd = received(&page);
	return fd >= 0 ? fd
		       : dt_fail(e, "the process has not received the session's memory: it has "
				    "too many open files (ulimit -n)");
}

/* SPDX-License-Identifier: MIT */
#include "session/ends.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct dt_ends {
	const struct dt_shared *bell;
	int all;  /* epoll: the processes, and `stop' */
	int stop; /* eventfd */
	pthread_t thread;
};

static void *watch(void *arg)
{
	struct dt_ends *w = arg;
	struct epoll_event e;

	for (;;) {
		if (epoll_wait(w->all, &e, 1, -1) != 1)
			continue;
		if (e.data.fd == w->stop)
			return NULL;
		dt_shared_bell_ring(w->bell);
	}
}

struct dt_ends *dt_ends_watch(const struct dt_shared *bell)
{
	struct dt_ends *w = calloc(1, sizeof(*w));
	struct epoll_event e = {.events = EPOLLIN};
	sigset_t full, old;
	int rc;

	if (!w)
		return NULL;
	w->bell = bell;
	w->all = epoll_create1(EPOLL_CLOEXEC);
	w->stop = e.data.fd = eventfd(0, EFD_CLOEXEC);
	if (w->all < 0 || w->stop < 0 || epoll_ctl(w->all, EPOLL_CTL_ADD, w->stop, &e) < 0)
		goto fail;
	/* signals are for the owner thread */
	sigfillset(&full);
	pthread_sigmask(SIG_BLOCK, &full, &old);
	rc = pthread_create(&w->thread, NULL, watch, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0)
		return w;
fail:
	if (w->all >= 0)
		close(w->all);
	if (w->stop >= 0)
		close(w->stop);
	free(w);
	return NULL;
}

void dt_ends_add(struct dt_ends *w, int pidfd)
{
	/* once: it stays readable until it is closed */
	struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = pidfd};

	if (w && pidfd >= 0)
		epoll_ctl(w->all, EPOLL_CTL_ADD, pidfd, &e);
}

void dt_ends_stop(struct dt_ends *w)
{
	const uint64_t one = 1;

	if (!w)
		return;
	while (write(w->stop, &one, sizeof(one)) < 0)
		;
	pthread_join(w->thread, NULL);
	close(w->all);
	close(w->stop);
	free(w);
}

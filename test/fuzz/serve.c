/* SPDX-License-Identifier: MIT */
/*
 * The server of traces and its clients, several at a time, as serve has them. Each byte of the
 * input is a client (two bits) and what happens: it says the next line or piece, it asks for no
 * more, it reads, it goes, or what is being made is ready.
 */
#include "remote/server.c"

#include <sys/mman.h>

#include "test/fuzz/fuzz.h"

#define CLIENTS 4

static char made[1000]; /* an answer */
static bool making, unwanted;

/* ---- in place of remote/making.c: no processes ---- */

int dt_making_begin(struct dt_making *m, const struct dt_maker *maker, enum dt_form form,
		    unsigned long turn, struct dt_error *e)
{
	fuzz_must(!making);
	if (turn % 7 == 6)
		return dt_fail(e, "it can not be made");
	*m = (struct dt_making){.pid = 1, .form = form, .fd = dt_unnamed_file(e), .said = -1};
	fuzz_must(m->fd >= 0 && write(m->fd, made, turn * 97 % sizeof(made)) >= 0);
	if (turn % 5 == 4)
		dt_fail(&m->error, "what was made is damaged");
	making = true;
	unwanted = false;
	return 0;
}

bool dt_making_ended(struct dt_making *m)
{
	making = false;
	m->pid = 0;
	return true;
}

void dt_making_unwant(struct dt_making *m)
{
	unwanted = true;
}

void dt_making_stop(struct dt_making *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	making = false;
}

bool dt_making_unwanted(void)
{
	return unwanted;
}

int dt_unnamed_file(struct dt_error *e)
{
	return memfd_create("answer", MFD_CLOEXEC);
}

/* ---- clients ---- */

/* One turn of the server's loop, without a wait. */
static void turn(struct server *s, bool ready)
{
	struct pollfd p[FIRST + PEERS + 1];
	nfds_t n;

	look_at_time(s, now_ms());
	n = interests(s, p, now_ms());
	fuzz_must(poll(p, n, 0) >= 0);
	if (ready && s->making.pid && dt_making_ended(&s->making))
		end_making(s);
	for (size_t i = s->peers; i-- > 0;)
		if (!serve_peer(s, s->peer[i], p[FIRST + i].revents, 0))
			remove_peer(s, i);
	check_wanted(s);
	begin_making(s);
}

static void come(struct server *s, int *client)
{
	int pair[2];

	fuzz_must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
	fuzz_must(add_peer(s, pair[0], pair[0]));
	*client = pair[1];
}

static void take_answer(int fd)
{
	char text[512];

	while (read(fd, text, sizeof(text)) > 0)
		;
}

/* What byte `what' has client fd do; returns how much of the input that took. */
static size_t happen(struct server *s, int *fd, uint8_t what, const uint8_t *data, size_t size)
{
	size_t n = 0;

	if (*fd < 0)
		come(s, fd);
	switch (what >> 2 & 7) {
	case 0:
	case 1:
	case 2:
		/* a line, */
		n = size && memchr(data, '\n', size)
			    ? (size_t)((const uint8_t *)memchr(data, '\n', size) - data) + 1
			    : size;
		break;
	case 3:
		/* or a piece; */
		n = (size_t)what >> 5 < size ? (size_t)what >> 5 : size;
		break;
	case 4:
		take_answer(*fd);
		break;
	case 5:
		shutdown(*fd, SHUT_WR);
		break;
	case 6:
		close(*fd);
		*fd = -1;
		break;
	}
	if (n && send(*fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return n;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct dt_listener listener = {.fd = -1};
	struct dt_serving how = {.listener = &listener, .busy = size & 1};
	struct server *s = calloc(1, sizeof(*s));
	int client[CLIENTS] = {-1, -1, -1, -1};

	fuzz_begin();
	how.maker.each = size & 2;
	s->how = &how;
	s->making.fd = s->making.said = s->signals = -1;
	signal(SIGPIPE, SIG_IGN);
	for (unsigned turns = 0; size && turns < 3000; turns++) {
		uint8_t what = data[0];
		size_t used = happen(s, &client[what & 3], what, data + 1, size - 1);

		data += 1 + used;
		size -= 1 + used;
		turn(s, (what >> 2 & 7) == 7);
		for (size_t i = 0; i < s->peers; i++)
			fuzz_must(s->peer[i]->requests <= PENDING &&
				  s->peer[i]->n <= sizeof(s->peer[i]->data));
	}
	/* when all have gone, nothing is left of them */
	for (size_t i = 0; i < CLIENTS; i++)
		if (client[i] >= 0)
			close(client[i]);
	for (int i = 0; i < 3; i++)
		turn(s, true);
	fuzz_must(s->peers == 0);
	dt_making_stop(&s->making);
	free(s);
	return 0;
}

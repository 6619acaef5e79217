/* SPDX-License-Identifier: MIT */
/*
 * session/ping.c, who asks: which address is asked how often while nobody answers there, and which
 * of several exchanges is kept. The network and the time are played here.
 */
#include <netdb.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "arch/arch.h"
#include "session/ping.h"

#define ROWS 40

static char asked[ROWS * 8 + 8]; /* the first letter of each address, for each question */
static const char *answering;	 /* the letters of those that answer */
static unsigned rows, turn_now;	 /* to ask, asked */
static const uint8_t *takes;	 /* how long the answers take, in turn */
static uint64_t now, began[ROWS * 8];

static int wait_some(struct pollfd *f, unsigned n, int ms);
static ssize_t send_one(int fd, const void *data, size_t size);
static ssize_t receive_one(void *data, size_t size);

#define poll(f, n, ms)			wait_some(f, n, ms)
#define send(fd, data, size, flags)	send_one(fd, data, size)
#define recvfrom(fd, data, size, ...)	receive_one(data, size)
#define getrandom(to, size, flags)	(memset(to, 7, size), (ssize_t)(size))
#define dt_ticks()			(++now)
#define getaddrinfo(host, port, h, all) look_up(host, h, all)
#define freeaddrinfo(all)		((void)(all))

static int look_up(const char *host, const struct addrinfo *h, struct addrinfo **all);

#include "session/ping.c"

static struct packet last;

static int look_up(const char *host, const struct addrinfo *h, struct addrinfo **all)
{
	static struct sockaddr_in to = {.sin_family = AF_INET};
	static struct addrinfo found = {
		.ai_family = AF_INET, .ai_addr = (struct sockaddr *)&to, .ai_addrlen = sizeof(to)};

	(void)h;
	if (host[0] == '?')
		return EAI_NONAME;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = htons((uint16_t)host[0]);
	*all = &found;
	return 0;
}

static char letter_of(int fd)
{
	struct sockaddr_in to;
	socklen_t size = sizeof(to);

	return getpeername(fd, (struct sockaddr *)&to, &size) ? '-' : (char)ntohs(to.sin_port);
}

static int wait_some(struct pollfd *f, unsigned n, int ms)
{
	if (n == 1) { /* is it to end? */
		assert_int_equal(ms, PAUSE_MS);
		return ++turn_now > rows;
	}
	assert_int_equal(ms, ANSWER_MS);
	if (f[0].fd < 0 || !strchr(answering, letter_of(f[0].fd)))
		return 0;
	f[0].revents = POLLIN;
	f[1].revents = 0;
	return 1;
}

static ssize_t send_one(int fd, const void *data, size_t size)
{
	size_t n = strlen(asked);

	assert_int_equal(size, sizeof(last));
	memcpy(&last, data, size);
	asked[n] = fd < 0 ? '-' : letter_of(fd);
	began[n] = now;
	return fd < 0 ? -1 : (ssize_t)size;
}

static ssize_t receive_one(void *data, size_t size)
{
	struct packet k = last;

	k.answer = 1;
	memcpy(data, &k, size);
	now += *takes;
	takes += takes[1] != 0;
	return (ssize_t)size;
}

/* Asks so many rows of addresses (a letter each; ?: a name that nobody knows). */
static struct dt_ping *ask_rows(const char *addresses, const char *by, unsigned n,
				const uint8_t *took)
{
	static struct dt_ping p;
	static char address[8][4];

	free(p.noted);
	memset(&p, 0, sizeof(p));
	memset(asked, 0, sizeof(asked));
	p.fd = -1;
	p.stop = -1;
	pthread_mutex_init(&p.lock, NULL);
	for (unsigned i = 0; addresses[i]; i++) {
		snprintf(address[i], sizeof(address[i]), "%c:1", addresses[i]);
		p.address[p.addresses++] = address[i];
	}
	answering = by;
	takes = took;
	rows = n;
	turn_now = 0;
	assert_int_equal(open_socket(&p, p.address[0], NULL), 0);
	ask_all(&p);
	close(p.fd);
	return &p;
}

/* Of each address three rows are asked, then the next one's turn comes; who answers is asked on. */
static void turns(void **state)
{
	static const uint8_t took[2] = {1};
	static const struct {
		const char *addresses, *by;
		unsigned rows;
		const char *asked; /* a letter for each row */
		unsigned kept;
	} is[] = {
		{"A", "", 8, "AAAAAAAA", 0},
		{"AB", "", 14, "AAABBBAAABBBAA", 0},
		{"ABC", "", 12, "AAABBBCCCAAA", 0},
		{"ABC", "A", 8, "AAAAAAAA", 8},
		{"ABC", "B", 9, "AAABBBBBB", 6},
		{"ABC", "C", 11, "AAABBBCCCCC", 5},
		{"A?C", "", 10, "AAACCCAAAC", 0},
		{"A??", "", 8, "AAAAAAAA", 0},
		{"ABCDEFGH", "H", 25, "AAABBBCCCDDDEEEFFFGGGHHHH", 4},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(is) / sizeof(*is); i++) {
		const struct dt_ping *p = ask_rows(is[i].addresses, is[i].by, is[i].rows, took);

		/* and once at the end */
		assert_int_equal(strlen(asked), is[i].rows * IN_ROW + 1);
		for (size_t k = 0; asked[k + 1]; k++)
			if (asked[k] != is[i].asked[k / IN_ROW])
				fail_msg("%s, %s answer: %s", is[i].addresses, is[i].by, asked);
		assert_int_equal(dt_ping_kept(p), is[i].kept);
		assert_int_equal(p->n, 2 * is[i].kept);
	}
}

/* The quickest of a row is kept, the first one of those that take the same, with its times; the
 * next row tells the other one which. */
static void quickest(void **state)
{
	static const uint8_t took[] = {9, 4, 7, 4, 8, 3, 5, 5, 5, 5, 6, 6, 6, 6, 2, 0};
	static const unsigned best[] = {2, 6, 15};
	const struct dt_ping *p = ask_rows("A", "A", 3, took);

	(void)state;
	assert_int_equal(p->n, 6);
	for (unsigned i = 0; i < 3; i++) {
		const struct noted *sent = &p->noted[2 * i], *received = sent + 1;

		assert_int_equal(sent->number, best[i]);
		assert_int_equal(received->number, best[i]);
		assert_false(sent->answer || sent->received);
		assert_true(received->answer && received->received);
		assert_int_equal(sent->ticks, began[best[i] - 1]);
		assert_int_equal(received->ticks, sent->ticks + took[best[i] - 1] + 1);
	}
	assert_int_equal(le64toh(last.number), 16);
	assert_int_equal(le64toh(last.keep), 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(turns), cmocka_unit_test(quickest)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

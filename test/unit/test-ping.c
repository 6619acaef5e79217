/* SPDX-License-Identifier: MIT */
/*
 * session/ping.c. Who asks: which address is asked how often while nobody answers there, and which
 * of several exchanges is kept. Who answers: what, and which exchanges it notes. The network and
 * the time are played here.
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

/* what comes to who answers; NULL: the one who asks is played */
static const struct heard {
	uint8_t byte[104];
	size_t n;
} * heard;
static unsigned hears, at_heard, answered; /* how many come, have come, were answered */

static int wait_some(struct pollfd *f, unsigned n, int ms);
static ssize_t answer_one(const void *data, size_t size);
static ssize_t send_one(int fd, const void *data, size_t size);
static ssize_t receive_one(void *data, size_t size);

#define poll(f, n, ms)			wait_some(f, n, ms)
#define send(fd, data, size, flags)	send_one(fd, data, size)
#define sendto(fd, data, size, ...)	answer_one(data, size)
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
	if (heard) {
		assert_int_equal(ms, n == 1 ? 0 : -1);
		f[0].revents = n == 1 ? 0 : POLLIN;
		return n == 2 || at_heard == hears;
	}
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

	if (heard) {
		const struct heard *h = &heard[at_heard++];

		assert_true(h->n <= size);
		memcpy(data, h->byte, h->n);
		return (ssize_t)h->n;
	}
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

static ssize_t answer_one(const void *data, size_t size)
{
	const struct packet *k = data;
	struct packet to;

	/* the same, apart from the mark that it is an answer */
	assert_int_equal(size, sizeof(*k));
	memcpy(&to, heard[at_heard - 1].byte, sizeof(to));
	assert_int_equal(to.answer, 0);
	to.answer = 1;
	assert_memory_equal(&to, k, sizeof(to));
	answered++;
	return (ssize_t)size;
}

static const struct dt_ping *hear(const struct heard *all, unsigned n)
{
	static struct dt_ping p;

	free(p.noted);
	memset(&p, 0, sizeof(p));
	memcpy(p.word, "the word that both know, 32 long", WORD);
	p.fd = p.stop = -1;
	p.answers = true;
	pthread_mutex_init(&p.lock, NULL);
	heard = all;
	hears = n;
	at_heard = answered = 0;
	now = 1000;
	answer_all(&p);
	heard = NULL;
	return &p;
}

static struct heard question(uint64_t run, uint64_t number, uint64_t keep)
{
	struct heard h = {.n = sizeof(struct packet)};
	struct packet k = {.run = htole64(run), .number = htole64(number), .keep = htole64(keep)};

	memcpy(k.magic, magic, sizeof(magic));
	memcpy(k.word, "the word that both know, 32 long", WORD);
	memcpy(h.byte, &k, sizeof(k));
	return h;
}

/* Nothing is said to who does not know the word, byte by byte, nor to what is no question. */
static void strangers(void **state)
{
	struct heard h[8 + WORD + 4];
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 8 + WORD; i++) {
		h[n] = question(1, 2, 0);
		h[n++].byte[i] ^= (uint8_t)(1u << i % 8);
	}
	h[n] = question(1, 2, 0);
	h[n++].n--;
	h[n] = question(1, 2, 0);
	h[n].byte[offsetof(struct packet, answer)] = 1;
	n++;
	h[n] = question(1, 2, 0);
	h[n++].n = 0;
	assert_int_equal(hear(h, n)->n, 0);
	assert_int_equal(answered, 0);
	h[n++] = question(1, 2, 0);
	assert_int_equal(hear(h, n)->n, 0);
	assert_int_equal(answered, 1);
}

/* What the other one keeps is noted once, with its times, if it is one of the last 64 of that run;
 * a question that is answered takes two ticks: when it came, when the answer went. */
static void kept(void **state)
{
	struct heard h[80];
	const struct dt_ping *p;

	(void)state;
	h[0] = question(7, 1, 0);
	h[1] = question(8, 1, 0);
	h[2] = question(7, 2, 1);
	h[3] = question(7, 3, 1);
	h[4] = question(9, 3, 2);
	h[5] = question(7, 4, 99);
	p = hear(h, 6);
	assert_int_equal(answered, 6);
	assert_int_equal(dt_ping_kept(p), 1);
	assert_int_equal(p->n, 2);
	assert_true(!p->noted[0].answer && p->noted[0].received);
	assert_true(p->noted[1].answer && !p->noted[1].received);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(p->noted[i].run, 7);
		assert_int_equal(p->noted[i].number, 1);
		assert_int_equal(p->noted[i].ticks, 1001 + i);
	}
	/* the last question has a place, too: of 63 others before it the first one is known */
	for (unsigned n = 63; n <= 65; n++) {
		for (unsigned i = 0; i < n; i++)
			h[i] = question(7, i + 1, 0);
		h[n] = question(7, n + 1, 1);
		assert_int_equal(dt_ping_kept(hear(h, n + 1)), n == 63);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(turns), cmocka_unit_test(quickest),
					   cmocka_unit_test(strangers), cmocka_unit_test(kept)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

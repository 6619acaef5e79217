/* SPDX-License-Identifier: MIT */
/*
 * The page's requests, of a trace that is a seed. The first byte chooses:
 *   0     the rest is what a client sends, byte for byte: the door and the HTTP server. '@' stands
 * for the word in the address, '`' for the host else  what is asked for, and lines NAME=VALUE: what
 * answers
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "show/words.h"
#include "show/format.h"
#include "test/fuzz/fuzz.h"
#include "view/http.h"

#define NAMES 16

static struct dt_view *view;
static struct dt_http *http;
static char word[33], host[64];
static struct sockaddr_in address;

static const char *folder(void)
{
	const char *seeds = getenv("DEVTRACE_FUZZ_SEEDS");

	return seeds ? seeds : "build/fuzz/seeds/page";
}

static void begin(void)
{
	static struct dt_formats formats;
	uint64_t records, total;
	char path[4096];
	struct dt_error e = {""};
	unsigned port;

	snprintf(path, sizeof(path), "%s/trace.db", folder());
	formats.reader = dt_reader_open(path, &e);
	view = formats.reader ? dt_view_open(path, &formats, false, NULL, &e) : NULL;
	http = view ? dt_http_listen(NULL, &e) : NULL;
	if (!http || dt_http_start(http, view, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	while (!dt_view_progress(view, &records, &total, &e))
		usleep(10000);
	fuzz_must(sscanf(dt_http_address(http), "http://%63[^/]/%32[0-9a-f]", host, word) == 2);
	fuzz_must(sscanf(host, "127.0.0.1:%u", &port) == 1);
	address =
		(struct sockaddr_in){AF_INET, htons((uint16_t)port), {htonl(INADDR_LOOPBACK)}, {0}};
}

/* ---- by HTTP ---- */

static void send_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = send(fd, p, n, MSG_NOSIGNAL);

		if (done <= 0)
			return;
		p += done;
		n -= (size_t)done;
	}
}

static void by_http(const uint8_t *data, size_t size)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = {.tv_sec = 8};
	char text[8192];

	fuzz_must(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
	for (size_t i = 0; i < size;) {
		size_t n = 0;

		while (i + n < size && data[i + n] != '@' && data[i + n] != '`')
			n++;
		send_all(fd, (const char *)data + i, n);
		i += n;
		if (i < size && data[i++] == '@')
			send_all(fd, word, strlen(word));
		else if (i <= size && data[i - 1] == '`')
			send_all(fd, host, strlen(host));
	}
	/* it is answered, or closed */
	shutdown(fd, SHUT_WR);
	while (recv(fd, text, sizeof(text), 0) > 0)
		;
	close(fd);
}

/* ---- without ---- */

struct query {
	char *name[NAMES], *value[NAMES];
	unsigned n;
};

static const char *value_of(void *ctx, const char *name)
{
	struct query *q = ctx;

	for (unsigned i = 0; i < q->n; i++)
		if (!strcmp(q->name[i], name))
			return q->value[i];
	return NULL;
}

static void by_hand(const uint8_t *data, size_t size)
{
	char *text = (char *)malloc(size + 1), *line, *save = NULL, *equals;
	struct query q = {.n = 0};
	struct dt_view_request r = {.value = value_of, .ctx = &q};
	struct dt_view_answer a;

	fuzz_must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	r.what = strtok_r(text, "\n", &save);
	while ((line = strtok_r(NULL, "\n", &save)) && q.n < NAMES) {
		equals = strchr(line, '=');
		if (!equals)
			continue;
		*equals = '\0';
		q.name[q.n] = line;
		q.value[q.n++] = equals + 1;
	}
	if (r.what) {
		dt_view_answer(view, &r, &a);
		fuzz_must(!a.text.failed);
		fuzz_must(a.status == 200 || a.status == 400 || a.status == 404 ||
			  a.status == 409 || a.status == 500);
		free(a.text.bytes.p);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_begin();
	if (!view)
		begin();
	if (size && data[0])
		by_hand(data + 1, size - 1);
	else if (size)
		by_http(data + 1, size - 1);
	return 0;
}

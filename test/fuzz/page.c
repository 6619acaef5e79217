/* SPDX-License-Identifier: MIT */
/*
 * The page's requests, of a copy of a trace that is a seed. The first byte chooses:
 *   0     the rest is what a client sends, byte for byte: the door and the HTTP server. '@' stands
 *         for the word in the address, '`' for the host
 *   2     what is changed ("note") or asked in SQL ("ask", until it is answered or half a second is
 *         up), and lines NAME=VALUE
 *   else  what is asked for, and lines NAME=VALUE: what answers
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "cmd/asking.h"
#include "show/words.h"
#include "show/format.h"
#include "test/fuzz/fuzz.h"
#include "view/http.h"

#define NAMES 16

static struct dt_view *view;
static struct dt_http *http;
static struct dt_view_sql sql;
static char word[33], host[64];
static struct sockaddr_in address;

static const char *folder(void)
{
	const char *seeds = getenv("DEVTRACE_FUZZ_SEEDS");

	return seeds ? seeds : "build/fuzz/seeds/page";
}

static void copy(const char *from, const char *to)
{
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	char part[65536];
	size_t n;

	fuzz_must(in && out);
	while ((n = fread(part, 1, sizeof(part), in)))
		fuzz_must(fwrite(part, 1, n, out) == n);
	fclose(in);
	fuzz_must(fclose(out) == 0);
}

static void begin(void)
{
	static struct dt_formats formats;
	uint64_t records, total;
	static char path[4096];
	struct dt_error e = {""};
	unsigned port;

	/* notes are written */
	snprintf(path, sizeof(path), "%s/trace.db", folder());
	copy(path, fuzz_path("second"));
	snprintf(path, sizeof(path), "%s", fuzz_path("second"));
	formats.reader = dt_reader_open(path, &e);
	view = formats.reader ? dt_view_open(path, &formats, false, NULL, &e) : NULL;
	if (view) {
		sql = dt_asking_view(dt_asking_new(path));
		dt_view_use_sql(view, &sql);
	}
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

/* Waits for the answer to a question; one that takes long is ended. */
static void wait_asked(const struct dt_json *said)
{
	static const char begin[] = "{\"number\":", done[] = "{\"done\":true";
	uint64_t number = 0;
	struct dt_error e;
	bool over = false;

	if (said->bytes.n < sizeof(begin) || memcmp(said->bytes.p, begin, sizeof(begin) - 1) != 0)
		return;
	for (size_t i = sizeof(begin) - 1; i < said->bytes.n && said->bytes.p[i] != '}'; i++)
		number = 10 * number + (uint64_t)(said->bytes.p[i] - '0');
	for (unsigned i = 0; i < 50 && !over; i++) {
		struct dt_json answer = {0};

		usleep(i ? 10000 : 500);
		fuzz_must(sql.asked(sql.ctx, number, &answer));
		over = !memcmp(answer.bytes.p, done, sizeof(done) - 1);
		free(answer.bytes.p);
	}
	sql.ask(sql.ctx, "", &number, &e);
}

static void by_hand(const uint8_t *data, size_t size, bool change)
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
		if (change)
			dt_view_change(view, &r, &a);
		else
			dt_view_answer(view, &r, &a);
		fuzz_must(!a.text.failed);
		fuzz_must(a.status == 200 || a.status == 400 || a.status == 404 ||
			  a.status == 409 || a.status == 500);
		if (change)
			wait_asked(&a.text);
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
		by_hand(data + 1, size - 1, data[0] == 2);
	else if (size)
		by_http(data + 1, size - 1);
	return 0;
}

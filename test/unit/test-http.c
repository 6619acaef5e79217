/* SPDX-License-Identifier: MIT */
/*
 * view/http.c with a libmicrohttpd that takes its own manual to the letter: only what is suspended
 * is resumed, what is resumed is not suspended a second time, each response is given back, and a
 * request is not answered at its first call. What it is asked is made up, and so is the view.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "view/http.c"

/* ---- the library ---- */

struct MHD_Response {
	const char *text;
	size_t n;
	unsigned headers, owners;
	char type[64];
	MHD_ContentReaderCallback read;
	MHD_ContentReaderFreeCallback end;
	void *ctx;
};

struct MHD_Connection {
	const char *name[8], *value[8]; /* headers; arguments begin with '?' */
	bool suspended;
	unsigned status; /* of the answer; 0: there is none */
	struct MHD_Response *response;
};

static unsigned responses, resumed;

static const char *made_up_lookup(struct MHD_Connection *c, enum MHD_ValueKind kind,
				  const char *name)
{
	for (unsigned i = 0; i < 8 && c->name[i]; i++)
		if ((kind == MHD_GET_ARGUMENT_KIND) == (c->name[i][0] == '?') &&
		    !strcmp(c->name[i] + (c->name[i][0] == '?'), name))
			return c->value[i];
	return NULL;
}

static struct MHD_Response *made_up_response(size_t n, void *p, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = calloc(1, sizeof(*r));

	*r = (struct MHD_Response){.text = p, .n = n, .owners = 1};
	if (mode == MHD_RESPMEM_MUST_FREE)
		free(p);
	responses++;
	return r;
}

static struct MHD_Response *made_up_stream(uint64_t size, size_t block,
					   MHD_ContentReaderCallback read, void *ctx,
					   MHD_ContentReaderFreeCallback end)
{
	struct MHD_Response *r = calloc(1, sizeof(*r));

	assert_true(size == MHD_SIZE_UNKNOWN);
	assert_true(block >= 256);
	*r = (struct MHD_Response){.owners = 1, .read = read, .end = end, .ctx = ctx};
	responses++;
	return r;
}

static enum MHD_Result made_up_header(struct MHD_Response *r, const char *name, const char *value)
{
	r->headers++;
	if (!strcmp(name, "Content-Type"))
		snprintf(r->type, sizeof(r->type), "%s", value);
	return MHD_YES;
}

static void made_up_destroy(struct MHD_Response *r)
{
	assert_true(r->owners > 0);
	if (--r->owners)
		return;
	if (r->end)
		r->end(r->ctx);
	free(r);
	responses--;
}

static enum MHD_Result made_up_queue(struct MHD_Connection *c, unsigned status,
				     struct MHD_Response *r)
{
	assert_int_equal(c->status, 0);
	c->status = status;
	c->response = r;
	r->owners++;
	return MHD_YES;
}

static void made_up_suspend(struct MHD_Connection *c)
{
	assert_false(c->suspended);
	c->suspended = true;
}

static void made_up_resume(struct MHD_Connection *c)
{
	assert_true(c->suspended);
	c->suspended = false;
	resumed++;
}

static struct MHD_Connection *at_end[4]; /* the daemon's, ended with it */

static void made_up_stop(struct MHD_Daemon *d)
{
	for (unsigned i = 0; i < 4; i++)
		if (at_end[i]) {
			/* "you must resume all connections before" */
			assert_false(at_end[i]->suspended);
			made_up_destroy(at_end[i]->response);
			at_end[i] = NULL;
		}
}

struct dt_microhttpd dt_mhd = {
	.add_response_header = made_up_header,
	.create_response_from_buffer = made_up_response,
	.create_response_from_callback = made_up_stream,
	.destroy_response = made_up_destroy,
	.lookup_connection_value = made_up_lookup,
	.queue_response = made_up_queue,
	.resume_connection = made_up_resume,
	.stop_daemon = made_up_stop,
	.suspend_connection = made_up_suspend,
};

int dt_microhttpd_load(struct dt_error *e)
{
	return 0;
}

/* ---- the view ---- */

static bool live, no_memory;
static char asked[64];
static struct dt_view_news listener;

static void answer(const char *how, const char *what, struct dt_view_answer *a)
{
	snprintf(asked, sizeof(asked), "%s %s", how, what);
	*a = (struct dt_view_answer){.status = 299, .type = "text/made-up"};
	a->text.bytes.p = (void *)strdup("{}");
	a->text.bytes.n = 2;
	a->text.failed = no_memory;
}

void dt_view_answer(struct dt_view *v, const struct dt_view_request *r, struct dt_view_answer *a)
{
	const char *x = r->value(r->ctx, "x");

	answer(x ? x : "get", r->what, a);
}

void dt_view_change(struct dt_view *v, const struct dt_view_request *r, struct dt_view_answer *a)
{
	answer("change", r->what, a);
}

void dt_view_command(struct dt_view *v, const char *command, struct dt_view_answer *a)
{
	answer("command", command, a);
}

bool dt_view_is_live(const struct dt_view *v)
{
	return live;
}
void dt_view_tell_news(struct dt_view *v, const struct dt_view_news *news)
{
	listener = *news;
}
void dt_view_news_text(struct dt_view *v, char *text, size_t n)
{
	snprintf(text, n, "{\"n\":1}");
}

/* ---- requests ---- */

static struct dt_http *server;
static char host[sizeof(((struct dt_http *)0)->host)], other[sizeof(host) + 8];

static void open_server(const char *listen)
{
	struct dt_error e = {""};

	server = dt_http_listen(listen, &e);
	assert_string_equal(e.text, "");
	assert_non_null(server);
	server->view = (struct dt_view *)server;
	server->daemon = (struct MHD_Daemon *)server;
	snprintf(host, sizeof(host), "%s", server->host);
	snprintf(other, sizeof(other), "http://%s", host);
}

static void close_server(void)
{
	dt_http_stop(server);
	assert_null(listener.fn);
	assert_int_equal(responses, 0);
}

/* Asks as libmicrohttpd does, with a body if there is one; path: behind the word. */
static unsigned ask(struct MHD_Connection *c, const char *method, const char *word,
		    const char *path, size_t body)
{
	char url[128];
	void *con = NULL;
	size_t none = 0;

	snprintf(url, sizeof(url), "/%s%s", word ? word : server->token, path);
	c->status = 0;
	asked[0] = '\0';
	assert_int_equal(on_request(server, c, url, method, "HTTP/1.1", NULL, &none, &con),
			 MHD_YES);
	if (c->status)
		return c->status;
	assert_non_null(con);
	if (body) {
		assert_int_equal(on_request(server, c, url, method, "HTTP/1.1", "x", &body, &con),
				 MHD_YES);
		assert_int_equal(body, 0);
		assert_int_equal(c->status, 0);
	}
	assert_int_equal(on_request(server, c, url, method, "HTTP/1.1", NULL, &none, &con),
			 MHD_YES);
	assert_int_not_equal(c->status, 0);
	return c->status;
}

/* Likewise, with these headers, and ends the connection. */
static unsigned status_of(const char *method, const char *word, const char *path,
			  const struct MHD_Connection *with)
{
	struct MHD_Connection c = *with;
	unsigned status = ask(&c, method, word, path, 0);

	assert_true(c.response->headers >= 8);
	made_up_destroy(c.response);
	return status;
}

static const struct {
	unsigned get, page, post; /* get/trace, the page itself, tell?command= */
	const char *name[4], *value[4];
} senders[] = {
	{299, 200, 403, {"Host"}, {host}},
	{299, 200, 299, {"Host", "Origin"}, {host, other}},
	{403, 403, 403, {"Host"}, {"evil.example"}},
	{403, 403, 403, {"Origin"}, {other}},
	{403, 403, 403, {"Host", "Origin"}, {host, "http://evil.example"}},
	{403, 403, 403, {"Host", "Origin"}, {host, "https://127.0.0.1"}},
	{403, 403, 403, {"Host", "Origin"}, {host, "null"}},
	{299, 200, 403, {"Host", "Sec-Fetch-Site"}, {host, "none"}},
	{299, 200, 299, {"Host", "Sec-Fetch-Site", "Origin"}, {host, "same-origin", other}},
	{403, 403, 403, {"Host", "Sec-Fetch-Site"}, {host, "cross-site"}},
	{403, 403, 403, {"Host", "Sec-Fetch-Site"}, {host, "same-site"}},
	{403,
	 200,
	 403,
	 {"Host", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"},
	 {host, "cross-site", "navigate", "document"}},
	{403,
	 403,
	 403,
	 {"Host", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"},
	 {host, "cross-site", "navigate", "iframe"}},
	{403,
	 403,
	 403,
	 {"Host", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"},
	 {host, "cross-site", "no-cors", "document"}},
	{403,
	 403,
	 403,
	 {"Host", "Sec-Fetch-Site", "Sec-Fetch-Mode"},
	 {host, "cross-site", "navigate"}},
	{403,
	 403,
	 403,
	 {"Host", "Sec-Fetch-Site", "Sec-Fetch-Dest"},
	 {host, "cross-site", "document"}},
};

static void who_asks(void **state)
{
	open_server(NULL);
	for (size_t i = 0; i < sizeof(senders) / sizeof(*senders); i++) {
		struct MHD_Connection c = {.name = {"?command"}, .value = {"status"}};

		for (unsigned k = 0; k < 4; k++) {
			c.name[k + 1] = senders[i].name[k];
			c.value[k + 1] = senders[i].value[k];
		}
		assert_int_equal(status_of("GET", NULL, "/get/trace", &c), senders[i].get);
		assert_string_equal(asked, senders[i].get == 299 ? "get trace" : "");
		assert_int_equal(status_of("GET", NULL, "/", &c), senders[i].page);
		assert_int_equal(status_of("POST", NULL, "/tell", &c), senders[i].post);
		assert_string_equal(asked, senders[i].post == 299 ? "command status" : "");
	}
	close_server();
}

static void what_is_asked(void **state)
{
	struct MHD_Connection c = {.name = {"Host", "Origin", "?x"}, .value = {host, other, "by"}};
	char word[64];

	open_server("127.0.0.1:0");
	assert_int_equal(status_of("PUT", NULL, "/", &c), 405);
	assert_int_equal(status_of("HEAD", NULL, "/", &c), 405);
	assert_int_equal(status_of("GET", NULL, "", &c), 404);
	assert_int_equal(status_of("GET", NULL, "/nothing", &c), 404);
	assert_int_equal(status_of("GET", NULL, "/get/stats", &c), 299);
	assert_string_equal(asked, "by stats");
	assert_int_equal(status_of("GET", NULL, "/draw.js", &c), 200);
	assert_int_equal(status_of("POST", NULL, "/tell", &c), 405); /* what? */
	assert_int_equal(status_of("POST", NULL, "/get/stats", &c), 405);
	assert_int_equal(status_of("POST", NULL, "/note", &c), 299);
	assert_string_equal(asked, "change note");
	assert_int_equal(status_of("POST", NULL, "/ask", &c), 299);
	assert_string_equal(asked, "change ask");
	c.name[3] = "?command";
	c.value[3] = "start";
	assert_int_equal(status_of("POST", NULL, "/other", &c), 405);
	assert_int_equal(status_of("POST", NULL, "/tell", &c), 299);
	/* there is no news of what is not recorded */
	live = false;
	assert_int_equal(status_of("GET", NULL, "/get/news", &c), 299);
	assert_string_equal(asked, "by news");
	no_memory = true;
	assert_int_equal(status_of("GET", NULL, "/get/stats", &c), 500);
	assert_int_equal(status_of("POST", NULL, "/note", &c), 500);
	no_memory = false;
	/* a body is thrown away, and then the request answered */
	assert_int_equal(ask(&c, "POST", NULL, "/tell", 9), 299);
	made_up_destroy(c.response);
	/* each letter of the word counts */
	for (unsigned i = 0; i < TOKEN; i++) {
		strcpy(word, server->token);
		word[i] ^= 1;
		assert_int_equal(status_of("GET", word, "/get/stats", &c), 404);
	}
	word[TOKEN - 1] = '\0';
	assert_int_equal(status_of("GET", word, "", &c), 404);
	assert_int_equal(status_of("GET", server->token, "0/", &c), 404);
	close_server();
}

/* ---- news ---- */

static ssize_t news_of(struct MHD_Connection *c, char *text, size_t size)
{
	memset(text, 0, size);
	return c->response->read(c->response->ctx, 0, text, size - 1);
}

static void news(void **state)
{
	struct MHD_Connection c[4];
	char text[256];

	live = true;
	open_server(NULL);
	for (unsigned i = 0; i < 4; i++) {
		c[i] = (struct MHD_Connection){.name = {"Host"}, .value = {host}};
		assert_int_equal(ask(&c[i], "GET", NULL, "/get/news", 0), 200);
		assert_string_equal(c[i].response->type, "text/event-stream");
		/* something at once */
		assert_int_equal(news_of(&c[i], text, sizeof(text)), 15);
		assert_string_equal(text, "data: {\"n\":1}\n\n");
	}
	/* then none: it waits, and is woken once, however much there is */
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(news_of(&c[i], text, sizeof(text)), 0);
		assert_true(c[i].suspended);
	}
	resumed = 0;
	on_news(server);
	assert_int_equal(resumed, 3);
	on_news(server);
	assert_int_equal(resumed, 3);
	for (unsigned i = 0; i < 4; i++)
		assert_true(news_of(&c[i], text, sizeof(text)) > 0);
	/* one of them goes away, in the middle */
	made_up_destroy(c[1].response);
	assert_int_equal(news_of(&c[0], text, sizeof(text)), 0);
	assert_int_equal(news_of(&c[3], text, sizeof(text)), 0);
	on_news(server);
	assert_int_equal(resumed, 5);
	assert_true(news_of(&c[0], text, sizeof(text)) > 0);
	assert_int_equal(news_of(&c[0], text, sizeof(text)), 0);
	at_end[0] = &c[0];
	at_end[1] = &c[2];
	at_end[2] = &c[3];
	close_server();
}

static void news_ends(void **state)
{
	struct MHD_Connection c = {.name = {"Host"}, .value = {host}};
	char text[256];

	live = true;
	open_server(NULL);
	assert_int_equal(ask(&c, "GET", NULL, "/get/news", 0), 200);
	server->stopping = true;
	assert_int_equal(news_of(&c, text, sizeof(text)), MHD_CONTENT_READER_END_OF_STREAM);
	assert_int_equal(news_of(&c, text, sizeof(text)), MHD_CONTENT_READER_END_OF_STREAM);
	assert_false(c.suspended);
	at_end[0] = &c;
	close_server();
}

/* ---- addresses ---- */

static const struct {
	const char *listen, *address, *port; /* address NULL: it is refused */
} addresses[] = {
	{"localhost", "localhost", "0"},
	{"localhost:80", "localhost", "80"},
	{":80", "", "80"},
	{"", "", "0"},
	{"[::1]", "::1", "0"},
	{"[::1]:80", "::1", "80"},
	{"[]:8", "", "8"},
	{"[::1", NULL, NULL},
	{"[::1]80", NULL, NULL},
	{"::1", NULL, NULL},
	{"a:1234567", "a", "1234567"},
	{"a:12345678", NULL, NULL},
	{"123456789", "123456789", "0"},
	{"1234567890", NULL, NULL},
	{"[123456789]", "123456789", "0"},
	{"[1234567890]", NULL, NULL},
};

static void where_it_listens(void **state)
{
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		char address[10] = "", port[8] = "";
		struct dt_error e = {""};
		int rc = split(addresses[i].listen, address, sizeof(address), port, sizeof(port),
			       &e);

		assert_int_equal(rc, addresses[i].address ? 0 : -1);
		assert_int_equal(!e.text[0], !rc);
		if (!rc) {
			assert_string_equal(address, addresses[i].address);
			assert_string_equal(port, addresses[i].port);
		}
	}
}

/* By which names it may be asked for. */
static void names(void **state)
{
	char own[256] = "", wanted[300];
	unsigned port;

	open_server("127.0.0.1");
	port = dt_door_port(server->door);
	snprintf(wanted, sizeof(wanted), "http://127.0.0.1:%u/%s/", port, server->token);
	assert_string_equal(dt_http_address(server), wanted);
	snprintf(wanted, sizeof(wanted), "localhost:%u", port);
	assert_true(is_host(server, wanted));
	assert_false(is_host(server, "localhost"));
	assert_false(is_host(server, ""));
	assert_false(is_host(server, NULL));
	close_server();

	open_server("0.0.0.0");
	gethostname(own, sizeof(own) - 1);
	snprintf(wanted, sizeof(wanted), "%s:%u", own, dt_door_port(server->door));
	assert_string_equal(server->host, wanted);
	assert_true(is_host(server, "anything"));
	assert_false(is_host(server, NULL));
	close_server();

	open_server("127.0.0.2");
	snprintf(wanted, sizeof(wanted), "127.0.0.2:%u", dt_door_port(server->door));
	assert_string_equal(server->host, wanted);
	snprintf(wanted, sizeof(wanted), "localhost:%u", dt_door_port(server->door));
	assert_false(is_host(server, wanted));
	assert_false(is_host(server, ""));
	close_server();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_asks),
		cmocka_unit_test(what_is_asked),
		cmocka_unit_test(news),
		cmocka_unit_test(news_ends),
		cmocka_unit_test(where_it_listens),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

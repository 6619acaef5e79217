/* SPDX-License-Identifier: MIT */
/* HTTP. */
#include "view/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "view/door.h"
#include "view/microhttpd.h"
#include "view/page.h"

#define TOKEN DT_DOOR_WORD /* hexadecimal digits */

/* A page that waits for news. */
struct stream {
	struct dt_http *http;
	struct MHD_Connection *connection;
	unsigned long seen; /* dt_http.news when it was last told */
	bool waits;	    /* its connection is suspended until there is news */
	struct stream *next;
};

struct dt_http {
	struct dt_view *view;
	pthread_mutex_t lock; /* guards the next three */
	struct stream *streams;
	unsigned long news; /* how often there has been news */
	bool stopping;
	struct MHD_Daemon *daemon;
	struct dt_door *door;
	char token[TOKEN + 1];
	char host[300]; /* host and port as they stand in the address */
	char local[64]; /* localhost and port; "": it does not listen on a loopback address */
	char address[400];
	bool any; /* it listens on all addresses: clients may use any name for the host */
};

/* ---- checking requests ---- */

/* Says whether the header Host names this server. */
static bool is_host(const struct dt_http *s, const char *host)
{
	return host && (s->any || !strcmp(host, s->host) || (*s->local && !strcmp(host, s->local)));
}

/* Says whether the request is to show the page as a whole window: the user has followed a link, or
 * the file of cmd/browser.h. */
static bool is_visit(struct MHD_Connection *c)
{
	const char *mode = dt_mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Mode");
	const char *dest = dt_mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Dest");

	return mode && dest && !strcmp(mode, "navigate") && !strcmp(dest, "document");
}

/*
 * Says whether the request may be answered: it does not come from another site's page. For such a
 * page the browser sends headers that say so; a request without them was made by no page. Only the
 * page itself may be opened from elsewhere, and only as a whole window, which other sites can not
 * look into.
 */
static bool is_own(const struct dt_http *s, struct MHD_Connection *c, bool page)
{
	const char *origin = dt_mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
	const char *site = dt_mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site");
	const char *host = dt_mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Host");

	if (!is_host(s, host))
		return false;
	if (origin && (strncmp(origin, "http://", 7) != 0 || strcmp(origin + 7, host) != 0))
		return false;
	return !site || !strcmp(site, "same-origin") || !strcmp(site, "none") ||
	       (page && is_visit(c));
}

/* Says whether the text begins with the right word and ends there or at a slash. The comparison
 * takes the same time wherever the word is wrong. */
static bool is_token(const void *ctx, const char *text)
{
	const struct dt_http *s = ctx;
	unsigned char differ = 0;

	if (strnlen(text, TOKEN) < TOKEN)
		return false;
	for (unsigned i = 0; i < TOKEN; i++)
		differ |= (unsigned char)(text[i] ^ s->token[i]);
	return !differ && (text[TOKEN] == '/' || !text[TOKEN]);
}

/* ---- answers ---- */

static void add_headers(struct MHD_Response *r, const char *type)
{
	static const char *const header[][2] = {
		{"Content-Security-Policy",
		 "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; "
		 "img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors "
		 "'none'"},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"X-Frame-Options", "DENY"},
		{"Cache-Control", "no-store"},
	};

	dt_mhd.add_response_header(r, "Content-Type", type);
	for (size_t i = 0; i < sizeof(header) / sizeof(*header); i++)
		dt_mhd.add_response_header(r, header[i][0], header[i][1]);
}

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status, const char *type, void *p,
			     size_t n, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = dt_mhd.create_response_from_buffer(n, p, mode);
	enum MHD_Result rc;

	if (!r) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(p);
		return MHD_NO;
	}
	add_headers(r, type);
	rc = dt_mhd.queue_response(c, status, r);
	dt_mhd.destroy_response(r);
	return rc;
}

static enum MHD_Result reply_text(struct MHD_Connection *c, unsigned status, const char *text)
{
	return reply(c, status, "text/plain; charset=utf-8", (void *)(uintptr_t)text, strlen(text),
		     MHD_RESPMEM_PERSISTENT);
}

static const char *value_of(void *ctx, const char *name)
{
	return dt_mhd.lookup_connection_value(ctx, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result answer_request(const struct dt_http *s, struct MHD_Connection *c,
				      const char *what)
{
	const struct dt_view_request request = {.what = what, .value = value_of, .ctx = c};
	struct dt_view_answer a;

	dt_view_answer(s->view, &request, &a);
	if (a.text.failed) {
		free(a.text.bytes.p);
		return reply_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	}
	return reply(c, (unsigned)a.status, a.type, a.text.bytes.p, a.text.bytes.n,
		     MHD_RESPMEM_MUST_FREE);
}

/* ---- news ---- */

/* Wakes the pages that wait; called by a thread of the view's. */
static void on_news(void *ctx)
{
	struct dt_http *s = ctx;

	pthread_mutex_lock(&s->lock);
	s->news++;
	for (struct stream *x = s->streams; x; x = x->next)
		if (x->waits) {
			x->waits = false;
			dt_mhd.resume_connection(x->connection);
		}
	pthread_mutex_unlock(&s->lock);
}

static ssize_t read_news(void *ctx, uint64_t pos, char *buf, size_t max)
{
	struct stream *x = ctx;
	struct dt_http *s = x->http;
	char text[256];
	bool any;

	pthread_mutex_lock(&s->lock);
	any = x->seen != s->news;
	x->seen = s->news;
	if (!any && !s->stopping) {
		x->waits = true;
		dt_mhd.suspend_connection(x->connection);
	}
	pthread_mutex_unlock(&s->lock);
	if (s->stopping)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!any)
		return 0;
	dt_view_news_text(s->view, text, sizeof(text));
	return snprintf(buf, max, "data: %s\n\n", text);
}

static void end_news(void *ctx)
{
	struct stream *x = ctx, **p;

	pthread_mutex_lock(&x->http->lock);
	for (p = &x->http->streams; *p != x; p = &(*p)->next)
		;
	*p = x->next;
	pthread_mutex_unlock(&x->http->lock);
	free(x);
}

/* Answers with server-sent events: one at once, and one whenever there is news. */
static enum MHD_Result answer_news(struct dt_http *s, struct MHD_Connection *c)
{
	struct stream *x = malloc(sizeof(*x));
	struct MHD_Response *r;
	enum MHD_Result rc;

	if (!x)
		return MHD_NO;
	*x = (struct stream){.http = s, .connection = c, .seen = ~0ul};
	pthread_mutex_lock(&s->lock);
	x->next = s->streams;
	s->streams = x;
	pthread_mutex_unlock(&s->lock);
	r = dt_mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, read_news, x, end_news);
	if (!r) {
		end_news(x);
		return MHD_NO;
	}
	add_headers(r, "text/event-stream");
	rc = dt_mhd.queue_response(c, MHD_HTTP_OK, r);
	dt_mhd.destroy_response(r);
	return rc;
}

/* Passes a command to the session, or changes a note of the file: only from our own page, so the
 * header Origin, which is_own() has checked, must be there. */
static enum MHD_Result answer_command(const struct dt_http *s, struct MHD_Connection *c,
				      const char *rest)
{
	const char *command = dt_mhd.lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "command");
	struct dt_view_answer a;

	bool note = strcmp(rest, "note") == 0 || strcmp(rest, "ask") == 0;

	if (!note && (strcmp(rest, "tell") != 0 || !command))
		return reply_text(c, MHD_HTTP_METHOD_NOT_ALLOWED,
				  "only tell?command=, note? and ask? are posted\n");
	if (!dt_mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Origin"))
		return reply_text(c, MHD_HTTP_FORBIDDEN, "not from there\n");
	if (note)
		dt_view_change(s->view, &(struct dt_view_request){rest, value_of, c}, &a);
	else
		dt_view_command(s->view, command, &a);
	if (a.text.failed) {
		free(a.text.bytes.p);
		return reply_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	}
	return reply(c, (unsigned)a.status, a.type, a.text.bytes.p, a.text.bytes.n,
		     MHD_RESPMEM_MUST_FREE);
}

/* ---- requests ---- */

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **con)
{
	struct dt_http *s = ctx;
	const struct dt_page_file *file;
	bool post = strcmp(method, "POST") == 0;
	const char *rest;

	if (strcmp(method, "GET") != 0 && !post)
		return reply_text(c, MHD_HTTP_METHOD_NOT_ALLOWED,
				  "only GET is answered, and POST of tell, note and ask\n");
	/* at the first call the request's body has not been read, and libmicrohttpd would close the
	 * connection after an answer */
	if (!*con) {
		*con = c;
		return MHD_YES;
	}
	if (*upload_size) { /* no request needs a body: it is thrown away */
		*upload_size = 0;
		return MHD_YES;
	}
	if (!is_own(s, c, !post && strlen(url) == 1 + TOKEN + 1))
		return reply_text(c, MHD_HTTP_FORBIDDEN, "not from there\n");
	if (url[0] != '/' || !is_token(s, url + 1))
		return reply_text(c, MHD_HTTP_NOT_FOUND,
				  "open the whole address that devtrace view has printed\n");
	rest = url + 1 + TOKEN;
	if (!*rest) /* without the slash the page's relative addresses would be wrong */
		return reply_text(c, MHD_HTTP_NOT_FOUND, "the address ends with a slash\n");
	rest++;
	if (post)
		return answer_command(s, c, rest);
	if (!strcmp(rest, "get/news") && dt_view_is_live(s->view))
		return answer_news(s, c);
	if (strncmp(rest, "get/", 4) == 0)
		return answer_request(s, c, rest + 4);
	file = dt_page_find(rest);
	if (!file)
		return reply_text(c, MHD_HTTP_NOT_FOUND, "there is no such file\n");
	return reply(c, MHD_HTTP_OK, file->type, (void *)(uintptr_t)file->begin,
		     (size_t)(file->end - file->begin), MHD_RESPMEM_PERSISTENT);
}

/* ---- starting ---- */

static int make_token(struct dt_http *s, struct dt_error *e)
{
	unsigned char random[TOKEN / 2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return dt_fail(e, "no random numbers: %s", strerror(errno));
	for (unsigned i = 0; i < sizeof(random); i++)
		snprintf(s->token + 2 * i, 3, "%02x", random[i]);
	return 0;
}

/* Splits "[::1]:80", "localhost" or ":80"; without a port it is "0". */
static int split(const char *listen, char *address, size_t size, char *port, size_t port_size,
		 struct dt_error *e)
{
	const char *colon = strrchr(listen, ':');
	size_t n;

	if (*listen == '[') {
		const char *end = strchr(listen, ']');

		if (!end || (end[1] && end[1] != ':'))
			return dt_fail(e, "--listen %s: [ADDRESS]:PORT", listen);
		colon = end[1] ? end + 1 : NULL;
		n = (size_t)(end - listen) - 1;
		listen++;
	} else {
		if (colon && strchr(listen, ':') != colon)
			return dt_fail(e, "--listen %s: an address with colons stands in brackets",
				       listen);
		n = colon ? (size_t)(colon - listen) : strlen(listen);
	}
	if (n >= size || (colon && strlen(colon + 1) >= port_size))
		return dt_fail(e, "--listen: ADDRESS:PORT");
	memcpy(address, listen, n);
	address[n] = '\0';
	strcpy(port, colon ? colon + 1 : "0");
	return 0;
}

static int find_address(const char *listen, struct sockaddr_storage *to, struct dt_error *e)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_PASSIVE},
			*list;
	char address[256] = "", port[16] = "0";
	int rc;

	if (listen && split(listen, address, sizeof(address), port, sizeof(port), e) < 0)
		return -1;
	rc = getaddrinfo(*address ? address : "127.0.0.1", port, &hints, &list);
	if (rc)
		return dt_fail(e, "--listen %s: %s", listen ? listen : "", gai_strerror(rc));
	memcpy(to, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

static void admit(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
	struct dt_http *s = ctx;

	/* if it does not take the connection, it closes it */
	dt_mhd.add_connection(s->daemon, fd, from, n);
}

static void name_host(struct dt_http *s, const struct sockaddr_storage *to)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)to;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)to;
	unsigned port = dt_door_port(s->door);
	char text[INET6_ADDRSTRLEN] = "", own[256] = "localhost";

	if (to->ss_family == AF_INET6)
		inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
	else
		inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
	s->any = !strcmp(text, "0.0.0.0") || !strcmp(text, "::");
	if (s->any && gethostname(own, sizeof(own) - 1) == 0)
		snprintf(s->host, sizeof(s->host), "%s:%u", own, port);
	else
		snprintf(s->host, sizeof(s->host), to->ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u",
			 text, port);
	if (!strcmp(text, "127.0.0.1") || !strcmp(text, "::1"))
		snprintf(s->local, sizeof(s->local), "localhost:%u", port);
	snprintf(s->address, sizeof(s->address), "http://%s/%s/", s->host, s->token);
}

struct dt_http *dt_http_listen(const char *listen, struct dt_error *e)
{
	struct dt_http *s = calloc(1, sizeof(*s));
	struct sockaddr_storage to = {0};
	struct dt_error why = {""};

	if (!s) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&s->lock, NULL);
	if (dt_microhttpd_load(e) < 0 || make_token(s, e) < 0 || find_address(listen, &to, e) < 0)
		goto fail;
	s->door = dt_door_open(&to, &(struct dt_doorman){is_token, admit, s}, &why);
	if (!s->door) {
		dt_fail(e, "can not listen on %s: %s", listen ? listen : "127.0.0.1", why.text);
		goto fail;
	}
	name_host(s, &to);
	return s;
fail:
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

int dt_http_start(struct dt_http *s, struct dt_view *v, struct dt_error *e)
{
	int rc;

	s->daemon = dt_mhd.start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME |
						MHD_USE_NO_LISTEN_SOCKET,
					0, NULL, NULL, on_request, s, MHD_OPTION_CONNECTION_LIMIT,
					64u, MHD_OPTION_CONNECTION_TIMEOUT, 60u, MHD_OPTION_END);
	if (!s->daemon)
		return dt_fail(e, "the pages can not be served: %s", strerror(errno));
	s->view = v;
	rc = dt_door_watch(s->door);
	if (rc)
		return dt_fail(e, "the pages can not be served: %s", strerror(rc));
	dt_view_tell_news(v, &(struct dt_view_news){on_news, s});
	return 0;
}

void dt_http_stop(struct dt_http *s)
{
	if (!s)
		return;
	if (s->view)
		dt_view_tell_news(s->view, &(struct dt_view_news){NULL, s});
	dt_door_close(s->door);
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_mutex_unlock(&s->lock);
	on_news(s); /* suspended connections must be resumed to end */
	if (s->daemon)
		dt_mhd.stop_daemon(s->daemon);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

const char *dt_http_address(const struct dt_http *s)
{
	return s->address;
}

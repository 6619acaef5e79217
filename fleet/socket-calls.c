/* SPDX-License-Identifier: MIT */
#include "fleet/socket-calls.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint8_t what, flags;
} functions[] = {
	{"send", DT_SOCKET_SEND, 3},
	{"sendto", DT_SOCKET_SEND, 3},
	{"sendmsg", DT_SOCKET_SEND, 2},
	{"write", DT_SOCKET_SEND, 0},
	{"writev", DT_SOCKET_SEND, 0},
	{"sendfile", DT_SOCKET_SEND, 0},
	{"sendfile64", DT_SOCKET_SEND, 0},
	{"recv", DT_SOCKET_RECEIVE, 3},
	{"recvfrom", DT_SOCKET_RECEIVE, 3},
	{"recvmsg", DT_SOCKET_RECEIVE, 2},
	{"read", DT_SOCKET_RECEIVE, 0},
	{"readv", DT_SOCKET_RECEIVE, 0},
	{"splice", DT_SOCKET_SPLICE, 0},
	{"sendmmsg", DT_SOCKET_SEND_SEVERAL, 0},
	{"recvmmsg", DT_SOCKET_RECEIVE_SEVERAL, 0},
	{"connect", DT_SOCKET_CONNECT, 0},
	{"accept", DT_SOCKET_ACCEPT, 0},
	{"accept4", DT_SOCKET_ACCEPT, 0},
	{"socket", DT_SOCKET_SOCKET, 0},
	{"getsockname", DT_SOCKET_LOCAL, 0},
	{"getpeername", DT_SOCKET_REMOTE, 0},
	{"close", DT_SOCKET_CLOSE, 0},
	{"dup", DT_SOCKET_DUP, 0},
	{"dup2", DT_SOCKET_DUP_TO, 0},
	{"dup3", DT_SOCKET_DUP_TO, 0},
	{"fcntl", DT_SOCKET_FCNTL, 0},
	{"fcntl64", DT_SOCKET_FCNTL, 0},
	{"shutdown", DT_SOCKET_SHUTDOWN, 0},
};

static bool is_libc(const struct dt_reader *r, const struct dt_function_info *f)
{
	const struct dt_module_info *m = dt_reader_module(r, f->module);

	return m && (!strncmp(m->file, "libc.so", 7) || !strncmp(m->file, "libc-2.", 7) ||
		     !strncmp(m->file, "ld-musl", 7));
}

/* Says whether one of the function's names is this one. */
static bool is_called(const struct dt_function_info *f, const char *name)
{
	size_t n = strlen(name);

	if (!strcmp(f->name, name))
		return true;
	for (const char *p = f->others; p && *p; p += *p == '\n') {
		size_t length = strcspn(p, "\n");

		if (length == n && !strncmp(p, name, n))
			return true;
		p += length;
	}
	return false;
}

int dt_socket_calls_find(struct dt_socket_calls *c, const struct dt_reader *r)
{
	c->n = dt_reader_functions(r);
	c->of = calloc((size_t)c->n + 1, 1);
	if (!c->of)
		return -1;
	for (uint32_t i = 1; i <= c->n; i++) {
		const struct dt_function_info *f = dt_reader_function(r, i);

		if (!f || !is_libc(r, f))
			continue;
		for (uint8_t w = 0; w < sizeof(functions) / sizeof(*functions); w++)
			if (is_called(f, functions[w].name)) {
				c->of[i] = (uint8_t)(w + 1);
				c->any |= functions[w].what == DT_SOCKET_CONNECT ||
					  functions[w].what == DT_SOCKET_ACCEPT;
				break;
			}
	}
	return 0;
}

enum dt_socket_call dt_socket_calls_what(const struct dt_socket_calls *c, uint32_t function)
{
	uint8_t at = function <= c->n ? c->of[function] : 0;

	return at ? functions[at - 1].what : DT_SOCKET_NOTHING;
}

unsigned dt_socket_calls_flags(const struct dt_socket_calls *c, uint32_t function)
{
	return functions[c->of[function] - 1].flags;
}

void dt_socket_calls_free(struct dt_socket_calls *c)
{
	free(c->of);
}

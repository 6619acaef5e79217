/* SPDX-License-Identifier: MIT */
/* Listening and connecting. */
#include "remote/address.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "process/outside.h"

#define BACKLOG 64

static bool is_number(const char *s)
{
	return *s && s[strspn(s, "0123456789")] == '\0';
}

/* Splits "HOST:PORT", "[HOST]:PORT" or "HOST"; a bare number is a port. Host and port may both come
 * out empty. */
static int split(const char *address, char *host, size_t size, char *port, size_t port_size,
		 struct dt_error *e)
{
	const char *colon = strrchr(address, ':'), *end = address + strlen(address);
	bool bracket = address[0] == '[';

	if (bracket && strchr(address, ']')) {
		colon = strchr(address, ']')[1] == ':' ? strchr(address, ']') + 1 : NULL;
		end = strchr(address, ']');
		address++;
	} else if (colon && strchr(address, ':') != colon) {
		colon = NULL; /* an IPv6 address, no port */
	} else if (is_number(address)) {
		colon = address - 1;
		end = address;
	} else if (colon) {
		end = colon;
	}
	if (colon && (!is_number(colon + 1) || atol(colon + 1) > 65535))
		return dt_fail(e, "'%s' is no port: a number up to 65535", colon + 1);
	if (dt_format(host, size, "%.*s", (int)(end - address), address) >= size)
		return dt_fail(e, "'%s' is too long for an address", address);
	dt_format(port, port_size, "%s", colon ? colon + 1 : "");
	return 0;
}

static struct addrinfo *look_up(const char *address, const char *default_host,
				const char *default_port, struct dt_error *e)
{
	struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *found;
	char host[256], port[8];
	int rc;

	if (split(address, host, sizeof(host), port, sizeof(port), e) < 0)
		return NULL;
	rc = getaddrinfo(host[0] ? host : default_host, port[0] ? port : default_port, &want,
			 &found);
	if (rc == 0)
		return found;
	dt_fail(e, "%s: %s", address, rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
	return NULL;
}

static int unix_address(struct sockaddr_un *a, const char *path, struct dt_error *e)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (!path[0])
		return dt_fail(e, "unix: what is the socket's path?");
	if (dt_format(a->sun_path, sizeof(a->sun_path), "%s", path) >= sizeof(a->sun_path))
		return dt_fail(e, "%s: too long for a socket: up to %zu bytes", path,
			       sizeof(a->sun_path) - 1);
	return 0;
}

/* Tells whether nothing listens at a socket: a server that was killed has left it. */
static bool is_left(const struct sockaddr_un *a)
{
	struct stat st;
	bool left;
	int fd;

	if (lstat(a->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	left = fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 &&
	       errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return left;
}

static int listen_unix(struct dt_listener *l, const char *path, struct dt_error *e)
{
	struct sockaddr_un a;
	mode_t mask;
	int rc;

	if (unix_address(&a, path, e) < 0)
		return -1;
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return dt_fail(e, "no socket: %s", strerror(errno));
	if (is_left(&a))
		unlink(path);
	mask = umask(0177);
	rc = bind(l->fd, (struct sockaddr *)&a, sizeof(a));
	umask(mask);
	if (rc < 0 || listen(l->fd, BACKLOG) < 0) {
		dt_fail(e,
			errno == EADDRINUSE ? "%s: is there already; name another"
					    : "%s: can not be listened at",
			path);
		close(l->fd);
		l->fd = -1;
		return -1;
	}
	dt_format(l->path, sizeof(l->path), "%s", path);
	dt_format(l->address, sizeof(l->address), "unix:%s", path);
	return 0;
}

/* Fills in l->address in a form that dt_address_connect() understands. */
static void tell_address(struct dt_listener *l)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);
	char host[128], port[16];

	if (getsockname(l->fd, (struct sockaddr *)&a, &n) < 0 ||
	    getnameinfo((struct sockaddr *)&a, n, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	dt_format(l->address, sizeof(l->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
		  port);
}

int dt_address_listen(struct dt_listener *l, const char *address, struct dt_error *e)
{
	const int yes = 1;
	struct addrinfo *a;

	*l = (struct dt_listener){.fd = -1};
	if (!address)
		address = "127.0.0.1";
	if (strncmp(address, "unix:", 5) == 0)
		return listen_unix(l, address + 5, e);
	a = look_up(address, "127.0.0.1", "0", e);
	if (!a)
		return -1;
	l->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd >= 0)
		setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (l->fd < 0 || bind(l->fd, a->ai_addr, a->ai_addrlen) < 0 || listen(l->fd, BACKLOG) < 0) {
		dt_fail(e, "%s: can not be listened at: %s", address, strerror(errno));
		if (l->fd >= 0)
			close(l->fd);
		l->fd = -1;
	} else {
		tell_address(l);
	}
	freeaddrinfo(a);
	return l->fd < 0 ? -1 : 0;
}

void dt_address_close(struct dt_listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	if (l->path[0])
		dt_outside_remove(l->path);
	*l = (struct dt_listener){.fd = -1};
}

static int connect_unix(const char *path, struct dt_error *e)
{
	struct sockaddr_un a;
	int fd;

	if (unix_address(&a, path, e) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return dt_fail(e, "no socket: %s", strerror(errno));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	dt_fail(e, "%s: %s", path,
		errno == ENOENT || errno == ECONNREFUSED ? "nobody listens there"
							 : strerror(errno));
	close(fd);
	return -1;
}

int dt_address_connect(const char *address, struct dt_error *e)
{
	static const struct timeval patience = {10, 0}, for_ever = {0, 0};
	const int yes = 1;
	struct addrinfo *all;
	int fd = -1;

	if (strncmp(address, "unix:", 5) == 0)
		return connect_unix(address + 5, e);
	all = look_up(address, "127.0.0.1", DT_ADDRESS_PORT, e);
	if (!all)
		return -1;
	for (struct addrinfo *a = all; a; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		/* so that a host that has vanished is noticed some time */
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
		if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
			break;
		dt_fail(e, "%s: %s", address,
			errno == EINPROGRESS	? "does not answer"
			: errno == ECONNREFUSED ? "nobody listens there"
						: strerror(errno));
		close(fd);
		fd = -1;
	}
	freeaddrinfo(all);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &for_ever, sizeof(for_ever));
	return fd;
}

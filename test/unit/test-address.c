/* SPDX-License-Identifier: MIT */
/* What an address names, and sockets that are there already. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "remote/address.c"

static void test_split(void **state)
{
	static const struct {
		const char *address, *host, *port; /* host NULL: refused */
	} want[] = {
		{"1.2.3.4:80", "1.2.3.4", "80"},
		{"80", "", "80"},
		{":80", "", "80"},
		{"host", "host", ""},
		{"host:0", "host", "0"},
		{"host:65535", "host", "65535"},
		{"65535", "", "65535"},
		{"host:65536", NULL, NULL},
		{"65536", NULL, NULL},
		{"host:99999999999999999999", NULL, NULL},
		{"host:", NULL, NULL},
		{"host:8x", NULL, NULL},
		{"host:-1", NULL, NULL},
		{"", "", ""},
		{"::1", "::1", ""},
		{"::", "::", ""},
		{"fe80::12:34", "fe80::12:34", ""},
		{"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8", ""},
		{"1:2:3:4:5:6:7:abcd", "1:2:3:4:5:6:7:abcd", ""},
		{"[::1]", "::1", ""},
		{"[::1]:80", "::1", "80"},
		{"[fe80::1:2]:65535", "fe80::1:2", "65535"},
		{"[::1]:65536", NULL, NULL},
		{"[::1]:", NULL, NULL},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		char host[64] = "?", port[8] = "?";
		struct dt_error e = {""};
		int rc = split(want[i].address, host, sizeof(host), port, sizeof(port), &e);

		if (!want[i].host) {
			if (!rc)
				fail_msg("'%s' is taken", want[i].address);
			assert_non_null(strstr(e.text, "is no port: a number up to 65535"));
			continue;
		}
		if (rc || strcmp(host, want[i].host) || strcmp(port, want[i].port))
			fail_msg("'%s' is '%s', '%s'", want[i].address, host, port);
	}
}

static void test_too_long(void **state)
{
	char host[8], port[8];
	struct dt_error e = {""};

	assert_int_equal(split("1234567", host, sizeof(host), port, sizeof(port), &e), -1);
	assert_int_equal(split("abcdefg:1", host, sizeof(host), port, sizeof(port), &e), 0);
	assert_string_equal(host, "abcdefg");
	assert_int_equal(split("abcdefgh:1", host, sizeof(host), port, sizeof(port), &e), -1);
	assert_non_null(strstr(e.text, "too long"));
}

/* One that somebody listens at stays, and goes on; one that was left is taken over; no one else can
 * write to it. */
static void test_socket_there(void **state)
{
	char dir[] = "/tmp/devtrace-address-XXXXXX", path[64];
	struct dt_listener first, second;
	struct dt_error e = {""};
	struct sockaddr_un a;
	struct stat st;
	int fd;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(listen_unix(&first, path, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(listen_unix(&second, path, &e), -1);
	assert_non_null(strstr(e.text, "is there already"));
	unix_address(&a, path, &e);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	/* as if it had been killed */
	close(first.fd);
	assert_int_equal(listen_unix(&second, path, &e), 0);
	close(second.fd);
	unlink(path);
	/* one of another kind is in use, too, though it can not be connected to */
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen_unix(&second, path, &e), -1);
	assert_non_null(strstr(e.text, "is there already"));
	assert_int_equal(stat(path, &st), 0);
	close(fd);
	unlink(path);
	/* what is no socket is nobody's to take away */
	fclose(fopen(path, "w"));
	assert_int_equal(listen_unix(&second, path, &e), -1);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_socket_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* symbols/prototype.c: libraries' functions, and their constants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbols/prototype.c"

/* Replaces the key of each type by the type's name. */
static void without_keys(char *text)
{
	char out[1024] = "", type[32768];
	size_t n = 0;

	for (char *p = text; *p;) {
		if (*p != '#') {
			out[n++] = *p++;
			continue;
		}
		assert_true(dt_prototype_type(strtoull(p + 1, &p, 16), type, sizeof(type)));
		n += (size_t)snprintf(out + n, sizeof(out) - n, "#%.*s",
				      (int)strcspn(type + 2, ";"), type + 2);
	}
	out[n] = '\0';
	strcpy(text, out);
}

static void check(const char *name, const char *want)
{
	char got[512];

	dt_prototype("/lib/libc.so.6", name, false, got, sizeof(got));
	without_keys(got);
	if (strcmp(got, want) != 0)
		fail_msg("%s: %s, not %s", name, got, want);
}

static void test_signatures(void **state)
{
	check("open", "path:s@0,flags:i4#open@1,mode:u4#mode@2?1&4194368;i4@0!-@3");
	check("malloc", "size:u8@0;p@0!0@3");
	check("free", "ptr:p@0;v");
	check("getpid", ";i4@0");
	check("getenv", "name:s@0;s@0");
	check("printf", "format:s@0,...:a@-;i4@0!-@3");
	check("sendto", "sockfd:i4@0,buf:p@1,len:u8@2,flags:i4#msg@3,dest_addr:p@-,addrlen:u4@-;"
			"i8@0!-@3");
	check("strtod", "nptr:s@0,endptr:p@1;f8@2");
	check("pthread_create", "thread:p@0,attr:p@1,start_routine:p@2,arg:p@3;i4@0!e");
	check("getaddrinfo", "node:s@0,service:s@1,hints:p@2,res:p@3;i4#eai@0!+");
	/* whose results do not tell, or only together with errno */
	check("mktime", "tm:p@0;i8@0");
	check("isatty", "fd:i4@0;i4@0");
	check("ptrace", "request:u4#__ptrace_request@0,pid:i4@1,addr:p@2,data:p@3;i8@0!m@3+");
	check("getpwnam", "name:s@0;p@0!0@3+");
	check("ftok", "pathname:s@0,proj_id:i4@1;i4@0!m@3");
	/* the first and the last of the table, and neighbours of which one begins like the other */
	check("_Exit", "status:i4@0;v");
	check("writev", "fd:i4@0,iov:p@1,iovcnt:i4@2;i8@0!-@3");
	check("time", "tloc:p@0;i8@0");
	check("timerfd_create", "clockid:i4#clock@0,flags:i4#timerfd@1;i4@0!-@3");
	check("wait", "wstatus:p@0;i4@0!-@3");
	check("waitpid", "pid:i4@0,wstatus:p@1,options:i4#wait@2;i4@0!-@3");
}

static void check_of(const char *path, const char *name, bool places, const char *want)
{
	char got[1024];

	dt_prototype(path, name, places, got, sizeof(got));
	without_keys(got);
	if (strcmp(got, want) != 0)
		fail_msg("%s: %s, not %s", name, got, want);
}

/* Each library has its own table, in which only its own names count. */
static void test_libraries(void **state)
{
	check_of("/x/libz.so.1.2.13", "inflate", false,
		 "strm:p@0,flush:i4#z_flush@1;i4#z_result@0!-/-5");
	check_of("/x/libz.so.1.2.13", "deflateBound", false, "strm:p@0,sourceLen:u8@1;u8@0");
	check_of("/x/libz.so.1.2.13", "inflateMark", false, "strm:p@0;i8@0");
	check_of("/x/libz.so.1.2.13", "inflateSyncPoint", false, ":p@0;i4@0");
	check_of("/x/libsqlite3.so.0", "sqlite3_step", false, ":p@0;i4#sqlite_result@0!+/100/101");
	check_of("/x/libcrypto.so.3", "EVP_DigestInit_ex", false,
		 "ctx:p@0,type:p@1,impl:p@2;i4@0!n");
	check_of("/x/libssl.so.3", "SSL_connect", false, "ssl:p@0;i4@0!n");
	check_of("/x/libcurl.so.4", "curl_easy_perform", false, "curl:p@0;u4#CURLcode@0!+");
	check_of("/x/liblzma.so.5", "lzma_code", false,
		 "strm:p@0,action:u4#lzma_action@1;u4#lzma_ret@0!+/1/2/3/4");
	check_of("/x/libm.so.6", "ldexp", true, "x:f8@x0,exponent:i4@0;f8@2");
	check_of("/x/libm.so.6", "fmal", true, "x:f10@-,y:f10@-,z:f10@-;f10@-");
	check_of("/x/libc.so.6", "inflate", false, "");
	check_of("/x/libz.so.1", "__inflate", false, "");
	check_of("/x/program", "open", false, "");
	/* what is sure to be read is said only where places are wanted */
	check_of("/x/libc.so.6", "strcmp", true, "s1:s@0!F,s2:s@1!F;i4@0");
	check_of("/x/libc.so.6", "strcmp", false, "s1:s@0,s2:s@1;i4@0");
	check_of("/x/libc.so.6", "strnlen", true, "s:s@0!a1,maxlen:u8@1;u8@0");
	check_of("/x/libc.so.6", "strtol", true, "nptr:s@0,endptr:p@1,base:i4@2;i8@0");
	check_of("/x/libc.so.6", "fwrite", true,
		 "ptr:s#text@0!n1x2,size:u8@1,nmemb:u8@2,stream:p@3;u8@0");
	check_of("/x/libssl.so.3", "SSL_write", true, "ssl:p@0,buf:s#text@1!n2of4,num:i4@2;i4@0!n");
	/* more parameters than registers */
	check_of("/x/libc.so.6", "mmap", true,
		 "addr:p@0,length:u8@1,prot:i4#prot@2,flags:i4#mmap@3,fd:i4@4,offset:i8@5;p@0!-@3");
	check_of(
		"/x/libc.so.6", "getnameinfo", true,
		"sa:p@0,salen:u4@1,host:p@2,hostlen:u4@3,serv:p@4,servlen:u4@5,flags:i4#nameinfo@m8;"
		"i4#eai@0!+");
}

/* A prototype replaces what debug information says only where both mean the same values. */
static void test_fits(void **state)
{
	static const char open[] = "path:s@0,flags:i4#1@1,mode:u4#2@2;i4@0!-@3";

	assert_true(dt_prototype_fits(open, "file:s@0,oflag:i4@1,...:a@-;i4@0"));
	assert_true(dt_prototype_fits(open, "file:p@0,oflag:u4@1,mode:u4@2;i4@0"));
	assert_false(dt_prototype_fits(open, "file:s@0,oflag:i4@1;i4@0"));
	assert_false(dt_prototype_fits(open, "file:s@0,oflag:i8@1,...:a@-;i4@0"));
	assert_false(dt_prototype_fits(open, "file:s@1,oflag:i4@0,...:a@-;i4@0"));
	assert_false(dt_prototype_fits(open, "file:s@0,oflag:i4@1,...:a@-;v"));
	assert_false(dt_prototype_fits(open, "file:s@0,oflag:i4@1,mode:u4@2,x:i4@3;i4@0"));
	assert_false(dt_prototype_fits(open, ""));
	assert_true(dt_prototype_fits(";v", ";v"));
	/* debug information does not know how a union of pointers is passed */
	assert_true(dt_prototype_fits("fd:i4@0,addr:p@1,len:u4@2;i4@0",
				      "fd:i4@0,addr:a@-,len:u4@2;i4@-"));
	assert_false(dt_prototype_fits("fd:i4@0,len:u4@1;i4@0", "fd:i4@0,len:u4@-;i4@0"));
	assert_true(dt_prototype_fits("req:a#1@*0+*0;i4@0", "req:p@0;i4@0"));
	assert_false(dt_prototype_fits("req:a#1@*0+*0;i4@0", "req:p@1;i4@0"));
	assert_false(dt_prototype_fits("a:i4@0;v", ";v"));
}

/* The constants are those of the compiler that compiles this. */
static void test_sets(void **state)
{
	char got[512], type[32768], want[64], *key;

	dt_prototype("libc.so.6", "open", false, got, sizeof(got));
	key = strchr(got, '#') + 1;
	assert_true(dt_prototype_is_type(strtoull(key, NULL, 16)));
	assert_true(dt_prototype_type(strtoull(key, NULL, 16), type, sizeof(type)));
	assert_true(strncmp(type, "f:open;O_RDONLY=0/3,O_WRONLY=1/3,", 33) == 0);
	snprintf(want, sizeof(want), ",O_CLOEXEC=%d,", O_CLOEXEC);
	assert_non_null(strstr(type, want));
	/* no other number is a key */
	assert_false(dt_prototype_type(0, type, sizeof(type)));
	assert_false(dt_prototype_type(strtoull(key, NULL, 16) + 1, type, sizeof(type)));
	assert_false(dt_prototype_type(UINT64_MAX, type, sizeof(type)));
	assert_false(dt_prototype_type(strtoull(key, NULL, 16), type, 40));
}

static void test_names(void **state)
{
	check("__libc_read", "fd:i4@0,buf:p@1,count:u8@2;i8@0!-@3");
	check("__GI_strdup", "s:s@0;s@0!0@3");
	check("_IO_puts", "s:s@0;i4@0!-@3");
	check("fopen64", "path:s@0,mode:s@1;p@0!0@3");
	check("__open64", "path:s@0,flags:i4#open@1,mode:u4#mode@2?1&4194368;i4@0!-@3");
	check("nosuch", "");
	check("", "");
	check("64", "");
	check("__", "");
	check("ope", "");
	check("openx", "");
}

static void test_files(void **state)
{
	char small[8];

	assert_true(dt_prototype_file("/lib/x86_64-linux-gnu/libc.so.6"));
	assert_true(dt_prototype_file("/lib/ld-musl-x86_64.so.1"));
	assert_false(dt_prototype_file("/lib/libcrypt.so.1"));
	assert_false(dt_prototype_file("/usr/bin/libc"));
	/* what does not fit is not known */
	dt_prototype("libc.so.6", "open", false, small, sizeof(small));
	assert_string_equal(small, "");
}

/* Of every line of every table: it is found by its name, and all of it is understood. */
static void test_tables(void **state)
{
	char got[4096], type[65536], text[200];
	unsigned lines = 0;

	for (size_t i = 0; i < sizeof(library) / sizeof(*library); i++)
		for (const char *p = library[i].table[0].text; *p;
		     p = strchr(p, '\n') + 1, lines++) {
			struct dt_signature_value v;
			const char *s = got;

			snprintf(text, sizeof(text), "%.*s", (int)strcspn(p, "("), p);
			for (int places = 0; places < 2; places++) {
				dt_prototype(library[i].begins, text, places, got, sizeof(got));
				if (!got[0] || !dt_signature_known(got))
					fail_msg("%s: %s has no signature", library[i].begins,
						 text);
				for (s = got; dt_signature_next(&s, &v);)
					if (!v.type.letter ||
					    (memchr(v.name, '!', (size_t)(s - v.name)) &&
					     !v.reads.sure))
						fail_msg("%s: %s", text, got);
				assert_true(dt_signature_result(got, &v));
				if (!v.type.letter ||
				    (strchr(strchr(got, ';'), '!') && !v.failure.when))
					fail_msg("%s: %s", text, got);
				for (s = got; (s = strchr(s, '#')); s++)
					if (!dt_prototype_type(strtoull(s + 1, NULL, 16), type,
							       sizeof(type)))
						fail_msg("%s: %s", text, got);
			}
		}
	assert_true(lines > 8000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signatures), cmocka_unit_test(test_names),
		cmocka_unit_test(test_files),	   cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_fits),	   cmocka_unit_test(test_sets),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

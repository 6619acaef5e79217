/* SPDX-License-Identifier: MIT */
/* Which control groups belong to a container: names as those who make containers give them; and
 * where they are found, in folders that are made up. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "session/cgroup.c"

#define NUMBER "3f4e1c9a7b2d5e8f3f4e1c9a7b2d5e8f3f4e1c9a7b2d5e8f3f4e1c9a7b2d5e8f"

static void test_names(void **state)
{
	static const struct {
		const char *group, *name;
		bool is;
	} all[] = {
		{"docker-" NUMBER ".scope", "3f4e1c9a7b2d", true},
		{"docker-" NUMBER ".scope", NUMBER, true},
		{NUMBER, "3f4e1c9a7b2d", true}, /* docker's and runc's own, without systemd */
		{"libpod-" NUMBER ".scope", "3f4e", true},
		{"libpod-" NUMBER ".scope", "3f4", false},
		{"libpod-" NUMBER ".scope", "4e1c", false},
		{"libpod-" NUMBER ".scope", NUMBER "0", false},
		{"libpod-conmon-" NUMBER ".scope", "3f4e1c9a7b2d", false},
		{"crio-conmon-" NUMBER ".scope", "3f4e1c9a7b2d", false},
		{"crio-" NUMBER ".scope", "3f4e1c9a7b2d", true},
		{"cri-containerd-" NUMBER ".scope", "3f4e1c9a7b2d", true},
		{"lxc.payload.web", "web", true},
		{"lxc.payload.web2", "web", false},
		{"lxc.monitor.web", "web", false},
		{"machine-web.scope", "web", true},
		{"cron.service", "cron", true},
		{"cron.service", "cron.service", true},
		{"cron.service", "cro", false},
		{"user-1000.slice", "user-1000", true},
		{"kubepods-burstable-pod12345678_9abc_def0_1234_56789abcdef0.slice",
		 "12345678-9abc-def0-1234-56789abcdef0", true},
		{"kubepods-besteffort-pod12345678_9abc_def0_1234_56789abcdef0.slice",
		 "12345678-9abc-def0-1234-56789abcdef1", false},
		{"pod12345678-9abc-def0-1234-56789abcdef0", "12345678-9abc-def0-1234-56789abcdef0",
		 true},
		{"docker-.scope", "", false},
		{".scope", "", false},
		{"", "3f4e", false},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (dt_cgroup_is(all[i].group, all[i].name) != all[i].is)
			fail_msg("'%s' of '%s'", all[i].group, all[i].name);
}

/* What is found has the number of its folder. */
static void test_found(void **state)
{
	static const char *const folders[] = {"/system.slice",
					      "/system.slice/cron.service",
					      "/system.slice/twice.service",
					      "/user.slice",
					      "/user.slice/twice.service",
					      "/user.slice/outer.scope",
					      "/user.slice/outer.scope/outer.scope"};
	static const struct {
		const char *name, *is, *says; /* is NULL: it is not found */
	} all[] = {
		{"cron", "/system.slice/cron.service", NULL},
		{"cron.service", "/system.slice/cron.service", NULL},
		{"outer", "/user.slice/outer.scope", NULL}, /* and not what is below it */
		{"nothing", NULL, "no control group below"},
		{"twice", NULL, "'twice' may mean several control groups, /"},
	};
	static const struct {
		const char *path;
		bool is;
	} paths[] = {
		{"/system.slice", true},
		{"/system.slice/cron.service", true},
		{"/system.slice/none", false},
		{"/file", false},
	};
	char root[PATH_MAX] = "/tmp/cgroup-XXXXXX", path[PATH_MAX + 100], remove[PATH_MAX + 100];
	struct dt_error e;
	struct stat st;
	uint64_t id;
	FILE *f;

	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/file", root);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		int rc = find_name(root, all[i].name, &id, &e);

		assert_int_equal(rc, all[i].is ? 0 : -1);
		if (!all[i].is) {
			assert_non_null(strstr(e.text, all[i].says));
			continue;
		}
		snprintf(path, sizeof(path), "%s%s", root, all[i].is);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(id, st.st_ino);
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		id = 0;
		assert_int_equal(find_path(root, paths[i].path, &id, &e), paths[i].is ? 0 : -1);
		snprintf(path, sizeof(path), "%s%s", root, paths[i].path);
		if (paths[i].is) {
			assert_int_equal(stat(path, &st), 0);
			assert_int_equal(id, st.st_ino);
		} else {
			assert_non_null(strstr(e.text, "there is no control group '"));
		}
	}
	snprintf(remove, sizeof(remove), "rm -rf %s", root);
	assert_int_equal(system(remove), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_names),
					   cmocka_unit_test(test_found)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

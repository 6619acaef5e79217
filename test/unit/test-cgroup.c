/* SPDX-License-Identifier: MIT */
/* Which control groups belong to a container: names as those who make containers give them. */
#include "session/cgroup.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT OR GPL-2.0
/* devtrace.ko: the trace device for the kernel itself. */
#include <linux/module.h>

#include "core/error.h"
#include "kernel/compat.h"
#include "kernel/event.h"
#include "kernel/file.h"
#include "kernel/hook.h"
#include "kernel/provider.h"
#include "kernel/selftest.h"

static unsigned int nodes = 16384;
module_param(nodes, uint, 0400);
static int group = -1;
module_param(group, int, 0400);
MODULE_PARM_DESC(group, "id of a group that may use the device, too, and is as good as root by "
			"that; without it only root");
MODULE_PARM_DESC(nodes, "calls that can be under way at once and still have their exits recorded");

static int __init dt_load(void)
{
	struct dt_error e = {""};
	int rc = -EINVAL;

	if (dt_nodes_check(nodes, &e) < 0)
		goto fail;
	rc = dt_find_all(dt_hooks_note);
	if (rc < 0)
		return rc;
	rc = -ENOMEM;
	if (dt_provider_init(&e) < 0)
		goto fail;
	if (dt_hooks_init(nodes, &e) < 0)
		goto fail_provider;
	if (dt_events_init() < 0) {
		dt_fail(&e, "out of memory");
		goto fail_events;
	}
	rc = -ENODEV;
	if (dt_selftest(&e) < 0) {
		struct dt_error why = e;

		dt_fail(&e, "the test at loading failed: %s", why.text);
		goto fail_hooks;
	}
	rc = dt_files_make(group);
	if (rc < 0) {
		dt_fail(&e, "no devices: error %d", -rc);
		goto fail_hooks;
	}
	return 0;
fail_hooks:
	dt_events_exit();
fail_events:
	dt_hooks_exit();
fail_provider:
	dt_provider_stop();
	dt_provider_exit();
fail:
	pr_err("devtrace: not loaded: %s\n", e.text);
	return rc;
}

static void __exit dt_unload(void)
{
	dt_files_remove();
	dt_provider_stop();
	dt_hooks_mode(0, ~0u);
	dt_events_exit();
	dt_hooks_exit();
	dt_provider_exit();
}

module_init(dt_load);
module_exit(dt_unload);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("records calls of the kernel's functions, with arguments, results and times");

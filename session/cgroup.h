/* SPDX-License-Identifier: MIT */
/* Control groups (version 2), and the containers and units that have one of their own. */
#ifndef DT_SESSION_CGROUP_H
#define DT_SESSION_CGROUP_H

#include "core/error.h"

/*
 * Finds a control group: by its path below the mount of cgroup2, "/system.slice/cron.service"; by
 * its name there, with or without ".service", ".scope", ".slice"; or by the name or number of a
 * container, or its first 4 characters and more, as podman, docker, CRI-O, containerd, LXC,
 * systemd-nspawn and Kubernetes (of a pod: its uid) have it in the name of the group. *id: by which
 * the kernel knows it. -1 and an error: there is none, or there are several.
 */
int dt_cgroup_find(const char *name, uint64_t *id, struct dt_error *e);

/* Does a group with this name, the last part of its path, belong to what is called `name'? */
bool dt_cgroup_is(const char *group, const char *name);

#endif

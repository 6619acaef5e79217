/* SPDX-License-Identifier: MIT */
/* The version of devtrace, here only: the Makefile takes it from this line for pkg-config's files,
 * DKMS and the packages. */
#ifndef DT_CORE_VERSION_H
#define DT_CORE_VERSION_H

#define DT_VERSION "0.1"

#endif

/* SPDX-License-Identifier: MIT */
/* What test/programs/plugin.c gives to test/programs/loader.c. */
#ifndef DT_TEST_LIBRARY_H
#define DT_TEST_LIBRARY_H

long plugin_work(long n, long x);
long plugin_back(long (*f)(long), long x);

#endif

/* SPDX-License-Identifier: MIT */
/* libbpf, loaded only to record the kernel without the module. */
#ifndef DT_SESSION_BPF_H
#define DT_SESSION_BPF_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/error.h"

/* The functions that are used; each is a member of dt_bpf. */
#define DT_BPF(X)                                                                                  \
	X(bpf_object__open_mem)                                                                    \
	X(bpf_object__load)                                                                        \
	X(bpf_object__close)                                                                       \
	X(bpf_object__find_map_by_name)                                                            \
	X(bpf_object__find_program_by_name)                                                        \
	X(bpf_map__fd)                                                                             \
	X(bpf_map__set_initial_value)                                                              \
	X(bpf_map__set_max_entries)                                                                \
	X(bpf_map__set_value_size)                                                                 \
	X(bpf_map_get_next_key)                                                                    \
	X(bpf_map_lookup_and_delete_elem)                                                          \
	X(bpf_map_lookup_elem)                                                                     \
	X(bpf_map_update_elem)                                                                     \
	X(bpf_obj_get_info_by_fd)                                                                  \
	X(bpf_link_create)                                                                         \
	X(bpf_prog_load)                                                                           \
	X(bpf_prog_test_run_opts)                                                                  \
	X(bpf_program__fd)                                                                         \
	X(bpf_program__insn_cnt)                                                                   \
	X(bpf_program__insns)                                                                      \
	X(bpf_program__set_attach_target)                                                          \
	X(bpf_program__set_autoload)                                                               \
	X(bpf_raw_tracepoint_open)                                                                 \
	X(libbpf_num_possible_cpus)                                                                \
	X(libbpf_set_print)

struct dt_bpf {
#define X(name) __typeof__(name) *name;
	DT_BPF(X)
#undef X
};

extern struct dt_bpf dt_bpf;

/* Loads the library, which must be done before any of the functions is called. 0, or -1 and an
 * error: dt_library_load(). */
int dt_bpf_load(struct dt_error *e);

#endif

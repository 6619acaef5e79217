/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Tracepoints that the kernel itself has, for the BPF programs: what perf's record of one has is
 * copied to the core's own memory, and from there to ours. The kernel runs one such program at a
 * time on a core.
 */
#ifndef DT_BPF_TRACEPOINT_H
#define DT_BPF_TRACEPOINT_H

#include "bpf/append.h"

struct hit {
	__u64 pc, sp;
	__u32 tid;
	__u32 further; /* values of the record that is being made; at most 4 */
	__u64 value[4];
	void *record; /* perf's */
	__u32 n;
	__u64 text[DT_BPF_TRACEPOINT_TEXT / 8 + 4]; /* behind a piece of 24 bytes */
	unsigned char bytes[DT_BPF_TRACEPOINT_MOST + 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hit);
} hits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dt_bpf_tracepoint);
} tracepoints SEC(".maps");

static __always_inline struct hit *hit_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&hits, &zero);
}

/* Returns the value of a field, which lies in what has been copied. */
static __always_inline __u64 value_of(struct hit *h, const struct dt_bpf_field *f)
{
	__u64 v = *(__u64 *)(h->bytes + (f->offset & (DT_BPF_TRACEPOINT_MOST - 1)));
	__u32 unused = (64 - 8 * f->size) & 63;

	return f->is == DT_BPF_FIELD_SIGNED ? (__u64)((__s64)(v << unused) >> unused)
					    : v << unused >> unused;
}

/* Records the value with the number i; those from the fifth on are four to a record. */
static long record_value(__u32 i, void *ctx)
{
	const struct dt_bpf_tracepoint *t = *(const struct dt_bpf_tracepoint **)ctx;
	struct hit *h = hit_here();

	if (!h || i >= DT_BPF_FIELDS)
		return 1;
	h->value[i & 3] = value_of(h, &t->field[i]);
	if ((i & 3) == 3 || i + 1 == t->values) {
		if (i < 4)
			append(DT_BPF_WHO(h->tid, 'P', (i & 3) + 1), h->pc, h->sp, h->value);
		else
			append(DT_BPF_WHO(h->tid, 'c', (i & 3) + 1),
			       h->pc | DT_BPF_PART(i >> 2, DT_BPF_FURTHER), h->sp, h->value);
	}
	return 0;
}

/* Records a piece of a text; the first one has 24 bytes. */
static long record_piece(__u32 i, void *ctx)
{
	struct hit *h = hit_here();

	if (!h || i >= DT_BPF_TRACEPOINT_TEXT / 32)
		return 1;
	append(DT_BPF_WHO(h->tid, 'c', 4), h->pc | DT_BPF_PIECE, h->sp, h->text + 3 + 4 * i);
	return 0;
}

/* Records text number i. */
static long record_text(__u32 i, void *ctx)
{
	const struct dt_bpf_tracepoint *t = *(const struct dt_bpf_tracepoint **)ctx;
	struct hit *h = hit_here();
	const struct dt_bpf_field *f;
	__u32 at, where, length, n;
	__u64 pc;
	long got;

	if (!h || t->values + i >= DT_BPF_FIELDS)
		return 1;
	f = &t->field[t->values + i];
	at = f->offset & (DT_BPF_TRACEPOINT_MOST - 1);
	length = f->size;
	if (f->at != DT_BPF_FIELD_HERE) {
		where = *(__u32 *)(h->bytes + at);
		at = (where & 0xffff) + (f->at == DT_BPF_FIELD_BEHIND ? at + 4 : 0);
		length = where >> 16;
	}
	n = length;
	barrier_var(n);
	if (n > DT_BPF_TRACEPOINT_TEXT)
		n = DT_BPF_TRACEPOINT_TEXT;
	if (f->is == DT_BPF_FIELD_TEXT && n) {
		/* one byte more, for the NUL of a text that has as many as are recorded */
		got = bpf_probe_read_kernel_str(h->text, n + 1, h->record + at);
		if (got > 0)
			got--;
		if (got < n)
			length = got > 0 ? (__u32)got : 0;
	} else {
		got = n && bpf_probe_read_kernel(h->text, n, h->record + at) ? 0 : n;
	}
	n = got > 0 ? (__u32)got : 0;
	pc = h->pc;
	h->pc = pc | i << 8;
	{
		__u64 value[4] = {n | (__u64)length << 32, h->text[0], h->text[1], h->text[2]};

		append(DT_BPF_WHO(h->tid, 'c', 4), h->pc | DT_BPF_HEAD, h->sp, value);
	}
	if (n > 24)
		bpf_loop((n + 7) / 32, record_piece, NULL, 0);
	h->pc = pc;
	return 0;
}

SEC("tracepoint")
int happened(void *ctx)
{
	const struct dt_bpf_tracepoint *t;
	__u32 tid = who_runs(), i, n;
	struct hit *h;
	__u64 regs;

	if (!tid)
		return 0;
	i = (__u32)bpf_get_attach_cookie(ctx);
	t = bpf_map_lookup_elem(&tracepoints, &i);
	h = hit_here();
	if (!t || !h)
		return 0;
	n = t->bytes;
	barrier_var(n);
	if (n > DT_BPF_TRACEPOINT_MOST)
		n = DT_BPF_TRACEPOINT_MOST;
	if (n && bpf_probe_read_kernel(h->bytes, n, ctx))
		return 0;
	/* the record begins with where the registers are */
	regs = *(__u64 *)h->bytes;
	h->sp = 0;
	bpf_probe_read_kernel(&h->sp, sizeof(h->sp),
			      (const void *)regs + bpf_core_field_offset(struct pt_regs, sp));
	h->tid = tid;
	h->pc = DT_BPF_TRACEPOINT_PC(i);
	h->record = ctx;
	h->value[0] = h->value[1] = h->value[2] = h->value[3] = 0;
	if (!t->values)
		append(DT_BPF_WHO(tid, 'P', 0), h->pc, h->sp, h->value);
	else
		bpf_loop(t->values, record_value, &t, 0);
	if (t->texts)
		bpf_loop(t->texts, record_text, &t, 0);
	return 0;
}

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * System calls in full, for the BPF programs: what a call's arguments lead to is copied piece by
 * piece into the core's scratch memory, and from there into further records. The programs do not
 * sleep, so the thread stays on its core, and memory that is not there can not be read: what could
 * not be read when the call began is tried again when it returns, since the kernel has read it
 * then.
 */
#ifndef DT_BPF_CALL_H
#define DT_BPF_CALL_H

#include "bpf/append.h"
#include "bpf/choose.h"
#include "core/stream.h"

#define FAULT	    0x40 /* DT_FAULT of core/record.h */
#define TEXTS_MOST  64	 /* texts of a list, at most */
#define TEXT_MOST   255	 /* bytes of each */
#define MEMORY_MOST 16	 /* pieces of memory, at most */

/* What of a dentry is looked at lies in its first bytes, which are read at once: a helper's call
 * costs more than anything else here. */
#define DENTRY 128

struct dentry_copy {
	__u64 word[DENTRY / 8];
};

struct call_work {
	__u64 argument[DT_BPF_RESULT + 1];
	__u64 pc, sp;
	__u32 tid, index; /* index: in `full' */
	__u32 small;	  /* 1: pointers have 4 bytes */
	__u32 leaving;	  /* 1: the call returns; 2: that has been recorded */
	__u32 again;	  /* items that could not be read when it began; a bit for each */
	__u32 failed;	  /* this one could not be read */
	__u32 from, n;	  /* its bytes: bytes[from], n of them, */
	__u64 length;	  /* of so many */
	__u64 list;	  /* of what is gone through: the next element */
	__u64 rest;	  /* bytes that the call has filled in, not copied yet */
	/* a file's name: from here on upwards, until the root */
	__u64 dentry, root_dentry, mount_dentry;
	struct mount *mount, *root_mount;
	struct dentry_copy copy;
	__u32 over; /* no more of them */
	unsigned char bytes[2 * DT_BPF_MOST + 256];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_work);
} works SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DT_BPF_KINDS *DT_BPF_CALLS);
	__type(key, __u32);
	__type(value, struct dt_bpf_call);
} full SEC(".maps");

/* By thread: items that could not be read when its call began. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u32);
} unread SEC(".maps");

static __always_inline struct call_work *work_of(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&works, &zero);
}

/* Copies n bytes of the program to bytes[to]; 0: they can not be read. */
static __always_inline int copy_in(struct call_work *w, __u32 to, __u64 from, __u32 n)
{
	to &= DT_BPF_MOST - 1;
	/* what the compiler knows of n, older kernels do not */
	barrier_var(n);
	if (n > DT_BPF_MOST)
		n = DT_BPF_MOST;
	return n == 0 || bpf_probe_read_user(w->bytes + to, n, (const void *)from) == 0;
}

static __always_inline __u64 *words_at(struct call_work *w, __u32 at)
{
	return (__u64 *)(w->bytes + (at & (2 * DT_BPF_MOST - 1)));
}

/* ---- the records of an item ---- */

static long append_piece(__u32 i, void *ctx)
{
	struct call_work *w = work_of();
	const __u64 *from;

	if (!w)
		return 1;
	from = words_at(w, w->from + 24 + 32 * i);
	append(DT_BPF_WHO(w->tid, 'c', 4) | (w->failed ? (__u64)FAULT << 40 : 0),
	       w->pc | DT_BPF_PIECE, w->sp, from);
	return 0;
}

static __noinline int append_item(void)
{
	struct call_work *w = work_of();
	const __u64 *from;

	if (!w)
		return 0;
	if (w->failed)
		w->n = 0;
	from = words_at(w, w->from);
	{
		__u64 value[4] = {w->n | w->length << 32, from[0], from[1], from[2]};

		append(DT_BPF_WHO(w->tid, 'c', 4) | (w->failed ? (__u64)FAULT << 40 : 0),
		       w->pc | DT_BPF_HEAD, w->sp, value);
	}
	if (w->n > 24)
		bpf_loop((w->n + 7) / 32, append_piece, NULL, 0);
	return 0;
}

/* ---- names of files ---- */

#define NAME_END 2048 /* names end here, and are written from behind */

/* Reads a dentry to w->copy; 0: it can not be read. */
static __always_inline int read_dentry(struct call_work *w, const struct dentry *d)
{
	return bpf_probe_read_kernel(&w->copy, sizeof(w->copy), d) == 0;
}

#define COPIED(w, member)                                                                          \
	(*(__u64 *)((void *)&(w)->copy +                                                           \
		    (bpf_core_field_offset(struct dentry, member) & (DENTRY - 8))))

static long climb(__u32 i, void *ctx)
{
	struct call_work *w = work_of();
	struct mount *m, *up;
	__u64 d, parent;
	__u32 n, at;

	if (!w)
		return 1;
	d = w->dentry;
	m = w->mount;
	if ((d == w->root_dentry && m == w->root_mount) || !read_dentry(w, (void *)d))
		return 1;
	parent = COPIED(w, d_parent);
	if (d == w->mount_dentry || parent == d) {
		up = BPF_CORE_READ(m, mnt_parent);
		if (up == m)
			return 1;
		w->dentry = (__u64)BPF_CORE_READ(m, mnt_mountpoint);
		w->mount = up;
		w->mount_dentry = (__u64)BPF_CORE_READ(up, mnt.mnt_root);
		return 0;
	}
	n = *(__u32 *)((void *)&w->copy +
		       (bpf_core_field_offset(struct dentry, d_name.len) & (DENTRY - 4)));
	n &= 255;
	if (w->from < n + 5) /* there has to be room for the number, too */
		return 1;
	at = w->from - n;
	bpf_probe_read_kernel(w->bytes + (at & (DT_BPF_MOST - 1)), n,
			      (const void *)COPIED(w, d_name.name));
	w->bytes[(at - 1) & (DT_BPF_MOST - 1)] = '/';
	w->from = at - 1;
	w->dentry = parent;
	return 0;
}

#define PIPES	 0x50495045
#define SOCKETS	 0x534f434b
#define NAMELESS 0x09041934 /* of anon_inode: */
#define SPACES	 0x6e736673

/* Writes the name of what is in no folder: a pipe, a socket. Its dentry has been read. */
static __noinline int name_pseudo(void)
{
	static const char pipe[] = "pipe:[%lu]", socket[] = "socket:[%lu]",
			  nameless[] = "anon_inode:%s", space[] = "ns:[%lu]",
			  other[] = "/%s (deleted)";
	struct call_work *w = work_of();
	const struct super_block *sb;
	const struct inode *inode;
	unsigned long magic;
	__u64 value[1];
	long n;

	if (!w)
		return 0;
	sb = (const void *)COPIED(w, d_sb);
	inode = (const void *)COPIED(w, d_inode);
	magic = BPF_CORE_READ(sb, s_magic);
	value[0] = BPF_CORE_READ(inode, i_ino);
	w->from = 4;
	if (magic == PIPES)
		n = bpf_snprintf((char *)w->bytes + 4, 256, pipe, value, sizeof(value));
	else if (magic == SOCKETS)
		n = bpf_snprintf((char *)w->bytes + 4, 256, socket, value, sizeof(value));
	else if (magic == SPACES)
		n = bpf_snprintf((char *)w->bytes + 4, 256, space, value, sizeof(value));
	else {
		value[0] = COPIED(w, d_name.name);
		n = magic == NAMELESS
			    ? bpf_snprintf((char *)w->bytes + 4, 256, nameless, value,
					   sizeof(value))
			    : bpf_snprintf((char *)w->bytes + 4, 256, other, value, sizeof(value));
	}
	w->n = n > 0 ? (__u32)(n - 1) & 255 : 0;
	return 0;
}

/* Finds what a descriptor stands for: its path is at w->dentry and *m. 0: nothing. */
static __always_inline int find_file(struct call_work *w, int fd, struct vfsmount **m)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct path path = {};
	struct file *f = NULL;

	if (fd == -100) { /* AT_FDCWD */
		w->dentry = (__u64)t->fs->pwd.dentry;
		*m = t->fs->pwd.mnt;
		return w->dentry && *m;
	}
	if (fd < 0 || (__u32)fd >= t->files->fdt->max_fds ||
	    bpf_probe_read_kernel(&f, sizeof(f), t->files->fdt->fd + fd) || !f ||
	    bpf_probe_read_kernel(&path, sizeof(path),
				  (void *)f + bpf_core_field_offset(struct file, f_path)))
		return 0;
	w->dentry = (__u64)path.dentry;
	*m = path.mnt;
	return path.dentry && path.mnt;
}

/* Finds the name of what a descriptor stands for. 0: it stands for nothing. */
static __noinline int name_file(void)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct call_work *w = work_of();
	const struct dentry_operations *op;
	struct vfsmount *m;
	int fd, gone;

	if (!w)
		return 0;
	fd = (int)w->list;
	if (!find_file(w, fd, &m) || !read_dentry(w, (void *)w->dentry))
		return 0;
	w->failed = 0;
	op = (const void *)COPIED(w, d_op);
	if (op && BPF_CORE_READ(op, d_dname)) {
		name_pseudo();
	} else {
		w->root_dentry = (__u64)t->fs->root.dentry;
		w->mount = (void *)m - bpf_core_field_offset(struct mount, mnt);
		w->root_mount = (void *)t->fs->root.mnt - bpf_core_field_offset(struct mount, mnt);
		w->mount_dentry = (__u64)BPF_CORE_READ(m, mnt_root);
		w->from = NAME_END;
		gone = !COPIED(w, d_hash.pprev) && COPIED(w, d_parent) != w->dentry;
		bpf_loop(64, climb, NULL, 0);
		if (w->from >= NAME_END) {
			w->from = NAME_END - 1;
			w->bytes[NAME_END - 1] = '/';
		}
		w->n = NAME_END - w->from;
		if (gone) {
			__builtin_memcpy(w->bytes + NAME_END, " (deleted)", 10);
			w->n += 10;
		}
	}
	/* in front of the name is the number */
	w->from -= 4;
	*(__u32 *)(w->bytes + (w->from & (DT_BPF_MOST - 1))) = (__u32)fd;
	w->n += 4;
	w->length = w->n;
	return 1;
}

/* ---- lists ---- */

/* Reads the pointer at w->list, and goes on to the next. */
static __always_inline int next_pointer(struct call_work *w, __u64 *p)
{
	__u32 size = w->small ? 4 : 8;

	*p = 0;
	if (w->small ? bpf_probe_read_user(p, 4, (const void *)w->list)
		     : bpf_probe_read_user(p, 8, (const void *)w->list))
		return 0;
	w->list += size;
	return 1;
}

static long copy_text(__u32 i, void *ctx)
{
	struct call_work *w = work_of();
	__u32 at;
	__u64 p;
	long n;

	if (!w)
		return 1;
	at = w->n & (DT_BPF_MOST - 1);
	if (i == TEXTS_MOST - 1 || at > DT_BPF_MOST - TEXT_MOST - 8 || !next_pointer(w, &p)) {
		w->bytes[at] = DT_STREAM_END;
		w->bytes[at + 1] = 0;
		w->n = at + 2;
		return 1;
	}
	if (!p)
		return 1;
	n = bpf_probe_read_user_str(w->bytes + at + 2, TEXT_MOST + 1, (const void *)p);
	if (n < 0) {
		w->bytes[at] = DT_STREAM_LOST;
		w->bytes[at + 1] = 8;
		*words_at(w, at + 2) = p;
		w->n = at + 10;
		return 0;
	}
	w->bytes[at] = n == TEXT_MOST + 1 ? DT_STREAM_CUT : DT_STREAM_TEXT;
	w->bytes[at + 1] = (unsigned char)(n - 1);
	w->n = at + 1 + (__u32)n;
	return 0;
}

static long copy_memory(__u32 i, void *ctx)
{
	struct call_work *w = work_of();
	struct dt_bpf_piece *piece;
	__u32 at, n;
	__u64 base, length;

	if (!w)
		return 1;
	at = w->n & (DT_BPF_MOST - 1);
	if (at > DT_BPF_MOST - DT_BPF_BUFFER - sizeof(*piece) || !next_pointer(w, &base) ||
	    !next_pointer(w, &length))
		return 1;
	piece = (struct dt_bpf_piece *)(w->bytes + at);
	piece->base = base;
	piece->length = length;
	n = length < DT_BPF_BUFFER ? (__u32)length : DT_BPF_BUFFER;
	if (n > w->rest)
		n = (__u32)w->rest;
	w->rest -= length < w->rest ? length : w->rest;
	barrier_var(n);
	if (n > DT_BPF_BUFFER)
		n = DT_BPF_BUFFER;
	piece->n = n;
	if (n && bpf_probe_read_user(w->bytes + at + sizeof(*piece), n, (const void *)base)) {
		piece->n = ~0ull;
		n = 0;
	}
	w->n = at + sizeof(*piece) + n;
	return 0;
}

/* Copies pieces of memory: `count' of them from w->list on. */
static __always_inline void copy_pieces(struct call_work *w, __u64 count)
{
	w->rest = w->leaving ? w->argument[DT_BPF_RESULT] : ~0ull;
	bpf_loop(count < MEMORY_MOST ? (__u32)count : MEMORY_MOST, copy_memory, NULL, 0);
}

/* Copies struct msghdr at w->list, and what it leads to. */
static __noinline int copy_message(void)
{
	struct call_work *w = work_of();
	struct dt_bpf_message *m;
	__u32 name_n;
	__u64 v[7];

	if (!w)
		return 0;
	if (w->small) {
		__u32 s[7];

		if (bpf_probe_read_user(s, sizeof(s), (const void *)w->list))
			return 0;
		for (int i = 0; i < 7; i++)
			v[i] = s[i];
	} else if (bpf_probe_read_user(v, sizeof(v), (const void *)w->list)) {
		return 0;
	}
	m = (struct dt_bpf_message *)w->bytes;
	*m = (struct dt_bpf_message){.name = v[0],
				     .pieces = v[2],
				     .control = v[4],
				     .count = v[3],
				     .control_length = v[5],
				     .name_length = (__u32)v[1],
				     .flags = (__u32)v[6]};
	name_n = v[0] ? (__u32)v[1] : 0;
	barrier_var(name_n);
	if (name_n > 128)
		name_n = 128;
	if (name_n && bpf_probe_read_user(w->bytes + sizeof(*m), name_n, (const void *)v[0]))
		name_n = 0;
	m->name_n = name_n;
	w->n = sizeof(*m) + name_n;
	w->list = v[2];
	copy_pieces(w, v[3]);
	w->length = w->n;
	return 1;
}

/* ---- items ---- */

static __always_inline __u64 argument_at(struct call_work *w, __u32 i)
{
	return w->argument[i > DT_BPF_RESULT ? DT_BPF_RESULT : i];
}

/* Returns how many elements an item has. */
static __always_inline __u64 count_of(struct call_work *w, const struct dt_bpf_item *it)
{
	__u32 n = 0;

	if (it->count == DT_BPF_NONE)
		return 1;
	if (!(it->count & DT_BPF_LEADS))
		return argument_at(w, it->count);
	bpf_probe_read_user(&n, sizeof(n), (const void *)argument_at(w, it->count & 7));
	return n;
}

/* Is it wanted now? */
static __always_inline int is_due(struct call_work *w, const struct dt_bpf_item *it, __u32 i)
{
	long result = (long)w->argument[DT_BPF_RESULT];

	if (it->test != DT_BPF_NONE && (__u32)argument_at(w, it->test) != it->value)
		return 0;
	if (!w->leaving || w->again >> (i & 31) & 1)
		return it->when == DT_BPF_ENTRY;
	return it->when == DT_BPF_SOUND	     ? (result >= 0 || result < -4095)
	       : it->when == DT_BPF_ZERO     ? result == 0
	       : it->when == DT_BPF_POSITIVE ? result > 0
					     : 0;
}

/* Copies count * size bytes. */
static __always_inline void copy_bytes(struct call_work *w, const struct dt_bpf_item *it,
				       __u64 from)
{
	__u32 most = it->size == 1 ? DT_BPF_BUFFER : DT_BPF_MOST;
	__u64 count = count_of(w, it);

	if (count > 0x7fffffff)
		count = 0x7fffffff;
	w->length = count * it->size;
	if (w->length > 0xffffffff)
		w->length = 0xffffffff;
	w->n = w->length < most ? (__u32)w->length : most;
	w->failed = !copy_in(w, 0, from, w->n);
}

static __always_inline __u64 pc_of(__u32 index)
{
	return DT_BPF_CALL_PC(index / DT_BPF_CALLS, index & (DT_BPF_CALLS - 1));
}

static long record_item(__u32 i, void *ctx)
{
	struct call_work *w = work_of();
	const struct dt_bpf_call *c;
	const struct dt_bpf_item *it;
	__u64 at;
	long n;

	if (!w)
		return 1;
	c = bpf_map_lookup_elem(&full, &w->index);
	if (!c)
		return 1;
	it = &c->item[i & (DT_BPF_ITEMS - 1)];
	if (!is_due(w, it, i))
		return 0;
	if (w->leaving == 1) { /* what follows is not the call's own time */
		append(DT_BPF_WHO(w->tid, 'c', 0), pc_of(w->index) | DT_BPF_LEAVING, w->sp,
		       w->argument);
		w->leaving = 2;
	}
	at = argument_at(w, it->argument);
	w->from = w->n = w->failed = 0;
	w->length = 0;
	w->list = at;
	w->pc = pc_of(w->index) | i << 8;
	if (it->what == DT_BPF_FILE) {
		if (!name_file())
			return 0;
	} else if (!at) {
		return 0;
	} else if (it->what == DT_BPF_TEXT) {
		n = bpf_probe_read_user_str(w->bytes, DT_BPF_MOST, (const void *)at);
		w->failed = n < 0;
		w->n = n > 0 ? (__u32)n - 1 : 0;
		w->length = n == DT_BPF_MOST ? w->n + 1 : w->n;
	} else if (it->what == DT_BPF_BYTES) {
		copy_bytes(w, it, at);
	} else if (it->what == DT_BPF_TEXTS) {
		bpf_loop(TEXTS_MOST, copy_text, NULL, 0);
		w->length = w->n;
	} else if (it->what == DT_BPF_PIECES) {
		copy_pieces(w, count_of(w, it));
		w->length = w->n;
	} else if (it->what == DT_BPF_MESSAGE) {
		w->failed = !copy_message();
	}
	if (w->failed && !w->leaving)
		w->again |= 1u << (i & 31);
	else
		append_item();
	return 0;
}

static __always_inline struct call_work *work_for(__u32 tid, __u32 index, __u64 sp,
						  const __u64 value[6])
{
	struct call_work *w = work_of();

	if (!w)
		return NULL;
	w->tid = tid;
	w->index = index;
	w->sp = sp;
	w->small = index / DT_BPF_CALLS != 0;
	for (int i = 0; i < 6; i++)
		w->argument[i] = value[i];
	return w;
}

/* Records the beginning of a call. 0: it is not recorded in full. */
static __always_inline int call_begins(__u32 tid, __u32 index, __u64 sp, const __u64 value[6])
{
	const struct dt_bpf_call *c = bpf_map_lookup_elem(&full, &index);
	struct call_work *w;
	__u32 failed;

	if (!c || !c->wanted)
		return 0;
	if (settings.sums && state.choose) {
		struct made m = {DT_BPF_WHO(tid, 'E', 4),
				 pc_of(index),
				 sp,
				 {value[0], value[1], value[2], value[3]},
				 1};

		if (!begin_call(&m))
			return 1;
	}
	append(DT_BPF_WHO(tid, 'E', 4), pc_of(index), sp, value);
	if (c->arguments > 4) {
		__u64 further[4] = {value[4], value[5]};

		append(DT_BPF_WHO(tid, 'c', c->arguments - 4), pc_of(index) | DT_BPF_FURTHER, sp,
		       further);
	}
	if (!c->items)
		return 1;
	w = work_for(tid, index, sp, value);
	if (!w)
		return 1;
	w->leaving = 0;
	w->again = 0;
	bpf_loop(c->items, record_item, NULL, 0);
	failed = w->again;
	if (failed) {
		bpf_map_update_elem(&unread, &tid, &failed, BPF_ANY);
		__sync_fetch_and_add(&state.unread, 1);
	}
	return 1;
}

/* Records the end of a call. 0: it is not recorded in full. */
static __always_inline int call_ends(__u32 tid, __u32 index, __u64 sp, const __u64 value[6],
				     __u64 result)
{
	const struct dt_bpf_call *c = bpf_map_lookup_elem(&full, &index);
	__u64 first[4] = {result};
	struct call_work *w;
	__u32 *failed = NULL;

	if (!c || !c->wanted)
		return 0;
	if (settings.sums) {
		struct made m = {DT_BPF_WHO(tid, 'X', 1), pc_of(index), sp, {result}, 0};

		if (!end_call(&m))
			return 1;
	}
	if (state.unread)
		failed = bpf_map_lookup_elem(&unread, &tid);
	if (c->at_exit || failed) {
		w = work_for(tid, index, sp, value);
		if (w) {
			w->argument[DT_BPF_RESULT] = result;
			w->leaving = 1;
			w->again = failed ? *failed : 0;
			bpf_loop(c->items, record_item, NULL, 0);
		}
		if (failed) {
			bpf_map_delete_elem(&unread, &tid);
			__sync_fetch_and_add(&state.unread, -1);
		}
	}
	append(DT_BPF_WHO(tid, 'X', 1), pc_of(index), sp, first);
	return 1;
}

#endif

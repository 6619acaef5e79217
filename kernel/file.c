// SPDX-License-Identifier: MIT OR GPL-2.0
/* The two files of the original device: one for commands and state, one for records. */
#include "kernel/file.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/text.h"
#include "kernel/hook.h"
#include "kernel/provider.h"
#include "kernel/ring.h"
#include "include/devtrace-ioctl.h"

#define WRITE_MAX (16u << 20)

/*
 * May this process open the files? A misc device has no group of its own: if one is given, the
 * modes let everybody come here, and processes that are neither in the group nor an administrator's
 * are refused.
 */
static int allowed_group = -1;

static bool may_open(void)
{
	return allowed_group < 0 || capable(CAP_SYS_ADMIN) ||
	       in_group_p(make_kgid(&init_user_ns, (gid_t)allowed_group));
}

/* ---- tracectl ---- */

struct ctl {
	struct mutex lock;
	char *text; /* a snapshot of the state, or the answers to commands */
	size_t n, room;
	bool begun; /* a read of text is under way */
	bool failed;
	char *tail; /* the end of a large write, which was cut in the middle of a line */
	size_t tail_n;
};

static void add(void *ctx, const char *text, size_t n)
{
	struct ctl *c = ctx;

	if (c->n + n > WRITE_MAX) {
		c->failed = true;
		return;
	}
	if (c->n + n > c->room) {
		size_t room = max_t(size_t, 2 * c->room, c->n + n + 4096);
		char *more = kvmalloc(room, GFP_KERNEL);

		if (!more) {
			c->failed = true;
			return;
		}
		if (c->n)
			memcpy(more, c->text, c->n);
		kvfree(c->text);
		c->text = more;
		c->room = room;
	}
	memcpy(c->text + c->n, text, n);
	c->n += n;
}

static int ctl_open(struct inode *inode, struct file *f)
{
	struct ctl *c = may_open() ? kzalloc(sizeof(*c), GFP_KERNEL) : ERR_PTR(-EACCES);

	if (IS_ERR(c))
		return PTR_ERR(c);
	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	f->private_data = c;
	return 0;
}

static int ctl_release(struct inode *inode, struct file *f)
{
	struct ctl *c = f->private_data;

	kvfree(c->text);
	kvfree(c->tail);
	kfree(c);
	return 0;
}

static ssize_t ctl_read(struct file *f, char __user *to, size_t n, loff_t *at)
{
	struct ctl *c = f->private_data;
	ssize_t rc;

	mutex_lock(&c->lock);
	if (!c->begun || (*at == 0 && !c->n)) {
		c->n = 0;
		c->failed = false;
		dt_provider_read(add, c);
		c->begun = true;
	}
	rc = c->failed ? -ENOMEM : simple_read_from_buffer(to, n, at, c->text, c->n);
	/* all has been read: a further read from the beginning gives the state */
	if (rc == 0)
		c->begun = false;
	mutex_unlock(&c->lock);
	return rc;
}

/*
 * Obeys commands. A last line without its end waits for the rest if cut; only a write of whole
 * pages counts as one of several.
 */
static ssize_t obey(struct ctl *c, char *text, size_t n, bool cut, bool reads)
{
	struct dt_error e;
	size_t whole = n;
	int rc = 0;

	while (cut && whole && text[whole - 1] != '\n')
		whole--;
	if (whole < n) {
		c->tail = kvmalloc(n - whole, GFP_KERNEL);
		if (!c->tail)
			return -ENOMEM;
		memcpy(c->tail, text + whole, n - whole);
		c->tail_n = n - whole;
	}
	c->n = 0;
	c->failed = false;
	if (whole)
		rc = dt_provider_write(text, whole, add, c, &e);
	/*
	 * the original answers on the console; a process that has the file open for reading and
	 * writing reads the answers there
	 */
	if (c->n && !reads)
		pr_info("devtrace: %.*s", (int)min_t(size_t, c->n, 800), c->text);
	c->begun = reads && c->n;
	if (!c->begun)
		c->n = 0;
	if (rc < 0)
		pr_info("%s%s\n", strstarts(e.text, "devtrace:") ? "" : "devtrace: ", e.text);
	if (rc < 0) { /* the commands after a failed one are not to be obeyed */
		kvfree(c->tail);
		c->tail = NULL;
		c->tail_n = 0;
	}
	return rc < 0 ? -EINVAL : 0;
}

static ssize_t ctl_write(struct file *f, const char __user *from, size_t n, loff_t *at)
{
	struct ctl *c = f->private_data;
	char *text;
	ssize_t rc;

	if (n > WRITE_MAX)
		return -EFBIG;
	mutex_lock(&c->lock);
	text = c->tail_n + n > WRITE_MAX ? NULL : kvmalloc(c->tail_n + n + 1, GFP_KERNEL);
	rc = text ? 0 : c->tail_n + n > WRITE_MAX ? -EFBIG : -ENOMEM;
	if (text && c->tail_n)
		memcpy(text, c->tail, c->tail_n);
	if (text && copy_from_user(text + c->tail_n, from, n))
		rc = -EFAULT;
	if (rc == 0) {
		size_t all = c->tail_n + n;

		kvfree(c->tail);
		c->tail = NULL;
		c->tail_n = 0;
		rc = obey(c, text, all, n >= PAGE_SIZE && !(n & (PAGE_SIZE - 1)),
			  f->f_mode & FMODE_READ);
	}
	if (rc == 0 && (f->f_mode & FMODE_READ))
		*at = 0; /* so that the answers are read from their beginning */
	kvfree(text);
	mutex_unlock(&c->lock);
	return rc < 0 ? rc : (ssize_t)n;
}

static const struct file_operations ctl_operations = {
	.owner = THIS_MODULE,
	.open = ctl_open,
	.release = ctl_release,
	.read = ctl_read,
	.write = ctl_write,
	.llseek = default_llseek,
};

/* ---- trace ---- */

struct log {
	struct mutex lock;
	pid_t tgid; /* the process that opened or last read it, which is not recorded */
	bool binary;
	struct dt_record *record;
	char *text;
};

#define BATCH 1024u /* records that are read at a time */

static int log_open(struct inode *inode, struct file *f)
{
	struct log *l = may_open() ? kzalloc(sizeof(*l), GFP_KERNEL) : ERR_PTR(-EACCES);
	struct dt_error e;
	int rc = -ENOMEM;

	if (IS_ERR(l))
		return PTR_ERR(l);
	if (!l)
		return -ENOMEM;
	mutex_init(&l->lock);
	l->record = kvmalloc_array(BATCH, sizeof(*l->record), GFP_KERNEL);
	l->text = kvmalloc(BATCH * DT_LINE, GFP_KERNEL);
	l->tgid = current->tgid;
	if (l->record && l->text && dt_reader_add(&e) == 0) {
		f->private_data = l;
		return nonseekable_open(inode, f);
	}
	if (l->record && l->text) {
		pr_info_ratelimited("%s\n", e.text);
		rc = -EUSERS;
	}
	kvfree(l->record);
	kvfree(l->text);
	kfree(l);
	return rc;
}

static int log_release(struct inode *inode, struct file *f)
{
	struct log *l = f->private_data;

	dt_rings_let_go(l);
	dt_provider_leave(l);
	dt_reader_remove(l->tgid);
	kvfree(l->record);
	kvfree(l->text);
	kfree(l);
	return 0;
}

/* Reads as many whole records as fit, or none if there are none. Records that can not be copied to
 * the given address are lost. */
static ssize_t log_read(struct file *f, char __user *to, size_t n, loff_t *at)
{
	struct log *l = f->private_data;
	size_t done = 0, size;
	long got = 0;
	ssize_t rc = 0;

	if (mutex_lock_interruptible(&l->lock) < 0)
		return -EINTR;
	/* the file has been passed on: the process that reads must not be recorded */
	if (l->tgid != current->tgid && dt_reader_add(NULL) == 0) {
		dt_reader_remove(l->tgid);
		l->tgid = current->tgid;
	}
	size = l->binary ? sizeof(*l->record) : DT_LINE;
	while (rc == 0 && n - done >= size) {
		const char *from = (const char *)l->record;

		got = dt_rings_take(l->record, min_t(size_t, (n - done) / size, BATCH));
		if (got <= 0)
			break;
		for (long i = 0; i < got && !l->binary; i++)
			dt_text_line(l->text + i * DT_LINE, &l->record[i]);
		if (!l->binary)
			from = l->text;
		if (copy_to_user(to + done, from, (size_t)got * size))
			rc = -EFAULT;
		else
			done += (size_t)got * size;
		if (signal_pending(current))
			break;
	}
	mutex_unlock(&l->lock);
	if (done)
		return (ssize_t)done;
	return rc < 0 ? rc : got < 0 ? got : 0;
}

static long log_span(struct log *l, struct devtrace_span __user *to)
{
	struct devtrace_span x;
	struct dt_ring_span s;
	int rc;

	if (copy_from_user(&x, to, sizeof(x)))
		return -EFAULT;
	if (x.core >= nr_cpu_ids)
		return -EINVAL;
	s = (struct dt_ring_span){.release = x.release, .generation = x.generation};
	rc = dt_rings_span(l, (unsigned int)x.core, &s);
	if (rc < 0)
		return rc;
	x = (struct devtrace_span){x.core, 0, s.generation, s.kept, s.first, s.end, s.lost};
	return copy_to_user(to, &x, sizeof(x)) ? -EFAULT : 0;
}

static long log_ioctl(struct file *f, unsigned int request, unsigned long argument)
{
	struct log *l = f->private_data;

	switch (request) {
	case DEVTRACE_BINARY:
		mutex_lock(&l->lock);
		l->binary = argument;
		mutex_unlock(&l->lock);
		return 0;
	case DEVTRACE_VERSION:
		return DEVTRACE_VERSION_NOW;
	case DEVTRACE_COUNTS: {
		struct dt_ring_counts c;
		struct devtrace_counts out;

		if (copy_from_user(&out, (void __user *)argument, sizeof(out)))
			return -EFAULT;
		if (out.core != DEVTRACE_ALL_CORES && out.core >= nr_cpu_ids)
			return -EINVAL;
		dt_rings_count(out.core == DEVTRACE_ALL_CORES ? -1 : (int)(out.core & 0xffff), &c);
		out = (struct devtrace_counts){out.core,  c.written, c.read,
					       c.overrun, c.lost,    c.lost_exits};
		return copy_to_user((void __user *)argument, &out, sizeof(out)) ? -EFAULT : 0;
	}
	case DEVTRACE_RINGS: {
		struct devtrace_rings out = {.cores = nr_cpu_ids};
		int rc = dt_rings_hold(l, &out.bytes);

		if (rc < 0)
			return rc;
		return copy_to_user((void __user *)argument, &out, sizeof(out)) ? -EFAULT : 0;
	}
	case DEVTRACE_OWN:
		return dt_provider_own(l);
	case DEVTRACE_WATCH:
		return argument > INT_MAX ? -ESRCH : dt_provider_watch(l, (int)argument);
	case DEVTRACE_SPAN:
		return log_span(l, (struct devtrace_span __user *)argument);
	default:
		return -ENOTTY;
	}
}

static int log_map(struct file *f, struct vm_area_struct *area)
{
	return dt_rings_map(f->private_data, area);
}

static const struct file_operations log_operations = {
	.owner = THIS_MODULE,
	.open = log_open,
	.release = log_release,
	.read = log_read,
	.mmap = log_map,
	.unlocked_ioctl = log_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice ctl_device = {
	.minor = MISC_DYNAMIC_MINOR, .name = "tracectl", .fops = &ctl_operations, .mode = 0600};
static struct miscdevice log_device = {
	.minor = MISC_DYNAMIC_MINOR, .name = "trace", .fops = &log_operations, .mode = 0400};

int __init dt_files_make(int group)
{
	int rc;

	allowed_group = group;
	if (group >= 0) {
		ctl_device.mode = 0666;
		log_device.mode = 0444;
	}
	rc = misc_register(&ctl_device);

	if (rc < 0)
		return rc;
	rc = misc_register(&log_device);
	if (rc < 0)
		misc_deregister(&ctl_device);
	return rc;
}

void dt_files_remove(void)
{
	misc_deregister(&log_device);
	misc_deregister(&ctl_device);
}

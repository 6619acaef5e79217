/* SPDX-License-Identifier: MIT */
/* What a program tells of its own events: the records they should leave, in the order of each
 * thread. */
#ifndef DT_TEST_TELL_H
#define DT_TEST_TELL_H

#define TRUTH_RECORDS (1u << 20)

struct truth_record {
	uint32_t tid;
	uint8_t kind, async;
	uint64_t value[4];
};

struct truth {
	uint64_t n;
	struct truth_record r[TRUTH_RECORDS];
};

#ifdef TELL_IN_A_LIBRARY
static struct truth *truth;
#else
struct truth *truth;

static void truth_start(void)
{
	const char *path = getenv("DT_TRUTH");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (!path)
		return;
	if (fd < 0 || ftruncate(fd, sizeof(*truth))) {
		perror(path);
		exit(99);
	}
	truth = (struct truth *)mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				     0);
	close(fd);
}

/* One line a record: thread (and "a" in a handler that comes at any time), kind, values. */
static int truth_print(const char *path)
{
	int fd = open(path, O_RDONLY);

	truth = (struct truth *)mmap(NULL, sizeof(*truth), PROT_READ, MAP_SHARED, fd, 0);
	if (truth == MAP_FAILED)
		return 1;
	for (uint64_t i = 0; i < truth->n; i++) {
		const struct truth_record *r = &truth->r[i];

		printf("%016x%s %c %016lx %016lx %016lx %016lx\n", r->tid, r->async ? "a" : "",
		       r->kind, r->value[0], r->value[1], r->value[2], r->value[3]);
	}
	return 0;
}
#endif

/* Inlined everywhere and calling nothing: a leaf function stays one. */
static inline __attribute__((always_inline)) void tell(char kind, int n, uint64_t a, uint64_t b,
						       uint64_t c, uint64_t d, int async)
{
	struct truth_record *r;
	long tid;

	if (!truth)
		return;
	r = &truth->r[__atomic_fetch_add(&truth->n, 1, __ATOMIC_RELAXED) % TRUTH_RECORDS];
	__asm__ volatile("syscall" : "=a"(tid) : "0"(SYS_gettid) : "rcx", "r11", "memory");
	r->tid = (uint32_t)tid;
	r->kind = (uint8_t)kind;
	r->async = (uint8_t)async;
	r->value[0] = a;
	r->value[1] = n > 1 ? b : 0;
	r->value[2] = n > 2 ? c : 0;
	r->value[3] = n > 3 ? d : 0;
}

/* The body is put together here in another way than by the header. */
#define TELL_BODY(s, e, v)                                                                         \
	((uint64_t)(s)*0x1000000000000 + (uint64_t)(e)*0x100000000 + (uint64_t)(uint32_t)(v))
#define TELL(kind, n, a, b, c, d)                                                                  \
	tell(kind, n, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d), 0)
#define TELL_EVENT(n, s, e, a, b, c, d)                                                            \
	tell('V', n, TELL_BODY(s, e, a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d), (s) == 200)

#define EVENT1(s, e, a)                                                                            \
	do {                                                                                       \
		TELL_EVENT(1, s, e, a, 0, 0, 0);                                                   \
		DT_EVENT(s, e, a);                                                                 \
	} while (0)
#define EVENT2(s, e, a, b)                                                                         \
	do {                                                                                       \
		TELL_EVENT(2, s, e, a, b, 0, 0);                                                   \
		DT_EVENT(s, e, a, b);                                                              \
	} while (0)
#define EVENT3(s, e, a, b, c)                                                                      \
	do {                                                                                       \
		TELL_EVENT(3, s, e, a, b, c, 0);                                                   \
		DT_EVENT(s, e, a, b, c);                                                           \
	} while (0)
#define EVENT4(s, e, a, b, c, d)                                                                   \
	do {                                                                                       \
		TELL_EVENT(4, s, e, a, b, c, d);                                                   \
		DT_EVENT(s, e, a, b, c, d);                                                        \
	} while (0)
#define RAW(x)                                                                                     \
	do {                                                                                       \
		TELL('V', 1, x, 0, 0, 0);                                                          \
		DT_RAW(x);                                                                         \
	} while (0)
#define SENT(x)                                                                                    \
	do {                                                                                       \
		TELL('M', 1, 0xea00000000000000 + (uint64_t)(x)*4096 % (1ull << 56), 0, 0, 0);     \
		DT_SEND(x);                                                                        \
	} while (0)
#define RECEIVED(x)                                                                                \
	do {                                                                                       \
		TELL('N', 1, 0xeb00000000000000 + (uint64_t)(x)*4096 % (1ull << 56), 0, 0, 0);     \
		DT_RECEIVE(x);                                                                     \
	} while (0)

static inline void tell_text(int s, int e, const char *p, size_t n)
{
	size_t left = n < 65536 ? n : 65536, take = left < 24 ? left : 24;
	uint64_t w[4] = {0, 0, 0, 0};

	memcpy(w + 1, p, take);
	tell('V', 4, TELL_BODY(s, e, n), w[1], w[2], w[3], s == 200);
	for (p += take, left -= take; left; p += take, left -= take) {
		take = left < 32 ? left : 32;
		memset(w, 0, sizeof(w));
		memcpy(w, p, take);
		tell('c', 4, w[0], w[1], w[2], w[3], s == 200);
	}
}
#define TEXT(s, e, p, n)                                                                           \
	do {                                                                                       \
		tell_text(s, e, p, n);                                                             \
		DT_TEXT(s, e, p, n);                                                               \
	} while (0)

#endif

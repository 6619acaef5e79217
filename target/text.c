/* SPDX-License-Identifier: MIT */
#include "target/text.h"
#include "target/memory.h"

#define PAGE	   4096u
#define PIECE	   DT_PIECE
#define NEVER_READ 0x10000 /* below this address nothing is read directly: it may be NULL */

typedef uint64_t __attribute__((aligned(1), may_alias)) any_u64;

/* Returns where it is kept whether a page was there, and in *as how that is written. */
static uint32_t *seen_at(uint64_t address, uint32_t *as)
{
	uint64_t n = address / PAGE;

	*as = (uint32_t)(n / DT_SEEN) | 0x80000000u;
	return &seen_pages[n % DT_SEEN];
}

static bool was_there(uint64_t address)
{
	uint32_t as, *at = seen_at(address, &as);

	return address < DT_USER_END && __atomic_load_n(at, __ATOMIC_RELAXED) == as;
}

static void note_there(uint64_t address)
{
	uint32_t as, *at = seen_at(address, &as);

	if (address >= NEVER_READ && address < DT_USER_END)
		__atomic_store_n(at, as, __ATOMIC_RELAXED);
}

/* The stack from this text to the function's return address is certainly there, and so are the
 * pages that these lie in. */
static bool is_stack(const struct text *t, uint64_t address)
{
	uint64_t low = (uint64_t)t & -(uint64_t)PAGE, high = (uint64_t)(t + 1) + DT_POINT_FRAME;

	return address >= low && address <= (high | (PAGE - 1));
}

/* Reads n bytes, at most PIECE, that all lie in one page which is there. */
static void read_there(struct text *t, uint64_t n)
{
	const volatile uint8_t *from = (const volatile uint8_t *)t->address;
	uint64_t word = 0;

	if (n == PIECE) {
		for (unsigned i = 0; i < 4; i++)
			((volatile uint64_t *)t->piece)[i] = ((const any_u64 *)t->address)[i];
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		word |= (uint64_t)from[i] << i % 8 * 8;
		if (i % 8 == 7 || i + 1 == n) {
			t->piece[i / 8] = word;
			word = 0;
		}
	}
}

/* Returns how many of n bytes are in front of the first NUL; of a buffer, n. */
static uint64_t length(const struct text *t, uint64_t n)
{
	const uint64_t low = 0x0101010101010101u;

	if (t->how & DT_TEXT_BUFFER)
		return n;
	for (unsigned i = 0; i < 4 && 8 * i < n; i++) {
		/* 0x80 in each byte that is 0; above the first of them in some others, too */
		uint64_t w = t->piece[i], zeros = (w - low) & ~w & low << 7;

		if (zeros) {
			uint64_t at = 8 * i + (uint64_t)__builtin_ctzll(zeros) / 8;

			return at < n ? at : n;
		}
	}
	return n;
}

/* Puts zeros behind the first n bytes, and behind a NUL. Returns how many bytes are left. */
static uint64_t cut(struct text *t, uint64_t n)
{
	unsigned i;

	n = length(t, n);
	i = (unsigned)n / 8;
	if (i == 4)
		return n;
	t->piece[i] &= (1ull << n % 8 * 8) - 1;
	while (++i < 4)
		t->piece[i] = 0;
	return n;
}

/* Reads up to n bytes; negative: none can be read. */
static long read_piece(struct text *t, uint64_t n)
{
	uint64_t page = PAGE - t->address % PAGE, there = 0, sure = t->how & DT_TEXT_SURE;
	bool stack = is_stack(t, t->address);
	long got;

	if (stack)
		note_there(t->address);
	if (stack || ((sure == DT_TEXT_FIRST || sure == DT_TEXT_ALL) && !(t->how & DT_TEXT_BAD) &&
		      was_there(t->address))) {
		there = n < page ? n : page;
		/* what lies behind the text in its page is there, too: reading it is quicker */
		read_there(t, page < PIECE ? there : PIECE);
		if (there == n || length(t, there) < there)
			return (long)n;
	}
	got = dt_own_memory_read(t->address + there, (char *)t->piece + there, n - there);
	if (got > 0) {
		note_there(t->address + there);
		note_there(t->address + there + (uint64_t)got - 1);
		if (sure == DT_TEXT_ASK)
			t->how ^= DT_TEXT_ASK ^ DT_TEXT_FIRST;
	}
	return there ? (long)there + (got > 0 ? got : 0) : got;
}

/* Puts in front of a buffer's first bytes how many of it are recorded, and how many it has. */
static void put_head(struct text *t)
{
	uint64_t has = t->how >> DT_TEXT_LENGTH;

	t->piece[3] = t->piece[2];
	t->piece[2] = t->piece[1];
	t->piece[1] = t->piece[0];
	t->piece[0] = t->left | (has > UINT32_MAX ? UINT32_MAX : has) << 32;
	t->how &= ~(uint64_t)DT_TEXT_HEAD;
}

int dt_text(struct text *t)
{
	uint64_t room = t->how & DT_TEXT_HEAD ? PIECE - 8 : PIECE, from = t->address;
	uint64_t n = t->left < room ? t->left : room, next = from + n;
	long got = 0;

	for (unsigned i = 0; i < 4; i++)
		((volatile uint64_t *)t->piece)[i] = 0;
	if (n)
		got = read_piece(t, n);
	t->address = 0;
	if (n && (got <= 0 || ((t->how & DT_TEXT_BUFFER) && (uint64_t)got < n))) {
		cut(t, 0);
		t->how |= DT_TEXT_BAD;
		return -1;
	}
	n = cut(t, (uint64_t)got);
	if (t->how & DT_TEXT_HEAD)
		put_head(t);
	t->left -= next - from;
	if (t->how & DT_TEXT_BUFFER ? !t->left
				    : n < PIECE || (!t->left && !(t->how & DT_TEXT_BOUND)))
		return 0;
	/* The function may not look at the next page. If the piece has some of that, the kernel has
	 * read it. */
	if (next % PAGE == 0 && (t->how & DT_TEXT_SURE) == DT_TEXT_FIRST)
		t->how |= DT_TEXT_ASK;
	t->how |= DT_TEXT_LONG;
	t->address = next;
	return 0;
}

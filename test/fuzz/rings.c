/* SPDX-License-Identifier: MIT */
/*
 * What a session's reader takes out of memory that the traced processes can write as they like, and
 * writes to its trace file. The input is a row of steps: what a hostile process writes where and
 * what the recorder does then. Whatever it was, the file can be read and has as many records as
 * were put into it.
 */
#include "session/describe.h"
#include "session/recorder.c"

#include "core/control.h"
#include "session/pauses.h"
#include "session/rings.h"
/* the device has one of that name */
#define dt_range dt_reader_range
#include "store/reader.h"
#undef dt_range
#include "test/fuzz/fuzz.h"

#define CORES 2
#define SIZE  DT_RING_MIN

static struct dt_shared shared;

struct input {
	const uint8_t *p;
	size_t left;
};

static void take_bytes(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, 0, n);
	memcpy(to, in->p, have);
	in->p += have;
	in->left -= have;
}

static uint64_t take_number(struct input *in, size_t bytes)
{
	uint64_t v = 0;

	take_bytes(in, &v, bytes);
	return v;
}

/* A word: a small one as it is, or one beside what a ring's positions may be. */
static uint64_t take_word(struct input *in, uint64_t now)
{
	static const uint64_t beside[] = {0,	     64,	 SIZE,	     SIZE / 2,
					  SIZE + 64, 1ull << 56, 1ull << 61, DT_NO_LIMIT};
	uint8_t how = (uint8_t)take_number(in, 1);

	if (how < 64)
		return how;
	if (how < 128)
		return now + beside[how & 7] - (how & 8);
	if (how < 192)
		return now - beside[how & 7] + (how & 8);
	return take_number(in, 8);
}

static void write_word(struct input *in)
{
	uint64_t words = shared.geometry.bytes / 8, at = take_number(in, 3);
	uint64_t *p = (uint64_t *)(void *)shared.control + at % words;

	*p = take_word(in, *p);
}

static struct dt_ring *ring_of(unsigned i)
{
	return dt_ring_at(shared.control, shared.geometry.stride, i);
}

static struct dt_ring *take_ring(struct input *in)
{
	return ring_of((unsigned)take_number(in, 1) % (CORES + 1));
}

static void write_head(struct input *in)
{
	uint64_t *head = (uint64_t *)(void *)take_ring(in);
	uint64_t *p = head + take_number(in, 1) % (sizeof(struct dt_ring) / 8);

	*p = take_word(in, head[0]);
}

/* Records as hooks write them, with content that hooks would not write. */
static void append(struct input *in)
{
	struct dt_ring *r = take_ring(in);
	uint8_t n = (uint8_t)take_number(in, 1), like;
	struct dt_record one;

	take_bytes(in, &one, sizeof(one));
	like = (uint8_t)take_number(in, 1);
	for (unsigned i = 0; i < n % 64u + 1; i++) {
		uint64_t at = r->pos / 64 & (SIZE / 64 - 1);

		if (like & 1)
			one.ticks += like;
		if (like & 2)
			one.tid = 1 + (one.tid + 1) % 5;
		if (like & 4)
			one.kind = i & 1 ? DT_EXIT : DT_ENTRY;
		if (like & 8)
			one.pc = 0x401000 + 16 * (one.pc % 9);
		dt_ring_records(r)[at] = one;
		if (r == ring_of(CORES))
			dt_ring_marks(r, SIZE)[at] = DT_MARK_DONE(r->pos / 64);
		r->pos += 64;
	}
}

static void tell(struct input *in)
{
	struct dt_control *c = shared.control;
	uint8_t i = (uint8_t)take_number(in, 1);

	if (i & 1) {
		struct dt_held *h = &c->held[i % DT_HELDS];

		take_bytes(in, h, sizeof(*h));
		h->state = DT_REQUEST_POSTED;
		c->helds++;
	} else {
		dt_ring_note_thaw(c, take_word(in, ring_of(CORES)->pos), take_word(in, 0));
	}
}

static void control(struct dt_session *s, uint8_t how)
{
	struct dt_shared *mine = &s->targets.shared;

	switch (how & 15) {
	case 0:
		dt_rings_pause(mine);
		break;
	case 1:
		dt_rings_start(mine);
		break;
	case 2:
		dt_rings_alert(mine);
		break;
	case 3:
		dt_rings_careful(mine, how & 16);
		break;
	case 4:
		dt_rings_freeze(mine, how & 16);
		break;
	case 5:
		dt_rings_freeze_after(mine, how >> 4);
		break;
	case 6:
		dt_shared_set_policy(mine, (enum dt_policy)((how >> 4) % 3));
		break;
	}
}

/* ---- a session that has nothing but rings and a file ---- */

static void begin(struct dt_session *s, enum dt_policy policy)
{
	struct dt_error e;

	fuzz_must(dt_shared_create(&s->targets.shared, CORES, SIZE, policy, &e) == 0);
	shared = s->targets.shared; /* to reach its words by */
	pthread_mutex_init(&s->lock, NULL);
	s->targets.shared.state = DT_PAUSED;
	s->ticks_per_ns = 1;
	fuzz_must(dt_domain_first(s, &e) == 0);
	unlink(fuzz_path("input"));
	s->store = dt_store_create(fuzz_path("input"), dt_describe, s, &e);
	fuzz_must(s->store);
	dt_rings_start(&s->targets.shared);
}

/* What is in the file is what was taken; it can be read. */
static void look_at_file(uint64_t taken, uint64_t lost)
{
	struct dt_error e = {""};
	struct dt_reader *r = dt_reader_open(fuzz_path("input"), &e);
	struct dt_reader_range range = {.order = DT_BY_THREAD, .values = true};
	struct dt_span span;
	struct dt_summary sum;
	uint64_t n = 0;
	int rc;

	if (!r || dt_reader_start(r, &range, &e))
		fprintf(stderr, "%s\n", e.text), abort();
	while ((rc = dt_reader_next(r, &span, &e)) > 0)
		n += span.n;
	if (rc < 0)
		fprintf(stderr, "%s\n", e.text);
	fuzz_must(rc == 0 && n == taken);
	fuzz_must(dt_reader_summary(r, &sum, &e) == 0 && sum.records == taken);
	if (sum.lost != lost)
		fprintf(stderr, "%lu lost in the file, %lu told\n", sum.lost, lost);
	fuzz_must(sum.lost == lost || lost > 1ull << 50);
	dt_reader_close(r);
}

static void end(struct dt_session *s, struct seen *seen, struct round *k)
{
	uint64_t taken = 0, lost = 0;
	struct dt_error e = {""};
	long n;

	for (int rounds = 0; (n = drain(s, seen, k, true, false)) > 0 && rounds < 20;)
		rounds++;
	if (n >= 0)
		n = drain(s, seen, k, true, true);
	fuzz_must(n >= 0);
	for (unsigned i = 0; i <= CORES; i++) {
		taken += s->domain[0]->reader[i].taken;
		lost += s->domain[0]->reader[i].lost_total;
	}
	dt_helds_end(s);
	fuzz_must(dt_store_close(s->store, &e) == 0);
	look_at_file(taken, lost);
	dt_domains_free(s);
	free(s->thread);
	dt_tids_free(&s->tids);
	dt_lives_free(&s->lives);
	free(k->until);
	dt_mix_free(&k->mix);
	free(k->record);
	free(k->sorted);
	pthread_mutex_destroy(&s->lock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct dt_session *s = calloc(1, sizeof(*s));
	struct seen *seen = calloc(1, sizeof(*seen));
	struct round round = {.until = calloc(CORES + 1, sizeof(*round.until))};

	fuzz_begin();
	fuzz_must(s && seen && round.until && dt_mix_init(&round.mix, CORES, 1, NULL) == 0);
	begin(s, (enum dt_policy)(take_number(&in, 1) % 3));
	for (unsigned steps = 0; in.left && steps < 2000; steps++)
		switch (take_number(&in, 1) & 7) {
		case 0:
			write_word(&in);
			break;
		case 1:
			write_head(&in);
			break;
		case 2:
		case 3:
			append(&in);
			break;
		case 4:
			tell(&in);
			break;
		case 5:
			control(s, (uint8_t)take_number(&in, 1));
			break;
		default:
			fuzz_must(drain(s, seen, &round, false, false) >= 0);
		}
	end(s, seen, &round);
	free(seen);
	free(s);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Pairing of messages, against the plainest way of doing it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyse/messages.h"

#define AHEAD 100

static char said[4096];
static struct dt_message all[200000];
static size_t n;

static void on_message(void *ctx, const struct dt_message *m)
{
	size_t at = strlen(said);

	if (at + 100 < sizeof(said))
		snprintf(said + at, sizeof(said) - at, "%c%lx:%lu-%lu@%lu ", "wbuo"[m->state],
			 (unsigned long)m -> key, (unsigned long)m -> sent,
			 (unsigned long)m -> received, (unsigned long)m -> known);
	assert_true(n < sizeof(all) / sizeof(*all));
	all[n++] = *m;
}

static struct dt_messages *begin(void)
{
	*said = '\0';
	n = 0;
	return dt_messages_new(AHEAD, on_message, NULL);
}

static void ends(struct dt_messages *m, uint64_t ticks, const char *expect)
{
	dt_messages_finish(m, ticks);
	dt_messages_free(m);
	assert_string_equal(said, expect);
}

#define S(key, ticks)                                                                              \
	dt_messages_record(m, DT_SEND, 0xeaull << 56 | (uint64_t)(key) << 12, ticks, 1, 0)
#define R(key, ticks)                                                                              \
	dt_messages_record(m, DT_RECEIVE, 0xebull << 56 | (uint64_t)(key) << 12, ticks, 2, 1)

static void kinds(void **state)
{
	struct dt_messages *m = begin();

	S(1, 10), R(1, 20);			    /* whole */
	R(2, 30), S(2, 130);			    /* backward, as far as may be */
	R(3, 140), S(3, 241), R(3, 250);	    /* too far: not its own */
	S(4, 260), S(4, 261), R(4, 270), R(4, 271); /* one key, two under way: the first first */
	S(5, 280);
	R(6, 290);
	ends(m, 300,
	     "w1:10-20@20 b2:130-30@130 o3:0-140@241 w3:241-250@250 w4:260-270@270 w4:261-271@271 "
	     "u5:280-0@300 o6:0-290@300 ");
}

static void lost(void **state)
{
	struct dt_messages *m = begin();

	S(1, 10);
	dt_messages_lost(m, 15);
	R(1, 20), S(1, 30);
	ends(m, 40, "u1:10-0@15 b1:30-20@30 ");
}

static void too_many(void **state)
{
	struct dt_messages *m = begin();

	for (uint64_t i = 0; i <= DT_MESSAGES_MAX; i++)
		S(i, 1000 + i);
	R(DT_MESSAGES_MAX, 100000);
	ends(m, 100001, said);
	assert_int_equal(n, DT_MESSAGES_MAX + 1);
	assert_int_equal(all[0].state, DT_MESSAGE_UNRECEIVED);
	assert_int_equal(all[0].key, 0);
	assert_int_equal(all[1].state, DT_MESSAGE_WHOLE);
}

static bool same(const struct dt_message *a, const struct dt_message *b)
{
	return a->state == b->state && a->key == b->key && a->sent == b->sent &&
	       a->received == b->received && a->known == b->known && a->sender == b->sender &&
	       a->receiver == b->receiver && a->sent_core == b->sent_core &&
	       a->received_core == b->received_core;
}

/* Every record is in one message, once; and saved and restored anywhere, the same comes out. */
static void random_ones(void **state)
{
	static struct dt_message plain[200000];
	size_t plains, ends_of = 0;

	for (unsigned seed = 1; seed <= 20; seed++)
		for (int restored = 0; restored < 2; restored++) {
			struct dt_messages *m = begin(), *other;
			struct dt_bytes b = {0};

			srandom(seed);
			for (uint64_t i = 0; i < 5000; i++) {
				uint64_t key = (uint64_t)random() % 50;
				struct dt_cursor_bytes c;
				int save;

				if (random() % 2)
					S(key, i * 10);
				else
					R(key, i * 10);
				if (random() % 1000 == 0)
					dt_messages_lost(m, i * 10);
				save = random() % 100 == 0;
				if (!restored || !save)
					continue;
				b.n = 0;
				assert_int_equal(dt_messages_save(m, &b), 0);
				other = dt_messages_new(AHEAD, on_message, NULL);
				c = (struct dt_cursor_bytes){b.p, b.p + b.n, false};
				assert_int_equal(dt_messages_restore(other, &c), 0);
				assert_true(c.p == c.end);
				dt_messages_free(m);
				m = other;
			}
			dt_messages_finish(m, 50000);
			dt_messages_free(m);
			free(b.p);
			ends_of = 0;
			for (size_t i = 0; i < n; i++)
				ends_of += all[i].state <= DT_MESSAGE_BACKWARD ? 2 : 1;
			assert_int_equal(ends_of, 5000);
			if (restored) {
				assert_int_equal(n, plains);
				for (size_t i = 0; i < n; i++)
					assert_true(same(&all[i], &plain[i]));
			} else {
				plains = n;
				memcpy(plain, all, n * sizeof(*all));
			}
		}
}

static void damaged(void **state)
{
	struct dt_messages *m = begin();
	uint8_t bytes[64];

	for (unsigned i = 0; i < 100000; i++) {
		struct dt_cursor_bytes c = {bytes, bytes + random() % sizeof(bytes), false};

		for (unsigned k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)(random() % 3 ? random() % 4 + 'L' : random());
		dt_messages_restore(m, &c);
		n = 0;
		*said = '\0';
		dt_messages_lost(m, 1);
	}
	dt_messages_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),    cmocka_unit_test(lost),
		cmocka_unit_test(too_many), cmocka_unit_test(random_ones),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* devtrace count: how often each process passed, or got, which value. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cmd/commands.h"
#include "show/out.h"
#include "cmd/object.h"
#include "cmd/terminal.h"
#include "cmd/value.h"

#define KEYS 1000000

static const char help[] =
	"usage: devtrace count [-F PAT]... [--key VALUE[/N]] [OPTION]... [FILE]\n"
	"Prints how often each process passed or got which value: lines \"pid key count\".\n"
	"\n"
	"  -k, --key VALUE[/N]    arg (the first argument, default), 1 to 4, result, or a\n"
	"                         parameter's name; divided by N and rounded down: arg/4096 is\n"
	"                         the page of an address\n"
	"  -s, --sort ORDER       key (default: by pid, then key) or count (most first)\n"
	"  -n, --rows N           only the first N rows\n"
	"      --keys N           keep at most N different rows (1000000, 64 MB); what finds no\n"
	"                         place is counted together, rows that are shown are exact\n"
	"      --json             as JSON, an object a line: doc/json.md\n"
	"  -F, --function PAT     only of functions that match the shell pattern\n"
	"  -N, --no-function PAT  not of those\n"
	"  -f, --filter WORDS     only of calls that these words mean, as in devtrace calls\n"
	"      --from TIME, --to TIME   begin, end there, as with cat\n"
	"      --symbols FILE     for a text trace: addresses and names, as nm prints them\n" DT_TERMINAL_HELP
	"  -h, --help             show this\n"
	"\n"
	"FILE may be a text trace, \"-\" one on standard input; it is devtrace.db when not given.\n"
	"In a text trace, and when the process is not known, the thread counts as the process.\n";

struct row {
	uint64_t key;	/* magnitude */
	uint64_t count; /* 0: free */
	uint32_t pid;
	bool negative;
};

struct count {
	struct row *row; /* a hash table with open addressing; size is a power of two */
	size_t size, used;
	/* rows to keep at most; what values are divided by; values so far; those that found no
	 * place; rows to print at most, 0: all */
	uint64_t keys, divisor, values, other, rows;
	bool by_count, json;
	struct dt_terminal terminal;
};

/* Returns the row of a key, or the free one where it belongs. */
static struct row *find(struct row *row, size_t size, const struct row *key)
{
	uint64_t hash = (key->key ^ (uint64_t)key->pid << 32 ^ key->negative) * 0x9e3779b97f4a7c15u;

	for (size_t i = (size_t)(hash >> 20);; i++) {
		struct row *r = &row[i & (size - 1)];

		if (!r->count ||
		    (r->key == key->key && r->pid == key->pid && r->negative == key->negative))
			return r;
	}
}

static int grow(struct count *c)
{
	size_t size = c->size ? 2 * c->size : 1024;
	struct row *row = calloc(size, sizeof(*row));

	if (!row)
		return -1;
	for (size_t i = 0; i < c->size; i++)
		if (c->row[i].count)
			*find(row, size, &c->row[i]) = c->row[i];
	free(c->row);
	c->row = row;
	c->size = size;
	return 0;
}

static int take(void *ctx, uint32_t pid, struct dt_number v)
{
	struct count *c = ctx;
	struct row key = {.pid = pid, .negative = v.negative, .key = v.v / c->divisor}, *r;

	if (v.negative && v.v % c->divisor)
		key.key++; /* rounded down, not towards 0 */
	c->values++;
	if (2 * c->used >= c->size && grow(c))
		return -1;
	r = find(c->row, c->size, &key);
	if (!r->count) {
		if (c->used == c->keys) {
			c->other++;
			return 0;
		}
		*r = key;
		c->used++;
	}
	r->count++;
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->negative != y->negative)
		return x->negative ? -1 : 1;
	if (x->key != y->key)
		return (x->key < y->key) != x->negative ? -1 : 1;
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return by_key(a, b);
}

static void say_other(const struct count *c)
{
	if (c->other)
		dt_cmd_fail("note: more than %llu different rows; %llu of %llu values are counted "
			    "as other; choose with -F, divide by more, or raise --keys",
			    (unsigned long long)c->keys, (unsigned long long)c->other,
			    (unsigned long long)c->values);
}

static int print_json(const struct count *c, size_t n)
{
	for (size_t i = 0; i < n && (!c->rows || i < c->rows); i++) {
		const struct row *r = &c->row[i];

		dt_object_begin("count");
		if (r->pid == DT_NO_TID)
			dt_object_text("process", NULL);
		else
			dt_object_number("process", r->pid);
		dt_object_member("key");
		printf("%s%llu", r->negative ? "-" : "", (unsigned long long)r->key);
		dt_object_number("values", r->count);
		dt_object_end();
	}
	if (c->other) {
		dt_object_begin("other");
		dt_object_number("values", c->other);
		dt_object_end();
	}
	say_other(c);
	return fflush(stdout) || ferror(stdout) ? dt_cmd_fail("cannot write the counts") : 0;
}

static int print(struct count *c, const char *key)
{
	static struct dt_out out = {.fd = STDOUT_FILENO};
	size_t n = 0;

	out.file = c->terminal.columns ? stdout : NULL;
	for (size_t i = 0; i < c->size; i++)
		if (c->row[i].count)
			c->row[n++] = c->row[i];
	if (n)
		qsort(c->row, n, sizeof(*c->row), c->by_count ? by_count : by_key);
	if (c->json)
		return print_json(c, n);
	dt_out_text(&out, "# pid ");
	dt_out_text(&out, key);
	dt_out_text(&out, " count\n");
	for (size_t i = 0; i < n && (!c->rows || i < c->rows); i++) {
		const struct row *r = &c->row[i];

		if (r->pid == DT_NO_TID)
			dt_out_char(&out, '-');
		else
			dt_out_decimal(&out, r->pid);
		dt_out_text(&out, r->negative ? " -" : " ");
		dt_out_decimal(&out, r->key);
		dt_out_char(&out, ' ');
		dt_out_decimal(&out, r->count);
		dt_out_char(&out, '\n');
	}
	if (c->other) {
		dt_out_text(&out, "# other ");
		dt_out_decimal(&out, c->other);
		dt_out_char(&out, '\n');
	}
	say_other(c);
	return dt_out_end(&out);
}

static bool parse_number(const char *text, const char *what, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(text, &end, 0);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && *v)
		return true;
	dt_cmd_fail("'%s' is not a %s", text, what);
	return false;
}

static bool parse_key(struct count *c, struct dt_value *v, const char *text)
{
	const char *slash = strchr(text, '/');

	return dt_value_parse(v, text, slash ? (size_t)(slash - text) : strlen(text)) &&
	       (!slash || parse_number(slash + 1, "number to divide by", &c->divisor));
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct dt_values *v, struct count *c, const char **key)
{
	static const struct option options[] = {DT_VALUES_LONG,
						{"key", required_argument, NULL, 'k'},
						{"sort", required_argument, NULL, 's'},
						{"rows", required_argument, NULL, 'n'},
						{"keys", required_argument, NULL, 1},
						{"json", no_argument, NULL, 2},
						DT_TERMINAL_LONG,
						{"help", no_argument, NULL, 'h'},
						{0}};
	int o, status = -1;

	while ((o = getopt_long(argc, argv, DT_VALUES_OPTIONS "k:s:n:h", options, NULL)) != -1) {
		if (dt_values_option(v, o, &status)) {
			if (status >= 0)
				return status;
			continue;
		}
		switch (o) {
		case 'k':
			*key = optarg;
			break;
		case 's':
			c->by_count = !strcmp(optarg, "count");
			if (c->by_count || !strcmp(optarg, "key"))
				break;
			dt_cmd_fail("cannot sort by '%s'; orders are key and count", optarg);
			return 2;
		case 'n':
			if (!parse_number(optarg, "number of rows", &c->rows))
				return 2;
			break;
		case 1:
			if (!parse_number(optarg, "number of rows to keep", &c->keys))
				return 2;
			break;
		case 2:
			c->json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			if (!dt_terminal_option(&c->terminal, o, &status))
				return dt_cmd_usage("count");
			if (status >= 0)
				return status;
		}
	}
	return parse_key(c, &v->value, *key) ? -1 : 2;
}

int dt_cmd_count(int argc, char **argv)
{
	struct count c = {.keys = KEYS, .divisor = 1};
	struct dt_values v = {.option = "-k", .take = take, .ctx = &c};
	const char *key = "arg";
	int status = parse(argc, argv, &v, &c, &key);

	if (status < 0) {
		dt_terminal_listing(&c.terminal, !c.json);
		status = dt_values_run(&v, argc, argv, "count");
		if (!status)
			status = print(&c, key);
	}
	free(c.row);
	dt_selection_clear(&v.select);
	return status;
}

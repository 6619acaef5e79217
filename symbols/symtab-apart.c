/* SPDX-License-Identifier: MIT */
#include "symbols/symtab-apart.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/debug-cache.h"
#include "elf/elf.h"
#include "symbols/dwarf.h"
#include "symbols/symtab-question.h"
#include "symbols/symtab-work.h"

static char broken[256];	     /* the first file whose process failed, "" for none */
static dt_symtab_teller *reads_here; /* answers for files that this process reads; NULL: none */

const char *dt_symtab_apart_broken(void)
{
	return broken[0] ? broken : NULL;
}

static void note_broken(const char *path)
{
	if (!broken[0])
		dt_format(broken, sizeof(broken), "%s", path);
}

/* Has the file read by this process. Returns the answer that is an error if that fails, else NULL.
 */
static char *read_here(struct dt_symtab *t, struct dt_apart_answer *a)
{
	int file = t->main.fd;
	struct dt_error e;

	t->main.fd = -1;
	dt_symfile_note_link(file, t->main.path, DT_DEBUG_DIRS);
	t->reader = dt_symtab_open_file(file, t->main.path, NULL, &e);
	if (t->reader)
		return NULL;
	*a = (struct dt_apart_answer){-1, strlen(e.text)};
	return strdup(e.text);
}

static void connect_apart(struct dt_symtab *t)
{
	struct dt_symfile_tried *before = dt_symfile_tries;

	dt_symfile_tries = &t->tried;
	dt_symfile_note_link(t->main.fd, t->main.path, DT_DEBUG_DIRS);
	dt_symfile_tries = before;
	t->channel = dt_apart_connect(t->main.fd, t->main.path, NULL, NULL);
	close(t->main.fd);
	t->main.fd = -1;
	if (t->channel < 0)
		note_broken(t->main.path);
}

static char *ask_here(struct dt_symtab *t, const struct dt_apart_ask *q, const char *more,
		      struct dt_apart_answer *a)
{
	struct dt_symfile_tried *before = dt_symfile_tries;
	struct dt_told told = {0, NULL, 0};

	dt_symfile_tries = &t->tried;
	if (t->unread)
		told.text = read_here(t, a);
	t->unread = false;
	if (t->reader) {
		told = reads_here(t->reader, q, more);
		*a = (struct dt_apart_answer){told.result, told.bytes};
	}
	dt_symfile_tries = before;
	return told.text;
}

/* Asks who reads the file, as dt_apart_ask() does. */
static char *ask_reader(struct dt_symtab *t, const struct dt_apart_ask *q, const char *more,
			size_t most, struct dt_apart_answer *a)
{
	char *text;

	if (t->reader || (t->unread && reads_here))
		return ask_here(t, q, more, a);
	if (t->unread)
		connect_apart(t);
	t->unread = false;
	if (t->channel < 0)
		return NULL;
	text = dt_apart_ask(t->channel, q, more, most, a);
	if (text)
		return text;
	close(t->channel);
	t->channel = -1;
	note_broken(t->main.path);
	return NULL;
}

/* May the answer be kept? Not errors, which may be gone the next time, nor what hangs on the words
 * of a user. */
static bool is_lasting(const struct dt_apart_ask *q, const struct dt_apart_answer *a)
{
	return q->what != DT_ASK_VARIABLE && q->what != DT_ASK_ADDRESS && q->what != DT_ASK_TRIED &&
	       (a->result >= 0 || q->what == DT_ASK_LINE);
}

/* Asks, as dt_apart_ask() does. If the answer is NULL, nothing more will be known of the file. */
static char *ask(struct dt_symtab *t, enum dt_question what, uint64_t first, uint64_t second,
		 const char *more, size_t most, struct dt_apart_answer *a)
{
	size_t n = more ? strlen(more) : 0;
	const struct dt_apart_ask q = {what, (uint32_t)n, {first, second}};
	char *text;

	more = more ? more : "";
	if (n > DT_APART_ASK_MAX)
		return NULL;
	text = t->memo ? dt_memo_recall(t->memo, &q, more, most, a) : NULL;
	if (text)
		return text;
	text = ask_reader(t, &q, more, most, a);
	if (text && t->memo && is_lasting(&q, a))
		dt_memo_add(t->memo, &q, more, a, text);
	return text;
}

bool dt_symtab_apart_doubt(const struct dt_symtab *t)
{
	if (!t->memo || !(t->unread || t->reader || t->channel >= 0))
		return false;
	dt_memo_forget(t->memo);
	return true;
}

static bool is_known(const struct dt_symfile_tried *tried, const char *path)
{
	for (size_t i = 0; i < tried->n; i++)
		if (!strcmp(tried->path[i], path))
			return true;
	return false;
}

/* Adds the answer to DT_ASK_TRIED. */
static void take_tried(struct dt_symfile_tried *tried, const char *text, size_t n)
{
	for (size_t at = 0; at + 1 < n;) {
		const char *path = text + at + 1;

		at += strlen(path) + 2;
		if (is_known(tried, path))
			continue;
		if (tried->n == DT_TRIED_MOST || path[0] != '/' ||
		    !(tried->path[tried->n] = strdup(path))) {
			tried->spoiled = true;
			return;
		}
		tried->there[tried->n++] = path[-1] == 1;
	}
}

/* Writes the file's memo, if there is news; asks which debug files that is due to. */
static void end_memo(struct dt_symtab *t)
{
	struct dt_apart_answer a;
	char *text;

	if (t->memo && dt_memo_has_news(t->memo) && t->channel >= 0) {
		text = ask(t, DT_ASK_TRIED, 0, 0, NULL, DT_TOLD_MOST, &a);
		t->tried.spoiled = t->tried.spoiled || !text || a.result < 0;
		if (text)
			take_tried(&t->tried, text, a.bytes);
		free(text);
	}
	/* a memo is no use without all that was looked for */
	dt_memo_close(t->memo, t->reader || t->channel >= 0 ? &t->tried : NULL);
	t->memo = NULL;
}

static void end(struct dt_symtab *t)
{
	end_memo(t);
	dt_symtab_close(t->reader);
	dt_symfile_tried_free(&t->tried);
	if (t->channel >= 0)
		close(t->channel);
}

char *dt_symtab_apart_code(const struct dt_symtab *t, uint64_t size, struct dt_apart_answer *a,
			   bool *lent)
{
	const struct dt_apart_ask q = {DT_ASK_CODE, 0, {0, 0}};
	size_t most = DT_TOLD_CODE * (size + 65536);
	char *text = t->memo ? dt_memo_lend(t->memo, &q, most, a) : NULL;

	*lent = text != NULL;
	return text ? text
		    : ask((struct dt_symtab *)(uintptr_t)t, DT_ASK_CODE, 0, 0, NULL, most, a);
}

/* Copies the text of an answer, up to its first NUL. Returns false if it does not fit. */
static bool take_text(char *buf, size_t size, const char *text)
{
	return size && dt_format(buf, size, "%s", text) < size;
}

static void free_tables(struct dt_symtab *t)
{
	free(t->function);
	free(t->alias);
	free(t->reach);
	t->function = NULL;
	t->alias = NULL;
	t->reach = NULL;
	t->functions = t->aliases = 0;
}

static int make_tables(struct dt_symtab *t, const struct dt_told_all *head,
		       const struct dt_told_function *f, const struct dt_told_alias *a,
		       const char *text)
{
	t->function = calloc(head->functions + 1, sizeof(*t->function));
	t->alias = calloc(head->aliases + 1, sizeof(*t->alias));
	t->reach = calloc(head->functions + 1, sizeof(*t->reach));
	text = dt_symtab_keep(t, text, head->text);
	if (!t->function || !t->alias || !t->reach || !text)
		return -1;
	for (size_t i = 0; i < head->functions; i++) {
		if (f[i].linkage >= head->text || (i && f[i].address <= f[i - 1].address))
			return -1;
		t->function[i] = (struct dt_function){.address = f[i].address,
						      .size = f[i].size,
						      .linkage = text + f[i].linkage,
						      .label = f[i].flags & 1,
						      .start = f[i].flags >> 1 & 1,
						      .go = f[i].flags >> 2 & 1};
	}
	for (size_t i = 0; i < head->aliases; i++) {
		if (a[i].linkage >= head->text || (i && a[i].address < a[i - 1].address))
			return -1;
		t->alias[i] = (struct dt_symtab_alias){a[i].address, text + a[i].linkage, NULL};
	}
	t->functions = head->functions;
	t->aliases = head->aliases;
	dt_symtab_fill_sizes(t);
	return 0;
}

/* Takes the answer's tables if they are sound. dt_symtab_keep() puts a NUL after the text. */
static int take_all(struct dt_symtab *t, const char *answer, size_t bytes)
{
	struct dt_told_all head;
	size_t at = sizeof(head), functions, aliases;

	if (bytes < at)
		return -1;
	memcpy(&head, answer, sizeof(head));
	functions = sizeof(struct dt_told_function) * head.functions;
	aliases = sizeof(struct dt_told_alias) * head.aliases;
	if (head.functions > DT_TOLD_MOST || head.aliases > DT_TOLD_MOST ||
	    head.text > DT_TOLD_MOST || bytes != at + functions + aliases + head.text)
		return -1;
	head.build_id[sizeof(t->main.build_id) - 1] = '\0';
	memcpy(t->main.build_id, head.build_id, sizeof(t->main.build_id));
	head.lacks[sizeof(t->lacks) - 1] = '\0';
	memcpy(t->lacks, head.lacks, sizeof(t->lacks));
	t->named_whole = head.named != 0;
	return make_tables(t, &head, (const struct dt_told_function *)(const void *)(answer + at),
			   (const struct dt_told_alias *)(const void *)(answer + at + functions),
			   answer + at + functions + aliases);
}

static bool is_mangled(const char *linkage)
{
	return linkage[0] == '_' && (linkage[1] == 'Z' || linkage[1] == 'R');
}

static void answer_name(struct dt_symtab *t, struct dt_function *f)
{
	struct dt_apart_answer a;
	char *text = is_mangled(f->linkage)
			     ? ask(t, DT_ASK_NAME, f->address, 0, NULL, DT_TOLD_MOST, &a)
			     : NULL;

	dt_symtab_name(t, f, text && a.result == 1 ? dt_symtab_keep(t, text, strlen(text)) : NULL);
	free(text);
}

static void answer_names(struct dt_symtab *t)
{
	size_t n = t->functions + t->aliases, begin = 4 * n;
	struct dt_apart_answer a;
	const char *kept = NULL;
	char *text;

	if (t->named)
		return;
	t->named = true;
	text = ask(t, DT_ASK_NAMES, 0, 0, NULL, DT_TOLD_MOST, &a);
	if (text && a.bytes >= begin)
		kept = dt_symtab_keep(t, text + begin, a.bytes - begin);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = DT_TOLD_SAME;

		if (kept)
			memcpy(&at, text + 4 * i, sizeof(at));
		if (i < t->functions)
			dt_symtab_name(t, &t->function[i],
				       kept && at < a.bytes - begin ? kept + at : NULL);
		else
			t->alias[i - t->functions].name =
				kept && at < a.bytes - begin ? kept + at : NULL;
	}
	free(text);
}

/* Returns the kept copy of the name of a source file. The same names come again and again, so the
 * last one used is kept first. */
static const char *source(struct dt_symtab *t, const char *name)
{
	struct dt_symtab_kept **at = &t->file, *k;
	size_t n = strlen(name) + 1;

	while ((k = *at) && strcmp(k->text, name))
		at = &k->next;
	if (k)
		*at = k->next;
	else if (!(k = malloc(sizeof(*k) + n)))
		return NULL;
	memcpy(k->text, name, n);
	k->next = t->file;
	t->file = k;
	return k->text;
}

/* Asks for all that is known of an address at once: line and signature. Returns false if nothing is
 * known. */
static bool ask_last(struct dt_symtab *t, uint64_t address)
{
	struct dt_apart_answer a;
	char *text;
	size_t n;

	if (t->bare || (t->last.signature && t->last.at == address))
		return !t->bare;
	text = ask(t, DT_ASK_LINE, address, 0, NULL, 2 * DT_TOLD_ONE, &a);
	if (!text)
		return false;
	n = strlen(text) + 1;
	t->bare = a.result == DT_TOLD_BARE;
	free(t->last.signature);
	t->last.signature = strdup(n <= a.bytes ? text + n : "");
	t->last.at = address;
	t->last.source = a.result >= 0 && a.result <= INT32_MAX ? source(t, text) : NULL;
	t->last.line = t->last.source ? (unsigned)a.result : 0;
	free(text);
	return !t->bare;
}

static bool answer_line(struct dt_symtab *t, uint64_t address, const char **file, unsigned *line)
{
	if (!ask_last(t, address) || !t->last.source)
		return false;
	*file = t->last.source;
	*line = t->last.line;
	return true;
}

static bool answer_address(struct dt_symtab *t, const char *file, size_t length, unsigned line,
			   uint64_t *address)
{
	char *name = strndup(file, length), *text;
	struct dt_apart_answer a;
	bool known;

	if (!name)
		return false;
	text = ask(t, DT_ASK_ADDRESS, line, 0, name, DT_TOLD_ONE, &a);
	known = text && a.result == 1 && a.bytes == sizeof(*address);
	if (known)
		memcpy(address, text, sizeof(*address));
	free(text);
	free(name);
	return known;
}

static void answer_signature(struct dt_symtab *t, const struct dt_function *f, unsigned how,
			     char *buf, size_t size)
{
	struct dt_apart_answer a;
	char *text = NULL;

	buf[0] = '\0';
	if (how == DT_SIGNATURE_KEYS) {
		if (ask_last(t, f->address) && t->last.signature &&
		    !take_text(buf, size, t->last.signature))
			buf[0] = '\0';
		return;
	}
	text = t->bare ? NULL : ask(t, DT_ASK_SIGNATURE, f->address, how, NULL, DT_TOLD_ONE, &a);
	if (!text || !take_text(buf, size, text))
		buf[0] = '\0';
	free(text);
}

static bool answer_type(struct dt_symtab *t, uint64_t key, char *buf, size_t size)
{
	struct dt_apart_answer a;
	char *text = t->bare ? NULL : ask(t, DT_ASK_TYPE, key, size, NULL, DT_TOLD_ONE, &a);
	bool known = text && a.result == 1 && take_text(buf, size, text);

	free(text);
	return known;
}

static const struct dt_object *answer_object(struct dt_symtab *t, uint64_t address)
{
	struct dt_apart_answer a;
	struct dt_told_object one;
	char *text = ask(t, DT_ASK_OBJECT, address, 0, NULL, DT_TOLD_MOST, &a);
	const char *name = NULL;

	if (text && a.result == 1 && a.bytes > sizeof(one)) {
		memcpy(&one, text, sizeof(one));
		name = dt_symtab_keep(t, text + sizeof(one), strlen(text + sizeof(one)));
	}
	free(text);
	if (!name || address < one.address || address - one.address >= one.size)
		return NULL;
	/* only the variable asked for last is kept */
	if (!t->object && !(t->object = calloc(1, sizeof(*t->object))))
		return NULL;
	*t->object = (struct dt_object){one.address, one.size, name};
	return t->object;
}

static int answer_variable(struct dt_symtab *t, uint64_t address, const char *expression,
			   struct dt_variable *v, struct dt_error *e)
{
	struct dt_apart_answer a;
	char *text = ask(t, DT_ASK_VARIABLE, address, 0, expression, DT_TOLD_ONE, &a);
	int rc = 0;

	if (text && a.result < 0) {
		rc = dt_fail(e, "%s", text);
	} else if (text && a.bytes == sizeof(*v)) {
		memcpy(v, text, sizeof(*v));
		v->type[sizeof(v->type) - 1] = '\0';
		if (!dt_item_settle(&v->item))
			rc = dt_fail(e, "%s: what the debug information says of it can not be",
				     expression);
	} else {
		rc = dt_fail(e, "%s: what reads the debug information has ended, or did not answer",
			     expression);
	}
	free(text);
	return rc;
}

static int answer_unwind(struct dt_symtab *t, uint64_t address, struct dt_unwind_row *row)
{
	struct dt_apart_answer a;
	char *text = ask(t, DT_ASK_UNWIND, address, 0, NULL, DT_TOLD_ONE, &a);
	int rc = text && a.result < 0 ? -1 : 0;

	if (text && a.result == 1 && a.bytes == sizeof(*row)) {
		memcpy(row, text, sizeof(*row));
		dt_bool_settle(&row->signal);
		rc = dt_unwind_row_is(row) && row->start <= address && address < row->end;
	}
	free(text);
	return rc;
}

static const struct dt_symtab_answers answers = {
	.name = answer_name,
	.names = answer_names,
	.line = answer_line,
	.address = answer_address,
	.signature = answer_signature,
	.type = answer_type,
	.object = answer_object,
	.variable = answer_variable,
	.unwind = answer_unwind,
	.end = end,
};

/* Makes a symtab, of which nothing has been asked; file -1: it is read at the other end of channel.
 */
static struct dt_symtab *make(int file, int channel, const char *path)
{
	struct dt_symtab *t = calloc(1, sizeof(*t));

	if (!t || !(t->main.path = strdup(path))) {
		free(t);
		return NULL;
	}
	t->debug.fd = t->mini.fd = -1;
	t->main.fd = file;
	t->apart = &answers;
	t->channel = channel;
	t->unread = file >= 0;
	return t;
}

/* Asks for the tables. If what a memo says of them is not sound, the file is read after all. */
static struct dt_symtab *begin(struct dt_symtab *t, struct dt_error *e)
{
	const char *path = t->main.path;
	struct dt_apart_answer a;
	char *text = ask(t, DT_ASK_ALL, 0, 0, NULL, DT_TOLD_MOST, &a);
	int rc = text && a.result >= 0 ? take_all(t, text, a.bytes) : 0;

	if (rc < 0 && t->unread && dt_symtab_apart_doubt(t)) {
		free(text);
		free_tables(t);
		text = ask(t, DT_ASK_ALL, 0, 0, NULL, DT_TOLD_MOST, &a);
		rc = text && a.result >= 0 ? take_all(t, text, a.bytes) : 0;
	}
	if (!text)
		dt_fail(e, "%s: the process that was to read it has ended, or did not answer",
			path);
	else if (a.result < 0)
		dt_fail(e, "%s", text);
	else if (rc < 0)
		dt_fail(e,
			"%s: what was read of its symbols can not be, or there is no memory for it",
			path);
	else
		goto done;
	dt_symtab_close(t);
	t = NULL;
done:
	free(text);
	return t;
}

struct dt_symtab *dt_symtab_apart_begin(int channel, const char *path, struct dt_error *e)
{
	struct dt_symtab *t = make(-1, channel, path);

	if (t)
		return begin(t, e);
	close(channel);
	dt_fail(e, "out of memory reading the symbols of %s", path);
	return NULL;
}

/* Opens a file that a process of its own reads, which gets the debug files `more'. */
static struct dt_symtab *open_with(int file, const char *path, const int more[DT_APART_MORE],
				   struct dt_error *e)
{
	int channel = dt_apart_connect(file, path, more, e);

	close(file);
	if (channel >= 0)
		return dt_symtab_apart_begin(channel, path, e);
	if (dt_apart_gone())
		note_broken(path);
	return NULL;
}

/* Opens a file that has a memo, both of which the symtab owns from now on. */
static struct dt_symtab *open_memo(int file, const char *path, struct dt_memo *memo,
				   struct dt_error *e)
{
	struct dt_symtab *t = make(file, -1, path);

	if (!t) {
		close(file);
		dt_memo_close(memo, NULL);
		dt_fail(e, "out of memory reading the symbols of %s", path);
		return NULL;
	}
	t->memo = memo;
	t->bare = dt_memo_has(memo, DT_ASK_LINE, DT_TOLD_BARE);
	return begin(t, e);
}

bool dt_symtab_reads_here(void)
{
	return reads_here != NULL;
}

void dt_symtab_memos_start(dt_symtab_teller *tell)
{
	if (!dt_memo_possible())
		return;
	reads_here = tell;
	dt_symtab_opens = dt_symtab_apart_open;
}

/* Returns the debug file that is missing, from debuginfod's cache or its servers; -1: there is
 * none. The build id is what the file's process says. */
static int find_missing(const struct dt_symtab *t)
{
	int file = dt_build_id_is(t->lacks) ? dt_debug_cache_open(t->lacks) : -1;

	if (file < 0 && dt_symtab_fetches && dt_build_id_is(t->lacks))
		file = dt_symtab_fetches(t->lacks, t->main.path, t->named_whole);
	return file;
}

/* A file whose debug files are missing is opened again, by another process that gets them: first
 * its own, then the one that dwz shares. Nothing is kept of that. */
static struct dt_symtab *complete_apart(struct dt_symtab *t, const char *path)
{
	int more[DT_APART_MORE] = {-1, -1}, file;
	struct dt_symtab *better;

	for (size_t i = 0; t && i < DT_APART_MORE; i++) {
		more[i] = find_missing(t);
		file = more[i] < 0 ? -1 : dt_elf_file(path, true, NULL);
		better = file < 0 ? NULL : open_with(file, path, more, NULL);
		if (!better)
			break;
		dt_symtab_close(t);
		t = better;
	}
	for (size_t i = 0; i < DT_APART_MORE; i++)
		if (more[i] >= 0)
			close(more[i]);
	return t;
}

/* The same of a file that this process reads, if its memo says that some are missing: what is read
 * now finds them by itself. */
static struct dt_symtab *complete_here(struct dt_symtab *t, const char *path)
{
	int missing = t && t->unread ? find_missing(t) : -1;
	int file = missing < 0 ? -1 : dt_elf_file(path, true, NULL);
	struct dt_symtab *better = file < 0 ? NULL : dt_symtab_open_file(file, path, NULL, NULL);

	if (missing >= 0)
		close(missing);
	if (!better)
		return t;
	dt_symtab_close(t);
	return better;
}

struct dt_symtab *dt_symtab_apart_open(const char *path, struct dt_error *e)
{
	int file = dt_elf_file(path, true, e);
	struct dt_memo *memo = file < 0 ? NULL : dt_memo_open(file, path);

	if (file < 0)
		return NULL;
	if (!reads_here)
		return complete_apart(memo ? open_memo(file, path, memo, e)
					   : open_with(file, path, NULL, e),
				      path);
	return memo ? complete_here(open_memo(file, path, memo, e), path)
		    : dt_symtab_open_file(file, path, NULL, e);
}

int dt_symtab_apart_start(dt_apart_serve *tell, struct dt_error *e)
{
	if (dt_apart_begin(tell, e) < 0)
		return -1;
	dt_symtab_opens = dt_symtab_apart_open;
	return 0;
}

void dt_symtab_apart_stop(void)
{
	dt_apart_leave();
	dt_symtab_opens = NULL;
}

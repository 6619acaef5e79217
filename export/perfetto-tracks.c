/* SPDX-License-Identifier: MIT */
/* Perfetto's packets, and its tracks: processes, threads, stacks. */
#include "export/perfetto-work.h"

#include "analyse/feed.h"

void dt_perfetto_begin_packet(struct writing *w)
{
	w->packet.bytes.n = 0;
	dt_protobuf_begin(&w->packet, TRACE_PACKET);
}

void dt_perfetto_end_packet(struct writing *w)
{
	dt_protobuf_end(&w->packet, 2);
	if (!w->packet.failed)
		fwrite(w->packet.bytes.p, 1, w->packet.bytes.n, w->f);
}

void dt_perfetto_put_sequence(struct writing *w, unsigned sequence)
{
	dt_protobuf_number(&w->packet, PACKET_SEQUENCE_ID, sequence);
	if (sequence != SEQUENCE)
		return;
	dt_protobuf_number(&w->packet, PACKET_SEQUENCE_FLAGS,
			   w->begun ? STATE_NEEDED : STATE_CLEARED);
	if (!w->begun)
		dt_protobuf_number(&w->packet, PACKET_FIRST_ON_SEQUENCE, 1);
	w->begun = true;
}

void dt_perfetto_put_text(struct writing *w, struct dt_protobuf *m, unsigned field, const char *s,
			  size_t n)
{
	w->text.bytes.n = 0;
	dt_json_utf8(&w->text, s, n);
	if (!w->text.failed)
		dt_protobuf_bytes(m, field, n ? (const char *)w->text.bytes.p : "",
				  w->text.bytes.n);
}

void dt_perfetto_put_string(struct writing *w, struct dt_protobuf *m, unsigned field, const char *s)
{
	dt_perfetto_put_text(w, m, field, s, strlen(s));
}

static void put_track(struct writing *w, uint64_t uuid, uint64_t parent, const char *name)
{
	dt_protobuf_number(&w->packet, TRACK_UUID, uuid);
	if (parent)
		dt_protobuf_number(&w->packet, TRACK_PARENT_UUID, parent);
	if (name)
		dt_perfetto_put_string(w, &w->packet, TRACK_NAME, name);
}

void dt_perfetto_describe_track(struct writing *w, uint64_t uuid, uint64_t parent, const char *name,
				bool counter)
{
	size_t track;

	dt_perfetto_begin_packet(w);
	dt_perfetto_put_sequence(w, SEQUENCE);
	track = dt_protobuf_begin(&w->packet, PACKET_TRACK_DESCRIPTOR);
	put_track(w, uuid, parent, name);
	if (counter)
		dt_protobuf_end(&w->packet, dt_protobuf_begin(&w->packet, TRACK_COUNTER));
	dt_protobuf_end(&w->packet, track);
	dt_perfetto_end_packet(w);
}

void dt_perfetto_describe_process(struct writing *w, const struct dt_process_info *p)
{
	const char *slash = strrchr(p->exe, '/');
	size_t track, process;

	dt_perfetto_begin_packet(w);
	dt_perfetto_put_sequence(w, SEQUENCE);
	track = dt_protobuf_begin(&w->packet, PACKET_TRACK_DESCRIPTOR);
	put_track(w, UUID(OF_PROCESS, p->pid, 0), 0, NULL);
	process = dt_protobuf_begin(&w->packet, TRACK_PROCESS);
	dt_protobuf_number(&w->packet, PROCESS_PID, p->pid);
	if (*p->cmdline)
		dt_perfetto_put_string(w, &w->packet, PROCESS_CMDLINE, p->cmdline);
	dt_perfetto_put_string(w, &w->packet, PROCESS_NAME,
			       dt_export_named(&w->names, p->pid,
					       slash	 ? slash + 1
					       : *p->exe ? p->exe
							 : p->cmdline));
	dt_protobuf_end(&w->packet, process);
	dt_protobuf_end(&w->packet, track);
	dt_perfetto_end_packet(w);
}

bool dt_perfetto_is_system(uint32_t tid)
{
	return tid && tid <= INT32_MAX;
}

void dt_perfetto_describe_thread(struct writing *w, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(w->r, tid);
	uint64_t uuid = UUID(OF_THREAD, tid, 0);
	size_t track, thread;
	const char *own;
	char name[64];

	if (!dt_perfetto_is_system(tid)) {
		dt_format(name, sizeof(name), tid == DT_NO_TID ? "no thread" : "%.40s %u",
			  t && *t->name ? t->name : "thread", dt_reader_number(w->r, tid));
		dt_perfetto_describe_track(w, uuid, 0, name, false);
		return;
	}
	dt_perfetto_begin_packet(w);
	dt_perfetto_put_sequence(w, SEQUENCE);
	track = dt_protobuf_begin(&w->packet, PACKET_TRACK_DESCRIPTOR);
	put_track(w, uuid, 0, NULL);
	thread = dt_protobuf_begin(&w->packet, TRACK_THREAD);
	dt_protobuf_number(&w->packet, THREAD_PID, t && t->pid ? t->pid : tid);
	dt_protobuf_number(&w->packet, THREAD_TID, tid);
	own = dt_export_named(&w->names, tid, t ? t->name : "");
	if (*own)
		dt_perfetto_put_string(w, &w->packet, THREAD_NAME, own);
	dt_protobuf_end(&w->packet, thread);
	dt_protobuf_end(&w->packet, track);
	dt_perfetto_end_packet(w);
}

static bool grow_stacks(struct writing *w)
{
	size_t slots = w->slots ? 2 * w->slots : 64;
	struct stacks *more = calloc(slots, sizeof(*more));

	if (!more)
		return false;
	for (size_t i = 0; i < w->slots; i++) {
		size_t k = w->stacks[i].uuid * 0x9e3779b97f4a7c15u >> 32 & (slots - 1);

		if (!w->stacks[i].uuid)
			continue;
		while (more[k].uuid)
			k = (k + 1) & (slots - 1);
		more[k] = w->stacks[i];
	}
	free(w->stacks);
	w->stacks = more;
	w->slots = slots;
	return true;
}

struct stacks *dt_perfetto_stacks_of(struct writing *w, uint32_t tid, bool nobody, unsigned core)
{
	uint64_t uuid = nobody ? UUID(OF_NOBODY, core, 0) : UUID(OF_THREAD, tid, 0);
	char name[64];
	size_t k;

	if (2 * w->used >= w->slots && !grow_stacks(w)) {
		w->failed = true;
		return NULL;
	}
	k = uuid * 0x9e3779b97f4a7c15u >> 32 & (w->slots - 1);
	while (w->stacks[k].uuid && w->stacks[k].uuid != uuid)
		k = (k + 1) & (w->slots - 1);
	if (w->stacks[k].uuid)
		return &w->stacks[k];
	w->used++;
	w->stacks[k] = (struct stacks){.uuid = uuid};
	if (nobody) {
		dt_format(name, sizeof(name), "interrupts, core %u", core);
		dt_perfetto_describe_track(w, uuid, 0, name, false);
	} else if (!dt_reader_thread(w->r, tid) || !dt_perfetto_is_system(tid)) {
		dt_perfetto_describe_thread(w, tid);
	}
	return &w->stacks[k];
}

bool dt_perfetto_add_stack(struct writing *w, struct stacks *s)
{
	char name[32];

	if (s->n == s->room) {
		uint32_t room = s->room ? 2 * s->room : 4;
		uint32_t *more = room <= LANES_MAX ? realloc(s->open, room * sizeof(*more)) : NULL;

		if (!more) {
			w->failed = true;
			w->too_many = room > LANES_MAX;
			return false;
		}
		s->open = more;
		s->room = room;
	}
	s->open[s->n++] = 0;
	if (s->n > 1) {
		dt_format(name, sizeof(name), "stack %u", s->n);
		dt_perfetto_describe_track(w, s->uuid + s->n - 1, s->uuid, name, false);
	}
	return true;
}

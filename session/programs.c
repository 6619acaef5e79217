/* SPDX-License-Identifier: MIT */
#include "session/programs.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

void dt_program_note(struct dt_session *s, pid_t pid)
{
	char path[64];
	struct stat st;

	dt_format(path, sizeof(path), "/proc/%d/exe", pid);
	if (stat(path, &st) < 0)
		return;
	for (size_t i = 0; i < s->programs; i++)
		if (s->program[i].inode == st.st_ino &&
		    s->program[i].dev_major == major(st.st_dev) &&
		    s->program[i].dev_minor == minor(st.st_dev))
			return;
	if (s->programs == s->program_room) {
		size_t room = s->program_room ? 2 * s->program_room : 16;
		struct dt_program *more = realloc(s->program, room * sizeof(*more));

		if (!more)
			return;
		s->program = more;
		s->program_room = room;
	}
	s->program[s->programs++] =
		(struct dt_program){st.st_ino, major(st.st_dev), minor(st.st_dev)};
}

bool dt_program_is_known(const struct dt_session *s, const struct dt_file *f)
{
	for (size_t i = 0; i < s->programs; i++)
		if (s->program[i].inode == f->inode && s->program[i].dev_major == f->dev_major &&
		    s->program[i].dev_minor == f->dev_minor)
			return true;
	return false;
}

/* SPDX-License-Identifier: MIT */
#include "elf/start.h"

#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "elf/frames.h"
#include "elf/slots.h"

static bool has_interpreter(Elf *elf)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_INTERP)
			return true;
	return false;
}

static bool is_code(Elf *elf, uint64_t address)
{
	Elf_Scn *s = NULL;
	GElf_Shdr sh;

	while ((s = elf_nextscn(elf, s)))
		if (gelf_getshdr(s, &sh) && sh.sh_flags & SHF_EXECINSTR &&
		    sh.sh_type == SHT_PROGBITS && address >= sh.sh_addr &&
		    address - sh.sh_addr < sh.sh_size)
			return true;
	return false;
}

/* Is it __libc_start_main that is called? In a static program, whose functions have no names, the
 * instructions around the call are all that says so. */
static bool calls_libc(const struct dt_symfile *f, const struct dt_start_code *code)
{
	uint64_t slot = code->call;
	const char *name;

	if (!code->by_slot) {
		size_t left;
		const uint8_t *plt = dt_symfile_bytes(f->elf, code->call, &left);

		slot = plt && left >= DT_PLT ? dt_plt_slot(plt, code->call) : 0;
		if (!slot)
			return !has_interpreter(f->elf) && is_code(f->elf, code->call);
	}
	name = dt_slot_name(f->elf, f->fd, slot);
	return name && !strcmp(name, "__libc_start_main");
}

/* Finds the size of main. Returns false if a function that the file describes contains main, but
 * does not begin there. */
static bool size_of(const struct dt_symfile *f, uint64_t address, uint64_t *size)
{
	int file = dup(f->fd);
	struct dt_frames frames;
	const struct dt_frame *frame;
	bool ok = true;

	*size = 0;
	if (file < 0 || dt_frames_begin(&frames, file, f->path, NULL))
		return true;
	frame = dt_frames_find(&frames, address);
	if (frame) {
		ok = frame->start == address && !frame->signal;
		*size = frame->end - address;
	}
	dt_frames_close(&frames);
	return ok;
}

bool dt_start_find(const struct dt_symfile *f, struct dt_start *out)
{
	struct dt_start_code code;
	const uint8_t *bytes;
	GElf_Ehdr eh;
	size_t left;

	if (!gelf_getehdr(f->elf, &eh) || eh.e_machine != DT_MACHINE ||
	    !is_code(f->elf, eh.e_entry))
		return false;
	bytes = dt_symfile_bytes(f->elf, eh.e_entry, &left);
	if (!bytes || !dt_start_code(bytes, left, eh.e_entry, &code) || !calls_libc(f, &code) ||
	    !is_code(f->elf, code.main))
		return false;
	if (code.main - eh.e_entry < code.length)
		return false;
	*out = (struct dt_start){eh.e_entry, code.length, code.main, 0};
	return size_of(f, code.main, &out->main_size);
}

/* SPDX-License-Identifier: MIT */
/*
 * Signatures of functions of well-known libraries: for files without debug information, and because
 * they say what debug information does not, namely which results are failures and which constants a
 * number stands for. They are true only of the libraries' own files: elsewhere a function of such a
 * name may be anything.
 */
#ifndef DT_SYMBOLS_PROTOTYPE_H
#define DT_SYMBOLS_PROTOTYPE_H

#include "core/types.h"

/* Is it, by its name, the file of a library whose prototypes are known? */
bool dt_prototype_file(const char *path);

/*
 * Writes the signature of a function of the file to buf, as dt_symtab_described() or, if places, as
 * dt_symtab_places(); "" if it is not known.
 */
void dt_prototype(const char *path, const char *name, bool places, char *buf, size_t size);

/*
 * Can a prototype stand in place of a signature from debug information? It can if both have the
 * same values in the same places; a prototype may name arguments that debug information only calls
 * "...". Both signatures have to be of the same form.
 */
bool dt_prototype_fits(const char *prototype, const char *signature);

/*
 * Types in these signatures have keys, as those of dt_symtab_described() have, but other ones,
 * which dt_prototype_is_type() knows. dt_prototype_type() writes what such a key stands for, in the
 * form of a row of the table `type', and returns false if the key is none or it does not fit.
 */
bool dt_prototype_is_type(uint64_t key);
bool dt_prototype_type(uint64_t key, char *buf, size_t size);

/* Returns the key of the set or structure of that name, of n bytes: one of system calls, else one
 * of libraries; 0: there is none. */
uint64_t dt_prototype_set(const char *name, size_t n);
/* Returns the bytes of a structure of system calls; 0: there is none of that name. */
size_t dt_prototype_size(const char *name);

/*
 * Writes the signature of the kernel's system call of that name, such as "read"; "" if it is not
 * known.
 */
void dt_prototype_call(const char *name, char *buf, size_t size);

#define DT_FILLED_MORE 3

/* What a function has filled in when it returns: where a parameter, a pointer, leads to. */
struct dt_filled {
	char name[32];	   /* of the parameter */
	char type[32];	   /* as in a signature, with places */
	uint8_t parameter; /* its integer register: 0 to 5 */
	/* what the result says if something was filled in: 0 that it is positive, 1 that it is 0, 2
	 * that it is not negative */
	uint8_t when;
	bool buffer;	/* of as many bytes as the result says */
	uint8_t pieces; /* of a structure: from each of these bytes on, 8 bytes are meant */
	uint16_t offset[2];
	/* further members of the structure, of which the same is meant */
	struct dt_filled_more {
		char type[32];
		uint16_t offset[2];
	} more[DT_FILLED_MORE];
	uint8_t mores;
};

/* Finds what a function of the file at path fills in, `most' at the most; returns how many. */
unsigned dt_prototype_outputs(const char *path, const char *name, struct dt_filled *out,
			      unsigned most);

#endif

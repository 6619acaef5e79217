# libdevtrace.so.1 (include/libdevtrace.h), and the Python module on it (python/): how they are built and installed.
# Its objects are position-independent. Those that ask nothing of SQLite are the extension's, too; the others are
# built once more, because the extension has SQLite's functions from the program that loads it.
SHAREDSRC := $(wildcard core/*.c arch/x86_64/*.c elf/*.c process/*.c symbols/*.c filter/*.c show/*.c)
READERSRC := $(wildcard library/*.c store/*.c analyse/*.c) sql/arguments.c
READEROBJ := $(SHAREDSRC:%.c=$(B)/sqlite/%.o) $(READERSRC:%.c=$(B)/reader/%.o)
SO        := libdevtrace.so.1
# where Python of this system looks; another place: make install PYTHONDIR=
PYTHONDIR ?= $(PREFIX)/lib/$(if $(filter /usr,$(PREFIX)),python3,$(shell /usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])' 2>/dev/null || echo python3))/dist-packages

# DT_LIBRARY: it is in somebody's program, and changes nothing for the rest of that
$(B)/reader/%.o: %.c Makefile library/library.mk | needs
	@mkdir -p $(@D)
	$(CC) $(ALL) -O2 -fPIC -fvisibility=hidden -ffunction-sections -DDT_LIBRARY -c -o $@ $<

$(B)/reader/store/decode.o: CFLAGS += -O3

# nodelete: SQLite keeps a pointer to the VFS that store/journal.c makes
$(B)/$(SO): $(READEROBJ) library/libdevtrace.map
	$(CC) $(LDGUARD) $(SANFLAGS) $(CFLAGS) -shared -Wl,-soname,$(SO) -Wl,--version-script=library/libdevtrace.map \
		-Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,--no-undefined -Wl,-z,nodelete -o $@ $(READEROBJ) \
		-lsqlite3 -ldw -lelf -llzma -lzstd -liberty -lZydis -lm

$(B)/libdevtrace.so: $(B)/$(SO)
	ln -sf $(SO) $@

$(B)/libdevtrace.pc: library/libdevtrace.pc.in
	@mkdir -p $(@D)
	sed 's|@PREFIX@|$(PREFIX)|g' $< >$@

install-library: $(B)/$(SO)
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/man/man3 \
		$(DESTDIR)$(PYTHONDIR)/devtrace
	install -m 644 $(B)/$(SO) $(DESTDIR)$(PREFIX)/lib/
	ln -sf $(SO) $(DESTDIR)$(PREFIX)/lib/libdevtrace.so
	sed 's|@PREFIX@|$(PREFIX)|g' library/libdevtrace.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/libdevtrace.pc
	install -m 644 include/libdevtrace.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 man/*.3 $(DESTDIR)$(PREFIX)/share/man/man3/
	install -m 644 python/devtrace/*.py $(DESTDIR)$(PYTHONDIR)/devtrace/
	[ -n "$(DESTDIR)" ] || ldconfig || echo "the loader has not been told of $(SO): run ldconfig as root" >&2
.PHONY: install-library

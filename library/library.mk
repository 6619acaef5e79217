# libdevtrace.so.1 (include/libdevtrace.h), and the Python module on it (python/): how they are built.
# packaging/packaging.mk installs them.
# Its objects are position-independent: devtrace's own (ONCE, Makefile), but for those of READEROWN. Where these are not made
# so, it has those of the extension that ask nothing of SQLite, and the others are built once more, because the extension has
# SQLite's functions from the program that loads it.
SHAREDSRC := $(wildcard core/*.c arch/*.c arch/$(ARCH)/*.c elf/*.c process/*.c symbols/*.c filter/*.c show/*.c)
READERSRC := $(wildcard library/*.c store/*.c analyse/*.c) sql/arguments.c
READEROWN := $(if $(ONCE),$(wildcard library/*.c) sql/arguments.c store/journal.c,$(READERSRC))
READEROBJ := $(SHAREDSRC:%.c=$(B)/$(if $(ONCE),,sqlite/)%.o) $(READEROWN:%.c=$(B)/reader/%.o) \
	$(patsubst %.c,$(B)/%.o,$(filter-out $(READEROWN),$(READERSRC)))
SO        := libdevtrace.so.1

# DT_LIBRARY: it is in somebody's program, and changes nothing for the rest of that
$(B)/reader/%.o: %.c Makefile library/library.mk | needs
	@mkdir -p $(@D)
	$(CC) $(ALL) -O2 -fPIC -fvisibility=hidden -ffunction-sections -DDT_LIBRARY -c -o $@ $<

$(B)/reader/store/decode.o: CFLAGS += -O3

# nodelete: SQLite keeps a pointer to the VFS that store/journal.c makes
$(B)/$(SO): $(READEROBJ) library/libdevtrace.map
	$(CC) $(LDGUARD) $(SANFLAGS) $(CFLAGS) -shared -Wl,-soname,$(SO) -Wl,--version-script=library/libdevtrace.map \
		-Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,--no-undefined -Wl,-z,nodelete -o $@ $(READEROBJ) \
		-lsqlite3 -ldw -lelf -llzma -lzstd -liberty $(DECODER) -lm

$(B)/libdevtrace.so: $(B)/$(SO)
	ln -sf $(SO) $@

$(B)/libdevtrace.pc: library/libdevtrace.pc.in core/version.h
	@mkdir -p $(@D)
	$(FILL) $< >$@

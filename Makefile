# devtrace: make deps, make, make demo, make test T=word, make check, make bench, make soak, make mutate,
# make install DESTDIR=, make uninstall, make deb, make clean
# SAN=1 builds the controller and the tests with address and undefined-behaviour sanitizers.
# They are not position-independent, and undefined behaviour traps (ASan says where, handle_sigill): without 10 MB of
# descriptions to relocate and to look for leaks in, a command starts in a third of the time.
# A null pointer to no bytes (qsort, memcpy) is not taken for a fault.
# STATIC=1 (make static): one file without shared libraries, packaging/static/static.mk.
# ARCH=aarch64: for that processor, by a cross compiler, into build/aarch64/ (packaging/cross/cross.mk).
# COVERAGE=1 (make coverage): notes what of it has run, test/coverage/.
# FUZZ=1 fuzzers: by clang, with those and with libFuzzer, what test/fuzz/ tries everything that reads with.

PREFIX   ?= /usr/local
VERSION  := $(shell sed -n 's/^\#define DT_VERSION "\(.*\)"/\1/p' core/version.h)
CC       ?= gcc
HOST     := $(shell uname -m)
ARCH     ?= $(HOST)
CFLAGS   ?= $(if $(SAN)$(FUZZ),-O1 -g1,$(if $(COVERAGE),-O1 -g,-O2 -g))
comma    := ,
B        := build$(if $(filter-out $(HOST),$(ARCH)),/$(ARCH))$(if $(FUZZ),/fuzz,$(if $(SAN),/san,$(if $(STATIC),/static,$(if $(COVERAGE),/coverage))))
ifneq ($(ARCH),$(HOST))
include packaging/cross/cross.mk
endif
# What runs in a traced process is never built for fuzzing: arch/x86_64/target/target.mk. clang's check of pointers
# minds NULL + 0, which is nothing.
TARGETCC := $(CC)
ifdef FUZZ
CC       := clang
SAN      := 1
endif
PIE      := $(if $(SAN),no-pie,pie)
LINKPIE  := $(if $(STATIC),static-pie,$(PIE))
SANFLAGS := $(if $(SAN),-fsanitize=address$(comma)undefined -fno-omit-frame-pointer) \
	$(if $(SAN),$(if $(FUZZ),,-fsanitize-undefined-trap-on-error -fno-sanitize=nonnull-attribute)) \
	$(if $(FUZZ),-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined -fno-sanitize=pointer-overflow)
# they warn of what they themselves make; a build without them warns of the rest
WARN     := -Wall -Wextra $(if $(SAN)$(COVERAGE),-w -Werror=implicit-function-declaration -Werror=incompatible-pointer-types -Werror=int-conversion,-Werror) -Wno-unused-parameter -Wmissing-prototypes -Wshadow -Wstrict-prototypes
# Against what overwrites memory: those of them that the compiler has. What runs in a traced process is
# built without (arch/x86_64/target/target.mk). FORTIFY needs optimization, and the sanitizers do its work.
has      = $(shell echo 'int main(void) { return 0; }' | $(CC) -Werror $(1) -x c - -o /dev/null 2>/dev/null && echo '$(1)')
GUARD   := $(call has,-fstack-protector-strong) $(call has,-fcf-protection) $(if $(filter aarch64,$(ARCH)),$(call has,-mbranch-protection=standard)) $(if $(SAN),,$(call has,-fstack-clash-protection))
LEVEL   := $(shell echo '\#include <features.h>' | $(CC) -Werror -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -E - >/dev/null 2>&1 && echo 3 || echo 2)
FORTIFY  = $(if $(SAN),,$(if $(filter -O -O1 -O2 -O3 -Os -Og,$(lastword $(filter -O%,$(CFLAGS)))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(LEVEL)))
LDGUARD := -Wl,-z,relro,-z,now,-z,noexecstack
# what notes which blocks have run, in each program
HIT      := $(if $(COVERAGE),$(B)/test/coverage/hit.o)
ALL       = -std=gnu11 -I. -I$(B) -D_GNU_SOURCE $(WARN) $(GUARD) $(FORTIFY) -f$(PIE) $(if $(STATIC),-DDT_STATIC -ffunction-sections -fdata-sections) $(SANFLAGS) $(CFLAGS) $(if $(COVERAGE),-fsanitize-coverage=trace-pc) -MMD -MP
LINK      = $(CC) $(HIT) -$(LINKPIE) $(LDGUARD) $(if $(STATIC),-s -Wl$(comma)--gc-sections) $(SANFLAGS) $(CFLAGS)
# what decodes instructions, where arch/ does not
DECODER  := $(if $(filter x86_64,$(ARCH)),-lZydis)
# what runs in traced processes: not there yet for each processor
BLOB     := $(if $(wildcard arch/$(ARCH)/target/target.mk),$(B)/arch/$(ARCH)/blob.o)
LIBS     := -ldw -lelf -llzma -lsqlite3 -lzstd -liberty $(DECODER) -lseccomp -lpthread -lm
# What only some commands use is loaded when they use it (process/library.h), by the name that the linker would have
# taken from it.
soname    = $(shell $(CROSS)objdump -p "$$($(CC) -print-file-name=$(1))" 2>/dev/null | awk '/SONAME/ {print $$2}')

# What each folder holds: README, "Layout". A file is built because it is there.
LIBSRC  := $(wildcard core/*.c arch/*.c arch/$(ARCH)/*.c elf/*.c process/*.c symbols/*.c hook/*.c session/*.c store/*.c filter/*.c align/*.c fleet/*.c analyse/*.c show/*.c export/*.c import/*.c view/*.c remote/*.c)
CMDSRC  := $(wildcard cmd/*.c) $(filter-out sql/extension.c,$(wildcard sql/*.c))
UNITSRC := $(wildcard test/unit/*.c)
PROGSRC := $(wildcard test/tool/*.c)
FUZZSRC := $(wildcard test/fuzz/*.c)
# of the extension for SQLite: the tables, and what they are made with
EXTSRC  := $(wildcard core/*.c arch/*.c arch/$(ARCH)/*.c elf/*.c process/*.c symbols/*.c store/*.c filter/*.c analyse/*.c show/*.c) \
	$(filter-out sql/writing.c,$(wildcard sql/*.c))
# The objects of the folders that the libraries have, too, are made once: position-independent, with each function by itself,
# so that a library is without what it does not need, they do for all of them. With less than -O2 too much is not left out,
# and the libraries have objects of their own; what may ask SQLite has one of its own in the extension (sql/host.h).
ONCE    := $(if $(SAN)$(STATIC)$(COVERAGE),,$(filter -O2 -O3,$(lastword $(filter -O%,$(CFLAGS)))))
HOSTED  := $(filter store/% sql/%,$(EXTSRC)) $(shell grep -l '^.include <sqlite3' $(filter-out store/% sql/%,$(EXTSRC)))
EXTOWN  := $(if $(ONCE),$(HOSTED),$(EXTSRC))
EXTOBJ  := $(EXTOWN:%.c=$(B)/sqlite/%.o) $(patsubst %.c,$(B)/%.o,$(filter-out $(EXTOWN),$(EXTSRC)))
LIBOBJ  := $(LIBSRC:%.c=$(B)/%.o) $(BLOB) $(B)/bpf/image.o
CMDOBJ  := $(CMDSRC:%.c=$(B)/%.o)
UNIT    := $(UNITSRC:%.c=$(B)/%)
TOOL    := $(PROGSRC:%.c=$(B)/%)
FUZZER  := $(FUZZSRC:%.c=$(B)/%)

# The extension is not built with sanitizers: the programs that load it have none. Its sources are those of devtrace itself.
all: $(B)/devtrace $(if $(SAN)$(STATIC)$(COVERAGE),,$(B)/libdevtrace-sqlite.so $(B)/libdevtrace.so) $(B)/lib/as $(B)/devtrace.pc $(B)/devtrace-clang.pc

$(B)/devtrace: $(CMDOBJ) $(B)/libdevtrace.a
	$(LINK) -o $@ $(CMDOBJ) $(B)/libdevtrace.a $(LIBS)

$(B)/libdevtrace.a: $(LIBOBJ)
	rm -f $@ && $(CROSS)ar rcs $@ $(LIBOBJ)

$(B)/%.o: %.c Makefile | needs
	@mkdir -p $(@D)
	$(CC) $(ALL) -c -o $@ $<

$(if $(ONCE),$(patsubst %.c,$(B)/%.o,$(filter-out sql/%,$(EXTSRC))): ALL += -fPIC -fvisibility=hidden -ffunction-sections)

# core/ must stay free of the C library: it is compiled into the kernel module too
$(B)/core/%.o: CFLAGS += -ffreestanding

$(B)/view/microhttpd.o: ALL += -DDT_MICROHTTPD_SONAME='"$(call soname,libmicrohttpd.so)"'
$(B)/cmd/tui-curses.o: ALL += -DDT_CURSES_SONAME='"$(call soname,libncursesw.so.6)"'
$(B)/cmd/shell-edit.o: ALL += -DDT_EDIT_SONAME='"$(call soname,libedit.so)"'
$(B)/session/fuse.o: ALL += -DDT_FUSE_SONAME='"$(call soname,libfuse3.so)"'
$(B)/session/btf.o $(B)/session/bpf.o: ALL += -DDT_BPF_SONAME='"$(call soname,libbpf.so)"'
$(B)/export/babeltrace.o $(B)/import/babeltrace.o: ALL += -DDT_BABELTRACE_SONAME='"$(call soname,libbabeltrace2.so)"'

# With sanitizers compiling costs more than running does what is run once or has no long loops: half as much so.
$(if $(FUZZ),,$(if $(SAN),$(patsubst %.c,$(B)/%.o,$(wildcard cmd/*.c import/*.c export/*.c view/*.c test/unit/*.c test/tool/*.c)): CFLAGS := -O0 -g1))

# loops that every record of a trace goes through: measured, these gain and no others
$(if $(SAN),,$(B)/store/decode.o $(B)/sqlite/store/decode.o $(patsubst %.c,$(B)/%.o,$(wildcard cmd/calls*.c) cmd/json-pieces.c): CFLAGS += -O3)

# SQLite itself is that of the program which loads it: sql/host.h
$(B)/libdevtrace-sqlite.so: $(EXTOBJ)
	$(CC) $(LDGUARD) $(SANFLAGS) $(CFLAGS) -shared -Wl,-soname,$(@F) -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,--no-undefined -o $@ $(EXTOBJ) \
		-ldw -lelf -llzma -lzstd -liberty $(DECODER) -lm

# -O2: with less, what it does not need of a file is not left out
$(B)/sqlite/%.o: %.c Makefile | needs
	@mkdir -p $(@D)
	$(CC) $(ALL) -O2 -fPIC -fvisibility=hidden -ffunction-sections -include sql/host.h -c -o $@ $<

$(B)/instrument/devtrace-as: $(patsubst %.c,$(B)/%.o,$(wildcard instrument/*.c))
	$(LINK) -o $@ $^

# the page is compiled in without comments, but for the first line, and without what lines are indented by (no text in
# backquotes spans lines)
PAGE     := $(patsubst view/%,$(B)/%,$(wildcard view/page/*))
$(B)/page/%: view/page/% Makefile
	@mkdir -p $(@D)
	sed -e '1n' -e '/^\t*\/\//d' -e '/^$$/d' -e 's/^\t*//' -e 's/\([;,{}]\)[\t ]\+\/\/ .*$$/\1/' $< >$@
$(B)/view/page.o: $(PAGE)

# `gcc -B build/lib` takes its assembler from here
$(B)/lib/as: $(B)/instrument/devtrace-as
	@mkdir -p $(@D)
	cp $< $@

$(B)/devtrace.pc $(B)/devtrace-clang.pc: $(B)/%.pc: instrument/%.pc.in core/version.h
	@mkdir -p $(@D)
	$(FILL) $< >$@

include $(wildcard arch/$(ARCH)/target/target.mk)
include $(wildcard test/$(ARCH)/test.mk)
include bpf/bpf.mk
include library/library.mk
include packaging/packaging.mk
ifdef STATIC
include packaging/static/static.mk
else
# one file without shared libraries, build/static/devtrace
static:
	@sh ./install-deps.sh build static
	$(MAKE) STATIC=1 static
	ls -l build/static/devtrace
endif

$(B)/test/unit/%: $(B)/test/unit/%.o $(B)/libdevtrace.a
	$(LINK) -o $@ $(filter %.o,$^) $(B)/libdevtrace.a $(LIBS) -lcmocka

# its types are made up
$(B)/test/unit/test-kernel-names: LIBS += -lbpf

# what is in no library; sled-instruction.c is included in the test
$(B)/test/unit/sled: $(patsubst %.c,$(B)/%.o,$(filter-out instrument/devtrace-as.c instrument/sled-instruction.c,$(wildcard instrument/*.c)))

$(B)/test/tool/%: $(B)/test/tool/%.o $(B)/libdevtrace.a
	$(LINK) -o $@ $(filter %.o,$^) $(B)/libdevtrace.a $(LIBS)

$(B)/test/tool/walk-library: $(patsubst %.c,$(B)/%.o,$(wildcard library/*.c) sql/arguments.c)

# lib/ is what a fuzzer tries; some of it is a command's
$(B)/test/fuzz/%: $(B)/test/fuzz/%.o $(filter-out $(B)/cmd/main.o,$(CMDOBJ)) $(B)/libdevtrace.a
	$(LINK) -fsanitize=fuzzer -o $@ $^ $(LIBS)

fuzzers: $(FUZZER)

tests: all $(UNIT) $(TOOL)

# what is missing is said, with the command for it; nothing is installed
needs:
	@CC='$(CC)' ARCH='$(ARCH)' sh ./install-deps.sh missing

# installs what is missing (Debian), saying so
deps:
	@sh ./install-deps.sh build $(CROSSDEPS)

# make test T=word: the tests whose path contains the word, without sanitizers; it installs and builds what those need
MATCHED  = $(strip $(foreach u,$(UNIT),$(if $(findstring $(T),test/unit/$(notdir $(u))),$(u))))
CASES    = $(strip $(foreach c,$(wildcard test/cases/*.bats),$(if $(findstring $(T),$(c)),$(c))))
OTHERS   = $(strip $(foreach c,$(wildcard test/*/*.t),$(if $(findstring $(T),$(c)),$(c))))
test:
	@[ -n '$(T)' ] || { echo "make test T=word: the tests whose path contains the word (make check: all)" >&2; exit 2; }
	@[ -n '$(MATCHED)$(CASES)$(OTHERS)' ] || { echo "no test's path contains '$(T)': test/unit/*.c, test/cases/*.bats, test/*/*.t" >&2; exit 2; }
	@sh ./install-deps.sh build unit $(if $(CASES),cases) $(if $(OTHERS),check kernel aarch64)
	$(MAKE) -j2 $(MATCHED) $(if $(CASES)$(OTHERS),all $(TOOL))
	PLAIN=1 ./test/run.sh '$(T)'

# the fuzzers one time of five (FUZZERS=1: this time): they are half as much to build as all of the rest
ifndef FUZZERS
FUZZERS := $(shell shuf -n 1 -i 1-$(or $(SHARE),5))
endif
check:
	@sh ./install-deps.sh build check kernel aarch64
	$(MAKE) -j2 tests
	$(MAKE) -j2 SAN=1 tests
	$(if $(filter 1,$(FUZZERS)),$(MAKE) -j2 FUZZ=1 fuzzers)
	FUZZERS=$(FUZZERS) ./test/run.sh $(T)

# makes the tables of prototypes anew, from the headers of this system: when libraries have new functions
prototypes:
	@sh ./install-deps.sh prototypes
	/usr/bin/python3 symbols/prototypes/make.py
	/usr/bin/python3 symbols/prototypes/calls.py "$$(test/kernel/build.sh 6.12 headers)"

# makes the manual pages of sections 5 and 7 of the documents
manual:
	@/usr/bin/python3 man/make.py

# but for programs that tests trace as they are, and the header of macros that programs include
FORMATTED = $(shell git ls-files '*.c' '*.h' | grep -vE '^(test/(golden|known|programs|probe)/|examples/|include/devtrace\.h)')
format:
	@sh ./install-deps.sh lint
	clang-format -i $(FORMATTED)

# where it would change something
format-wanted:
	@clang-format --dry-run $(FORMATTED) 2>&1 | grep -oE '^[^ :]+:[0-9]+' | sort -u | head -n 20

lint:
	@sh ./install-deps.sh lint
	for t in test/lint/*.t; do "$$t" || exit; done

demo:
	@sh ./install-deps.sh build demo
	$(MAKE) all
	./examples/demo.sh

bench: all
	@sh ./install-deps.sh build bench
	./bench/run.sh

# make soak S="nginx kernel": only these campaigns
soak: tests
	@sh ./install-deps.sh build check kernel soak static deb packages
	./test/soak.sh $(S)

# says which lines of the product the commands' cases and the unit tests do not run (half an hour)
coverage:
	@sh ./install-deps.sh build check kernel
	$(MAKE) COVERAGE=1 build/coverage/test/coverage/hit.o
	$(MAKE) -j2 COVERAGE=1 tests
	$(MAKE) -j2 tests
	./test/coverage/run.sh

$(B)/test/coverage/hit.o: ALL += -DDT_HITS='"$(CURDIR)/$(B)/hits"'

# puts faults into a copy of the tree, one at a time, and says which the tests catch (two hours or more); ONLY=session/
mutate:
	@sh ./install-deps.sh build check kernel
	python3 test/mutate/mutate.py --only '$(ONLY)'

clean:
	rm -rf build

.PHONY: all tests static fuzzers needs deps test check prototypes manual format format-wanted lint demo bench soak coverage mutate clean
.SECONDARY:
# the packages have trees of their own
-include $(shell find $(B) \( -path $(B)/deb -o -path $(B)/rpm \) -prune -o -name '*.d' -type f -print 2>/dev/null)

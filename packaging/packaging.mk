# What is installed and where, and the packages.
# make install, uninstall, install-library, install-dkms, uninstall-dkms: DESTDIR=, and the variables below
# make deb: packages for this Debian, in build/deb/; make rpm: in build/rpm/
BINDIR    ?= $(PREFIX)/bin
# libraries, and what pkg-config reads
LIBDIR    ?= $(PREFIX)/lib
MANDIR    ?= $(PREFIX)/share/man
BASHDIR   ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR    ?= $(PREFIX)/share/zsh/site-functions
FISHDIR   ?= $(PREFIX)/share/fish/vendor_completions.d
UNITDIR   ?= $(PREFIX)/lib/systemd/system
# where Python of this system looks
PYTHONDIR ?= $(PREFIX)/lib/$(if $(filter /usr,$(PREFIX)),python3,$(shell /usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])' 2>/dev/null || echo python3))/dist-packages
# who answers for packages that are made here
MAINTAINER ?= devtrace authors <devtrace@example.org>

OWNDIR    := $(PREFIX)/lib/devtrace
DKMSDIR   := /usr/src/devtrace-$(VERSION)
# fills in what files named .in leave open
FILL       = sed 's|@PREFIX@|$(PREFIX)|g;s|@LIBDIR@|$(LIBDIR)|g;s|@BINDIR@|$(BINDIR)|g;s|@VERSION@|$(VERSION)|g;s|@MAINTAINER@|$(MAINTAINER)|g'

# HOW:FILE:TARGET. HOW is the file's mode, "fill" where there is something to fill in, or "link".
LIBRARY   := 644:$(B)/$(SO):$(LIBDIR)/$(SO) link:$(SO):$(LIBDIR)/libdevtrace.so \
	fill:library/libdevtrace.pc.in:$(LIBDIR)/pkgconfig/libdevtrace.pc \
	644:include/libdevtrace.h:$(PREFIX)/include/libdevtrace.h \
	$(foreach f,$(wildcard man/*.3),644:$f:$(MANDIR)/man3/$(notdir $f)) \
	$(foreach f,$(wildcard python/devtrace/*.py),644:$f:$(PYTHONDIR)/devtrace/$(notdir $f))
INSTALLED := $(LIBRARY) \
	755:$(B)/devtrace:$(BINDIR)/devtrace \
	755:$(B)/lib/as:$(OWNDIR)/as link:../lib/devtrace/as:$(BINDIR)/devtrace-as \
	644:$(B)/libdevtrace-sqlite.so:$(LIBDIR)/libdevtrace-sqlite.so \
	$(foreach f,devtrace devtrace-clang,fill:instrument/$f.pc.in:$(LIBDIR)/pkgconfig/$f.pc) \
	644:include/devtrace.h:$(PREFIX)/include/devtrace.h \
	$(foreach n,1 5 7 8,$(foreach f,$(wildcard man/*.$n),644:$f:$(MANDIR)/man$n/$(notdir $f))) \
	644:$(B)/completion/devtrace.bash:$(BASHDIR)/devtrace \
	644:$(B)/completion/_devtrace:$(ZSHDIR)/_devtrace \
	644:$(B)/completion/devtrace.fish:$(FISHDIR)/devtrace.fish \
	755:packaging/systemd/session:$(OWNDIR)/session \
	fill:packaging/systemd/devtrace@.service.in:$(UNITDIR)/devtrace@.service
# the module's sources, for DKMS to build with each kernel
DKMS      := $(foreach f,$(wildcard kernel/*.[ch]) kernel/Kbuild kernel/Makefile $(wildcard core/*.[ch] include/*.h),644:$f:$(DKMSDIR)/$f) \
	fill:kernel/dkms.conf.in:$(DKMSDIR)/dkms.conf

COMPLETION := $(B)/completion/devtrace.bash $(B)/completion/_devtrace $(B)/completion/devtrace.fish
$(COMPLETION): $(B)/completion/%: packaging/completion/%.in packaging/completion/options.awk
	@mkdir -p $(@D)
	awk '$$0 != "@OPTIONS@" { print; next } { while ((getline line <"packaging/completion/options.awk") > 0) print line }' $< >$@

# $(call put,LIST), $(call remove,LIST)
put       = @for f in $(1); do \
		how=$${f%%:*} f=$${f\#*:}; from=$${f%%:*} to='$(DESTDIR)'$${f\#*:}; \
		install -d "$${to%/*}" && case $$how in \
		link) ln -sf "$$from" "$$to" ;; \
		fill) $(FILL) "$$from" >"$$to" && chmod 644 "$$to" ;; \
		*) install -m "$$how" "$$from" "$$to" ;; \
		esac || exit 1; \
	done
remove    = @for f in $(1); do rm -f '$(DESTDIR)'"$${f\#\#*:}" || exit 1; done
# without DESTDIR: the loader is told what is there now
LOADER    = @[ -n '$(DESTDIR)' ] || ldconfig || echo "the loader has not been told of the libraries in $(LIBDIR): run ldconfig as root" >&2

install-library: $(B)/$(SO)
	$(call put,$(LIBRARY))
	$(LOADER)

install: all $(COMPLETION)
	$(call put,$(INSTALLED))
	$(LOADER)

# Takes away what install has put there, with the same variables; what is not there is no fault. Folders that others may use
# (bin, lib/pkgconfig, share/man/man1 and the like) stay.
uninstall:
	$(call remove,$(INSTALLED))
	@rm -rf '$(DESTDIR)$(PYTHONDIR)/devtrace/__pycache__'
	@for d in '$(OWNDIR)' '$(PYTHONDIR)/devtrace'; do \
		[ ! -d '$(DESTDIR)'"$$d" ] || rmdir '$(DESTDIR)'"$$d" || exit 1; \
	done
	$(LOADER)

install-dkms:
	$(call put,$(DKMS))
	[ -n "$(DESTDIR)" ] || { dkms remove devtrace/$(VERSION) --all >/dev/null 2>&1; dkms install devtrace/$(VERSION); }

uninstall-dkms:
	[ -n "$(DESTDIR)" ] || dkms remove devtrace/$(VERSION) --all
	$(call remove,$(DKMS))
	@for d in $(sort $(dir $(foreach f,$(DKMS),$(lastword $(subst :, ,$f))))) '$(DKMSDIR)'; do \
		[ ! -d '$(DESTDIR)'"$$d" ] || rmdir --ignore-fail-on-non-empty '$(DESTDIR)'"$$d" || exit 1; \
	done

SOURCES    = { git ls-files -co --exclude-standard 2>/dev/null || find . -type f ! -path './build/*' ! -path './.git/*'; }

# The tree as it is, but for build/, with packaging/deb as its debian/. The time in the packages is that of the newest
# commit, so that the same sources make the same packages.
D         := build/deb/devtrace-$(VERSION)
EPOCH      = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y core/version.h))
deb:
	@sh ./install-deps.sh build deb
	rm -rf build/deb && mkdir -p '$(D)'
	$(SOURCES) | tar -c -T - --ignore-failed-read | tar -x -C '$(D)'
	cp -r packaging/deb '$(D)/debian'
	for f in changelog control copyright; do \
		$(FILL) packaging/deb/$$f.in | sed "s|@DATE@|$$(LC_ALL=C date -u -R -d @$(EPOCH))|" >'$(D)'/debian/$$f && rm '$(D)'/debian/$$f.in || exit 1; \
	done
	cd '$(D)' && SOURCE_DATE_EPOCH=$(EPOCH) MAKEFLAGS= MAKELEVEL= dpkg-buildpackage -us -uc -b -j2
	@ls -l build/deb/*.deb

# What Fedora would build. Elsewhere the names of the packages that building needs are others: they are not asked for.
R         := build/rpm
$(R)/devtrace.spec: packaging/rpm/devtrace.spec.in core/version.h packaging/packaging.mk
	@mkdir -p $(@D)
	$(FILL) $< >$@

rpm: $(R)/devtrace.spec
	rm -rf $(R)/SOURCES $(R)/BUILD $(R)/BUILDROOT $(R)/RPMS && mkdir -p $(R)/SOURCES
	$(SOURCES) | tar -c -z -T - --ignore-failed-read --transform 's|^|devtrace-$(VERSION)/|' -f $(R)/SOURCES/devtrace-$(VERSION).tar.gz
	SOURCE_DATE_EPOCH=$(EPOCH) MAKEFLAGS= MAKELEVEL= rpmbuild -bb --define '_topdir $(CURDIR)/$(R)' $(if $(wildcard /etc/debian_version),--nodeps) $<
	@find $(R)/RPMS -name '*.rpm' | xargs ls -l

.PHONY: install install-library install-dkms uninstall uninstall-dkms deb rpm

# The static program, `make static': one file for any Linux on x86-64, whatever C library and other libraries there are.
# glibc, since the static libraries that Debian has are made for that. Two are not as they have to be: Zydis, which is built
# from Debian's source, and libmicrohttpd, which is linked without GnuTLS (gnutls.c beside this file).

S        := packaging/static
# libraries that the other program would load
STATICS  := -lfuse3 -ledit -lbsd -lmd -lncursesw -ltinfo -lbpf -lmicrohttpd
# what libmicrohttpd asks for of GnuTLS, but for what gnutls.c has
NO_TLS    = $(shell nm -u "$$($(CC) -print-file-name=libmicrohttpd.a)" 2>/dev/null | awk '$$2 ~ /^gnutls_/ && $$2 !~ /_global_/ {print $$2}' | \
	sort -u | sed 's/.*/-Wl,--defsym=&=dt_no_tls/')
LIBS     := -ldw -llzma -lsqlite3 -lzstd -liberty $(B)/zydis.a -lseccomp $(STATICS) -lelf -lz -lbz2 -lpthread -lm \
	$(B)/$(S)/gnutls.o $(NO_TLS)

static: $(B)/devtrace

$(B)/devtrace: $(B)/zydis.a $(B)/$(S)/gnutls.o

# only what decodes and formats is linked
$(B)/zydis.a:
	@mkdir -p $(B)/zydis
	source=$$(test/real/fetch.sh zydis) && cd $(B)/zydis && \
		$(CC) -std=c11 -D_GNU_SOURCE -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD -I$$source/include -I$$source/src -O2 -fpie -ffunction-sections \
			-fdata-sections -w -c $$source/src/*.c
	rm -f $@ && ar rcs $@ $(B)/zydis/*.o

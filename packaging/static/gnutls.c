/* SPDX-License-Identifier: MIT */
/*
 * devtrace serves pages without TLS, so the static program is linked without GnuTLS. Of its
 * functions libmicrohttpd calls two when it begins and ends; all others, which only a connection
 * with TLS calls, are dt_no_tls() (static.mk).
 */
int gnutls_global_init(void);
void gnutls_global_deinit(void);
int dt_no_tls(void);

int gnutls_global_init(void)
{
	return 0;
}

void gnutls_global_deinit(void)
{
}

/* An error, as GnuTLS has it. */
int dt_no_tls(void)
{
	return -1;
}

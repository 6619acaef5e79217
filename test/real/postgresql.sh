# SPDX-License-Identifier: MIT
# A PostgreSQL of Debian's binaries for a test, in a folder of its own. As root it runs as the user
# postgres. Sets postgresql_master, the process id of its postmaster.
# shellcheck shell=bash
postgresql_bin=$(dirname "$(readlink -f /usr/lib/postgresql/*/bin/postgres | head -n 1)")

# pg COMMAND...: as the server's user, who is let in
pg() {
	local as=()
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid postgres --regid postgres --init-groups)
	"${as[@]}" env PGHOST="$postgresql_folder" PGUSER=postgres PGDATABASE=postgres "$@"
}

# postgresql_start FOLDER: which is made
postgresql_start() {
	postgresql_folder=$1
	mkdir "$1" && chmod 700 "$1" && { [ "$(id -u)" != 0 ] || chown postgres "$1"; } &&
		pg "$postgresql_bin/initdb" -D "$1/data" -U postgres -A trust >"$1/log" 2>&1 &&
		pg "$postgresql_bin/pg_ctl" -D "$1/data" -l "$1/data/log" -w \
			-o "-c listen_addresses='' -c unix_socket_directories=$1 -c fsync=off" start >>"$1/log" 2>&1 || return
	postgresql_master=$(head -n 1 "$1/data/postmaster.pid")
}

postgresql_stop() {
	pg "$postgresql_bin/pg_ctl" -D "$postgresql_folder/data" -m fast stop >>"$postgresql_folder/log" 2>&1
}

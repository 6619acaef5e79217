#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Both ends of HTTP by Python's own libraries, which know nothing of devtrace.

usage: streams-http.py serve CONNECTIONS    a server for so many; makes the file `ready' when it listens
       streams-http.py ask CONNECTIONS REQUESTS    a client; REQUESTS on each
"""
import http.client
import http.server
import sys
import time

ADDRESS = ("10.77.2.2", 8080)


class Handler(http.server.SimpleHTTPRequestHandler):
	protocol_version = "HTTP/1.1"

	def log_message(self, *words):
		pass


if sys.argv[1] == "serve":
	server = http.server.ThreadingHTTPServer(ADDRESS, Handler)
	server.daemon_threads = False
	with open("ready", "w"):
		pass
	for _ in range(int(sys.argv[2])):
		server.handle_request()
	server.server_close()
else:
	for _ in range(int(sys.argv[2])):
		connection = http.client.HTTPConnection(*ADDRESS)
		for _ in range(int(sys.argv[3])):
			connection.request("GET", "/page")
			assert len(connection.getresponse().read()) == 5000
			time.sleep(0.003)
		connection.close()

#!/bin/bash
# SPDX-License-Identifier: MIT
# A range as one HTML file: it shows what the server's page shows of that range, without a server.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
"$root/build/test/tool/maketrace" -n 60000 -c 3 -t 6 -s 4 -m 40 -l 20000 "$dir/made.db" >/dev/null || exit 1
printf 'clock 0 0\nclock 1000000 1000000000\nthread 1 </script><script>window.evil=2</script>\nfunction </script><script>window.evil=1</script>\nE </script><script>window.evil=1</script> 8 10\nX </script><script>window.evil=1</script> 8 900\n' |
	"$root/build/test/tool/writetrace" "$dir/evil.db" || exit 1
cd "$npm" && timeout 200 node "$root/test/view/save.mjs" "$root/build/devtrace" "$dir"

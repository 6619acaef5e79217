#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs with code of assemblers and of other compilers, all functions of them and of their libraries probed:
# output and status as alone. What is not installed is skipped, and said.
# usage: corpus.sh DEVTRACE [NAME...]    without names: all. A line for each; status 1 when one differs.
#        CORPUS_ONLY=REGEX: of each only those programs whose name it fits
set -u
dt=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_RUNTIME_DIR=$dir
cd "$dir" || exit 1
bad=0 n=0
wanted=" $* "
v="-nostdin -loglevel error -f lavfi -i testsrc2=duration=0.4:size=320x240:rate=25"
one="-threads 1 -f framemd5 -"

# need NAME PROGRAM...: is it wanted, and are they there
need() {
	[ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]] || return 1
	local program
	for program in "${@:2}"; do
		command -v "$program" >/dev/null || { echo "skip $1: no $program"; return 1; }
	done
}

# same NAME COMMAND...: alone, and traced
same() {
	local name=$1 alone traced calls
	shift
	[[ $name =~ ${CORPUS_ONLY-} ]] || return 0
	n=$((n + 1))
	timeout 120 "$@" >out.alone 2>err.alone </dev/null
	alone=$?
	timeout 120 "$@" >out.traced 2>/dev/null </dev/null
	cmp -s out.alone out.traced || { echo "skip $name: not the same twice alone"; return; }
	timeout 300 "$dt" record -p overwrite -b 256K -o t.db -F '*' -F 'lib*:*' -- "$@" >out.traced 2>err.traced </dev/null
	traced=$?
	grep -v '^devtrace' err.traced >err.program
	calls=$("$dt" sql --csv t.db 'SELECT count(*) FROM records' 2>/dev/null | tail -1 | tr -d '\r')
	if [ "$alone" != "$traced" ] || ! cmp -s out.alone out.traced || [ "${calls:-0}" -lt 1000 ]; then
		echo "differs: $name: status $alone $traced; $(cmp out.alone out.traced 2>&1); ${calls:-no} records: $*"
		head -3 err.traced
		bad=1
	else
		echo "ok $name ($calls records kept)"
	fi
	rm -f t.db*
}

if need x264 ffmpeg; then same x264 ffmpeg $v -c:v libx264 $one; fi
if need x265 ffmpeg; then same x265 ffmpeg $v -c:v libx265 -x265-params pools=none:frame-threads=1:log-level=none $one; fi
if need vpx ffmpeg; then
	same vp8 ffmpeg $v -c:v libvpx $one
	same vp9 ffmpeg $v -c:v libvpx-vp9 $one
fi
if need dav1d ffmpeg; then
	ffmpeg $v -c:v libsvtav1 -threads 1 av1.mkv 2>/dev/null || ffmpeg $v -c:v libaom-av1 -cpu-used 8 -threads 1 av1.mkv
	same dav1d ffmpeg -nostdin -loglevel error -c:v libdav1d -threads 1 -i av1.mkv -threads 1 -f framemd5 -
fi
if need codecs ffmpeg; then
	for c in mpeg4 mjpeg ffv1 huffyuv prores libtheora libwebp png flashsv2; do
		same "$c" ffmpeg $v -c:v $c $one
	done
	for c in libmp3lame libopus libvorbis aac flac ac3; do
		same "$c" ffmpeg -nostdin -loglevel error -f lavfi -i sine=frequency=441:duration=0.5 -c:a $c -strict -2 $one
	done
	same filters ffmpeg $v -vf scale=200:150:flags=lanczos,hqdn3d,unsharp,yadif,format=yuv420p $one
fi
if need openssl openssl; then
	head -c 100000 "$(command -v openssl)" >data
	for d in $(openssl list -1 -digest-commands); do
		echo "openssl dgst -$d data"
	done >all.sh
	for c in aes-128-cbc aes-256-ctr aes-192-ecb aes-256-ofb camellia-256-cbc chacha20 des-ede3-cbc aria-256-cbc sm4-cbc; do
		echo "openssl enc -$c -K 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f -iv 000102030405060708090a0b0c0d0e0f -in data 2>&1 | md5sum"
	done >>all.sh
	openssl genrsa -out rsa.pem 2048 2>/dev/null
	openssl ecparam -name prime256v1 -genkey -noout -out ec.pem
	openssl genpkey -algorithm ed25519 -out ed.pem
	openssl genpkey -algorithm x25519 -out x.pem
	for k in rsa ec ed x; do openssl pkey -in $k.pem -pubout -out $k.pub; done
	openssl dgst -sha256 -sign ec.pem -out ec.sig data
	while read -r line; do
		case $line in
		*dgst*) same "${line#openssl }" $line ;;
		*) same "${line:8:24}" bash -c "exec ${line% 2>&1 | md5sum} 2>&1" ;;
		esac
	done <all.sh
	same 'rsa sign' openssl dgst -sha256 -sign rsa.pem data
	same 'rsa check' openssl rsa -in rsa.pem -check -noout
	same 'ec verify' openssl dgst -sha256 -verify ec.pub -signature ec.sig data
	same 'ed25519' openssl pkeyutl -sign -inkey ed.pem -rawin -in rsa.pub
	same 'x25519' openssl pkeyutl -derive -inkey x.pem -peerkey x.pub
	for p in 1 1009 170141183460469231731687303715884105727; do same "prime $p" openssl prime $p; done
fi
if need jpeg djpeg cjpeg jpegtran ffmpeg; then
	ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=size=333x222 -frames:v 1 -y pic.ppm
	for o in '' '-progressive' '-arithmetic' '-dct fast' '-dct float' '-sample 2x1' '-grayscale' '-restart 4'; do
		cjpeg $o pic.ppm >pic.jpg
		same "cjpeg $o" cjpeg $o pic.ppm
		for d in '' '-dct fast' '-dct float' '-scale 3/8' '-nosmooth' '-onepass -colors 64'; do same "djpeg $o $d" djpeg $d pic.jpg; done
		same "jpegtran $o" jpegtran -rotate 90 -trim -optimize pic.jpg
	done
fi
if need zip gzip pigz zstd brotli xz bzip2 lz4; then
	[ -s data ] || head -c 100000 "$(command -v gzip)" >data
	for c in 'gzip -9nc' 'pigz -p1 -nc' 'zstd -19 -c' 'zstd -1 -c' 'brotli -c' 'xz -c' 'bzip2 -c' 'lz4 -9 -c'; do same "$c" $c data; done
fi
if need rust rg; then same ripgrep rg -j1 --no-config -c e /usr/share/common-licenses; fi
if need rustc rustc; then
	cat >r.rs <<-'R'
		use std::collections::BTreeMap;
		fn fib(n: u32) -> u64 { if n < 2 { n as u64 } else { fib(n - 1) + fib(n - 2) } }
		fn thrower(n: u32) -> u32 { if n % 3 == 0 { panic!("x") } n }
		fn main() {
		    std::panic::set_hook(Box::new(|_| {}));
		    let m: BTreeMap<u32, String> = (0..2000u32).map(|i| (i * 7919 % 1009, format!("v{}", i))).collect();
		    let caught = (0..60).filter(|i| std::panic::catch_unwind(|| thrower(*i)).is_err()).count();
		    let t: Vec<_> = (0..4u32).map(|k| std::thread::spawn(move || fib(12 + k))).collect();
		    let s: u64 = t.into_iter().map(|t| t.join().unwrap()).sum();
		    println!("{} {} {} {}", fib(18), m.values().map(|v| v.len()).sum::<usize>(), caught, s);
		}
	R
	for o in 0 3; do rustc -A warnings -C opt-level=$o -o r r.rs 2>/dev/null && same "rust -O$o" ./r; done
fi
if need fd fdfind; then same fd fdfind -j1 . /usr/share/common-licenses; fi
if need fortran gfortran; then
	cat >f.f90 <<-'F'
		program p
		  implicit none
		  real(8) :: a(60,60), b(60,60), c(60,60)
		  integer :: i, j
		  do i = 1, 60; do j = 1, 60; a(i,j) = sin(dble(i*j)); b(i,j) = exp(-abs(dble(i-j))); end do; end do
		  c = matmul(a, transpose(b))
		  print '(3f20.12)', sum(c), maxval(c), fib(20) * 1d0
		contains
		  recursive integer function fib(n) result(r)
		    integer, intent(in) :: n
		    if (n < 2) then
		      r = n
		    else
		      r = fib(n - 1) + fib(n - 2)
		    end if
		  end function
		end program
	F
	for o in -O0 -O2 -O3; do gfortran $o -o f f.f90 && same "fortran $o" ./f; done
fi
if need pascal fpc; then
	cat >p.pas <<-'P'
		program p;
		{$mode objfpc}
		uses sysutils, classes;
		type TShape = class function area: double; virtual; abstract; end;
		     TSq = class(TShape) s: double; function area: double; override; end;
		function TSq.area: double; begin result := s * s; end;
		function fib(n: integer): int64; begin if n < 2 then fib := n else fib := fib(n - 1) + fib(n - 2); end;
		procedure thrower(i: integer); begin if i mod 3 = 0 then raise Exception.Create('e' + inttostr(i)); end;
		var i, caught: integer; l: TStringList; q: TSq; t: double;
		begin
		  caught := 0; t := 0;
		  for i := 1 to 100 do try thrower(i); except on e: Exception do inc(caught); end;
		  l := TStringList.create; for i := 1 to 200 do l.add(inttostr((i * 7919) mod 1000)); l.sort;
		  q := TSq.create; for i := 1 to 50 do begin q.s := i; t := t + q.area; end;
		  writeln(fib(20), ' ', caught, ' ', l[17], ' ', t:0:3, ' ', format('%8.3f|%s', [pi, 'x']));
		end.
	P
	for o in -O- -O2 -O3; do fpc $o -Xs- -op p.pas >/dev/null 2>&1; [ -x p ] && same "pascal $o" ./p; done
fi
if need ocaml ocamlopt; then
	cat >o.ml <<-'M'
		module M = Map.Make(Int)
		let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
		exception E of int
		let f i = if i mod 7 = 0 then raise (E i) else i
		let () =
		  let m = List.fold_left (fun m i -> M.add (i * 7919 mod 1009) i m) M.empty (List.init 1000 Fun.id) in
		  let caught = List.fold_left (fun n i -> try ignore (f i); n with E _ -> n + 1) 0 (List.init 500 Fun.id) in
		  let s = String.concat "," (List.map string_of_int (List.sort compare (List.map snd (M.bindings m)))) in
		  Gc.compact ();
		  Printf.printf "%d %d %d %s %.6f\n" (fib 20) caught (M.cardinal m) (Digest.to_hex (Digest.string s)) (sin 1.)
	M
	ocamlopt -o o o.ml 2>/dev/null && same ocaml ./o
fi
if need haskell ghc; then
	cat >H.hs <<-'H'
		import qualified Data.Map.Strict as M
		import Data.List (sort, foldl')
		fib :: Int -> Integer
		fib n = if n < 2 then toInteger n else fib (n - 1) + fib (n - 2)
		main :: IO ()
		main = do
		  let m = foldl' (\a i -> M.insertWith (+) (i * 7919 `mod` 1009) i a) M.empty [0 .. 5000 :: Int]
		  print (fib 18, M.size m, sum (M.elems m), sort (take 10 (M.toList m)))
	H
	ghc -v0 -O1 -o h H.hs && same haskell ./h
fi
if need java javac java; then
	cat >J.java <<-'J'
		import java.util.*;
		public class J {
			static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
			public static void main(String[] a) throws Exception {
				TreeMap<Integer, String> m = new TreeMap<>();
				for (int i = 0; i < 5000; i++) m.put(i * 7919 % 10007, "v" + i);
				int caught = 0;
				for (int i = 0; i < 100; i++) try { if (i % 3 == 0) throw new Exception("x"); } catch (Exception e) { caught++; }
				var d = java.security.MessageDigest.getInstance("SHA-256");
				System.out.println(fib(25) + " " + m.hashCode() + " " + caught + " " + HexFormat.of().formatHex(d.digest(m.toString().getBytes())));
			}
		}
	J
	javac J.java && same java java -Xint -XX:+UseSerialGC J && same 'java, compiled' java -XX:+UseSerialGC J
fi
if need node node; then
	cat >n.js <<-'N'
		const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
		const m = new Map(); for (let i = 0; i < 5000; i++) m.set(i * 7919 % 10007, "v" + i);
		const z = require("zlib"), c = require("crypto");
		console.log(fib(22), m.size, c.createHash("sha256").update(JSON.stringify([...m])).digest("hex"), z.gunzipSync(z.gzipSync("x".repeat(9999))).length);
	N
	same node node n.js
fi
for s in "/usr/bin/python3 -c import_hashlib,json;print(hashlib.sha256(json.dumps(list(range(9999))).encode()).hexdigest())" \
	"perl -e print_join(q(,),map{\$_*7%101}1..999)" "ruby -e puts((1..999).map{|i|i*7%101}.sort.join(%q(,)))" \
	"php -r echo_md5(serialize(array_map(fn(\$i)=>\$i*7%101,range(1,999))));" "lua5.4 -e print(string.rep(string.format('%.3f',math.sin(1)),99))" \
	"guile --no-auto-compile -c (display(expt_3_999))"; do
	set -- $s
	if need scripts "$1"; then same "$1" "${@:1:$#-1}" "${!#//_/ }"; fi
done
if need magick convert-im6.q16; then same convert convert-im6.q16 -size 200x150 gradient:tomato-steelblue -blur 0x3 -rotate 7 -resize 50% rgb:- ; fi
echo "$n programs, $([ $bad = 0 ] && echo none differs || echo some differ)"
exit $bad

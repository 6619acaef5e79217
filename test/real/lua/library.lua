-- SPDX-License-Identifier: MIT
-- Strings, tables, numbers, utf8, load and dump, files, metatables, garbage collection, debug.
local log = print
log("format", ("%5.2f|%-5s|%05d|%x|%q|%g|%s"):format(3.14159, "ab", 42, 255, "a\n\0b", 1e100, true))
log("float", 0.1 + 0.2, 1e15, 2^53, 1 / 0, -1 / 0, 7 // 2, -7 // 2, 7 % -3, 7.5 // 2, 3 | 4, ~0)
log("math", math.floor(-3.5), math.tointeger(3.0), math.max(3, 9, 2), math.ult(1, -1), math.fmod(-7, 3))
log("sin", ("%.12f %.12f %.12f"):format(math.sin(1), math.exp(1), math.log(10, 2)))
log("convert", "10" + 5, 10 .. 20, tonumber("0x1p4"), tonumber("z", 36), tonumber("8", 8))
log("find", ("hello world"):find("o w"), ("a.b"):find(".", 1, true), ("abc"):match("^(a)(.-)$"))
log("gsub", ("hello"):gsub("l", { l = "L" }), ("abc"):gsub("%w", "%0%0"), ("x y"):gsub("(%w) (%w)", "%2 %1"))
for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do log("gmatch", k, v) end
log("frontier", ("THE (quick) fox"):find("%f[%a]%a+%f[%A]"), ("[[x]]"):match("%b[]"))
log("rep", #("ab"):rep(10000, ","), ("abc"):reverse(), ("aBc"):upper(), ("x"):byte(), ("abc"):sub(-2))
log("pack", string.unpack("<i4 z s2", string.pack("<i4 z s2", -2, "hi", "yo")))
log("utf8", utf8.char(72, 228, 8364, 128512), utf8.len("häß€"), utf8.codepoint("€"), utf8.offset("a€b", 3))

local t = {}
for i = 1, 1000 do t[i] = i * i % 1009 end
for i = 1, 500 do table.remove(t, 1) table.insert(t, 3, i) end
table.sort(t)
log("table", #t, t[1], t[500], t[1000], table.concat(t, " ", 1, 10))
log("move", table.concat(table.move({ 1, 2, 3 }, 1, 3, 2), ","), table.pack(1, nil, 3).n)
local h = {}
for i = 1, 20000 do h["k" .. i % 3000] = (h["k" .. i % 3000] or 0) + i end
local n, s = 0, 0
for _, v in pairs(h) do n, s = n + 1, s + v end
log("hash", n, s)

local V = {}
V.__index = V
V.__add = function(a, b) return setmetatable({ x = a.x + b.x }, V) end
V.__eq = function(a, b) return a.x == b.x end
V.__lt = function(a, b) return a.x < b.x end
V.__le = function(a, b) return a.x <= b.x end
V.__len = function(a) return a.x end
V.__call = function(a, y) return a.x * y end
V.__concat = function(a, b) return "cat" end
V.__tostring = function(a) return "V" .. a.x end
V.__unm = function(a) return setmetatable({ x = -a.x }, V) end
local a, b = setmetatable({ x = 1 }, V), setmetatable({ x = 2 }, V)
log("meta", tostring(a + b), a == b, a < b, a <= b, #b, b(21), a .. b, tostring(-b), rawequal(a, a))
local proxy = setmetatable({}, { __newindex = function(t_, k, v) rawset(t_, k, v * 2) end })
proxy.y = 21
log("newindex", proxy.y, rawlen({ 1, 2 }), next({}))

local f = load("local a, b = ...; return a * b, _ENV.print ~= nil")
log("load", f(6, 7))
log("dump", load(string.dump(function(x) local y = x + 1 return y * 2 end, true))(20))
log("env", load("x = 5 return x", "c", "t", {})(), x)

local name = os.tmpname()
local file = assert(io.open(name, "w"))
file:write("one\n", 2, "\n", 3.5, "\nlast line"):close()
for l in io.lines(name) do io.write("line ", l, "\n") end
file = io.open(name)
log("read", file:read("l", "n", "n", "a"))
log("seek", file:seek("set", 4), file:read(1), file:seek("end"))
file:close()
os.remove(name)
log("io", io.open(name) == nil, io.type(file), os.time({ year = 2000, month = 1, day = 1, hour = 12 }) > 0)
log("date", os.date("!%Y-%m-%d %H:%M:%S", 86400 * 365), os.getenv("NO_SUCH_VARIABLE"))

-- garbage: weak tables, finalizers, both collectors, a small pause
for _, mode in ipairs({ "incremental", "generational" }) do
	collectgarbage(mode)
	local weak, dead = setmetatable({}, { __mode = "k" }), 0
	for i = 1, 5000 do
		weak[setmetatable({ i, {}, ("s"):rep(i % 50) }, { __gc = function() dead = dead + 1 end })] = i
	end
	collectgarbage()
	collectgarbage()
	log(mode, next(weak) == nil, dead)
end
collectgarbage("incremental")
for _ = 1, 100 do collectgarbage("step", 10) end
log("count", collectgarbage("count") > 10, collectgarbage("isrunning"))

local hits = 0
debug.sethook(function() hits = hits + 1 end, "crl")
for i = 1, 100 do math.abs(i) end
debug.sethook()
log("hook", hits > 300, debug.getinfo(1, "S").short_src:match("[^/]*$"), (debug.getlocal(1, 1)))
goto done
log("never")
::done::
log("version", _VERSION)

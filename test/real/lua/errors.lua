-- SPDX-License-Identifier: MIT
-- Errors: each one is a longjmp over the C frames between error and pcall.
local function thrower(n) if n == 0 then error({ code = 42 }) end thrower(n - 1) return n end
local ok, e = pcall(thrower, 10)
print("table", ok, e.code)
print("message", select(2, pcall(error, "plain", 0)))
print("position", select(2, pcall(function() error("here") end)))
print("arith", (select(2, pcall(function() return 1 + {} end))))
print("index", (select(2, pcall(function() local x; return x.y end))))
print("call", (select(2, pcall(function() local x = 5; x() end))))
print("compare", (select(2, pcall(function() return {} < {} end))))
print("argument", (select(2, pcall(string.rep))))

-- through C functions that call back: sort, gsub, metamethods, load's reader
print("sort", select(2, pcall(table.sort, { 3, 2, 1 }, function() error("in sort", 0) end)))
print("gsub", select(2, pcall(string.gsub, "abc", ".", function() error("in gsub", 0) end)))
local bad = setmetatable({}, { __index = function(_, k) error("no " .. k, 0) end })
print("__index", select(2, pcall(function() return bad.field end)))
print("reader", load(function() error("in reader", 0) end))

-- handlers run on top of the failing stack; an error inside one is an error too
local function handler(m) return "handled " .. tostring(m) end
print("xpcall", xpcall(function() error("x", 0) end, handler))
print("in handler", (xpcall(error, function() error("again", 0) end, "first")))
print("trace", (select(2, xpcall(thrower, debug.traceback, 3))).code or "table")
print("traceback", select(2, (select(2, xpcall(function() error("t", 0) end, debug.traceback)))
	:gsub("\n", "")) > 2)

-- nested: rethrown at every level
local function nest(n)
	if n == 0 then error("core", 0) end
	local good, m = pcall(nest, n - 1)
	error(m .. "<" .. n, 0)
end
print("nested", select(2, pcall(nest, 20)))

local caught = 0
for i = 1, 20000 do
	if not pcall(thrower, i % 5) then caught = caught + 1 end
end
print("caught", caught)

-- a failing to-be-closed variable replaces the error
print("close", pcall(function()
	local x <close> = setmetatable({}, { __close = function(_, m) error(m .. " and closing", 0) end })
	error("body", 0)
end))
print("assert", pcall(assert, false, "said"), pcall(assert, nil))
print("syntax", load("x = = 1"))

-- SPDX-License-Identifier: MIT
-- Calls C functions a known number of times, also by ways that leave frames without a return: errors
-- and yields are longjmps in C. real.t compares the trace with the numbers that are printed here.
local function times(n, f, ...) for _ = 1, n do f(...) end end
print("math_abs", 12345) times(12345, math.abs, -1)
print("str_reverse", 2345) times(2345, string.reverse, "abc")
print("luaB_pcall", 3456) times(3456, pcall, error, "thrown")
print("luaB_error", 3456)
print("luaB_yield", 4567)
local next = coroutine.wrap(function() while true do coroutine.yield() end end)
times(4567, next)
print("luaB_auxwrap", 4567)
print("luaB_cocreate", 567) times(567, coroutine.create, print)
print("sort", 89) times(89, table.sort, { 3, 1, 2 })

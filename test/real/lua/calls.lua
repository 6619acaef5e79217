-- SPDX-License-Identifier: MIT
-- Functions: recursion, tail calls, variable arguments, closures, method calls, deep stacks.
local function fact(n) return n <= 1 and 1 or n * fact(n - 1) end
assert(fact(20) == 2432902008176640000)
print("factorial", fact(20))

-- a tail call needs no stack, however deep
local function down(n, acc) if n == 0 then return acc end return down(n - 1, acc + n) end
print("tail", down(100000, 0))
local even, odd
function even(n) if n == 0 then return true end return odd(n - 1) end
function odd(n) if n == 0 then return false end return even(n - 1) end
print("mutual", even(50000), odd(50001))

local function count(...) return select("#", ...), (select(-1, ...)) end
print("varargs", count(1, nil, 3, nil, 5))
local many = {}
for i = 1, 200 do many[i] = i end
print("unpack", count(table.unpack(many)))

-- each turn of a loop has its own variable; two closures share one
local adders = {}
for i = 1, 10 do adders[i] = function(x) return x + i end end
print("upvalues", adders[1](1), adders[10](1))
local function counter()
	local n = 0
	return function() n = n + 1 return n end, function() return n end
end
local inc, get = counter()
for _ = 1, 1000 do inc() end
print("shared", get())

-- deep but not endless: the limit of C calls and of Lua's stack are errors that can be caught
local function deep(n) return n == 0 and 0 or 1 + deep(n - 1) end
print("deep", deep(15000))
local function endless(n) return 1 + endless(n + 1) end
local ok, message = pcall(endless, 1)
print("overflow", ok, (message:match("stack overflow")))
local function through_c(s) return (s:gsub(".", through_c)) end
ok, message = pcall(through_c, "x")
print("C overflow", ok, (message:match("C stack overflow")))

-- comparison functions and iterators are called from C
local t = {}
for i = 1, 2000 do t[i] = i * 7919 % 2003 end
table.sort(t, function(a, b) return a > b end)
for i = 2, #t do assert(t[i - 1] > t[i]) end
local sum = 0
for k, v in pairs(t) do sum = sum + k * v % 13 end
print("sorted", t[1], t[#t], sum)
do
	local log = {}
	do
		local a <close> = setmetatable({}, { __close = function() log[#log + 1] = "a" end })
		local b <close> = setmetatable({}, { __close = function() log[#log + 1] = "b" end })
	end
	print("close", table.concat(log))
end

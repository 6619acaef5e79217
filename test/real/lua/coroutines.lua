-- SPDX-License-Identifier: MIT
-- Coroutines: yields are longjmps in C, many Lua stacks take turns on one C stack.
local function gen(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
local sum = 0
for v in gen(20000) do sum = sum + v end
print("generator", sum)

-- a sieve of chained filters, one coroutine a prime
local function filter(p, g)
	return coroutine.wrap(function()
		for n in g do if n % p ~= 0 then coroutine.yield(n) end end
	end)
end
local x, primes = coroutine.wrap(function() for i = 2, 500 do coroutine.yield(i) end end), {}
while true do
	local p = x()
	if not p then break end
	primes[#primes + 1] = p
	x = filter(p, x)
end
print("sieve", #primes, primes[#primes])

-- permutations by recursive yields
local function permute(a, n)
	if n <= 1 then coroutine.yield(table.concat(a)) return end
	for i = 1, n do
		a[n], a[i] = a[i], a[n]
		permute(a, n - 1)
		a[n], a[i] = a[i], a[n]
	end
end
local seen = {}
for p in coroutine.wrap(function() permute({ 1, 2, 3, 4, 5 }, 5) end) do seen[#seen + 1] = p end
table.sort(seen)
print("permutations", #seen, seen[1], seen[120])

-- errors leave a coroutine dead; pcall works across yields
local co = coroutine.create(function() coroutine.yield(1) error("dead", 0) end)
print("resume", coroutine.resume(co))
print("resume", coroutine.resume(co))
print("resume", coroutine.resume(co))
print("status", coroutine.status(co), coroutine.isyieldable())
print("pcall", coroutine.wrap(function()
	local ok, v = pcall(function() return coroutine.yield("inside") + 1 end)
	return ok, v
end)())
co = coroutine.create(function() return pcall(function() coroutine.yield() error("late", 0) end) end)
coroutine.resume(co)
print("yield in pcall", coroutine.resume(co))

-- yields across metamethods, iterators, and sort (which must refuse)
local mt = setmetatable({}, { __add = function(a, b) return coroutine.yield("add") end })
co = coroutine.wrap(function() return mt + 1 end)
print("metamethod", co(), co(99))
print("sort", coroutine.wrap(function()
	return pcall(table.sort, { 2, 1, 3 }, function() coroutine.yield() end)
end)())

-- wrapped errors, closing, and coroutines in coroutines
print("wrap", pcall(coroutine.wrap(function() error("wrapped", 0) end)))
co = coroutine.create(function()
	local c <close> = setmetatable({}, { __close = function() print("closing") end })
	coroutine.yield()
end)
coroutine.resume(co)
print("close", coroutine.close(co), coroutine.status(co))
local function nest(n)
	if n == 0 then coroutine.yield("bottom") return 0 end
	local inner = coroutine.wrap(nest)
	coroutine.yield(inner(n - 1))
	return 1 + inner()
end
local outer = coroutine.wrap(nest)
print("nested", outer(50), outer())

local round, all = 0, {}
for i = 1, 200 do
	all[i] = coroutine.create(function() for k = 1, 20 do round = round + i * k coroutine.yield() end end)
end
for _ = 1, 20 do for i = 1, #all do coroutine.resume(all[i]) end end
print("round robin", round)

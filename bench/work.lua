-- SPDX-License-Identifier: MIT
-- A second or so of ordinary Lua: calls, closures, tables, strings, coroutines, errors, garbage.
-- usage: lua work.lua [SCALE]
local scale = tonumber(arg and arg[1]) or 1

local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end

local function sieve(n)
	local is, count = {}, 0
	for i = 2, n do is[i] = true end
	for i = 2, n do
		if is[i] then
			count = count + 1
			for k = i * i, n, i do is[k] = false end
		end
	end
	return count
end

local function words(n)
	local t = {}
	for i = 1, n do t[#t + 1] = ("%05d:%s"):format(i * 7919 % n, ("ab"):rep(i % 7)) end
	table.sort(t)
	return #table.concat(t, ","):gsub("%d+", function(d) return d + 1 end)
end

local function produce(n)
	local sum = 0
	local next = coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end)
	for i = 1, n do sum = sum + next() end
	return sum
end

local function fails(n)
	local caught = 0
	for i = 1, n do
		if not pcall(function() return nil + i end) then caught = caught + 1 end
	end
	return caught
end

local function objects(n)
	local class = {}
	class.__index = class
	function class.add(self, v) self.total = self.total + v return self end
	local sum = 0
	for i = 1, n do sum = sum + setmetatable({ total = i }, class):add(1):add(2).total end
	return sum
end

print(fib(28), sieve(300000), words(30000), produce(100000), fails(30000), objects(200000))
for i = 2, scale do
	fib(28) sieve(300000) words(30000) produce(100000) fails(30000) objects(200000)
end

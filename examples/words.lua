-- SPDX-License-Identifier: MIT
-- The demo's script: makes a text, counts its words, sorts them, prints the most frequent ones, and
-- at the end collects its garbage. Each phase is other work for the interpreter beneath.
local words = { "trace", "call", "return", "ring", "core", "clock", "sled", "thread" }
local text = {}
for i = 1, 500 do
	text[i] = words[i * i % #words + 1] .. (i % 7 == 0 and tostring(i % 50) or "")
end
text = table.concat(text, " ")

local count = {}
for word in text:gmatch("%w+") do count[word] = (count[word] or 0) + 1 end

local list = {}
for word, n in pairs(count) do list[#list + 1] = { word = word, n = n } end
table.sort(list, function(a, b)
	if a.n ~= b.n then return a.n > b.n end
	return a.word < b.word
end)

for i = 1, 3 do print(list[i].n, list[i].word) end
print(pcall(error, "errors are longjmps in C; the tree shows the calls they left"))
text, count, list = nil, nil, nil
collectgarbage()

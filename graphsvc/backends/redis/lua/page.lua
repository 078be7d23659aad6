-- Reads one page of a list.
--
-- KEYS[1]   the list
-- ARGV[1]   'newest' or 'oldest': which edges come first
-- ARGV[2]   edges at most
-- ARGV[3]   with ARGV[4] the cursor, a time and an id: the page begins after it. The edge itself may
--           be gone. Without them the page begins at the beginning.
--
-- Answers {size of the list, 1 if edges follow this page, then id, time, id, time ...}, oldest first
-- in either order.

local list = KEYS[1]
local newest_first = ARGV[1] == 'newest'
local limit = tonumber(ARGV[2])
local time, id = ARGV[3], ARGV[4]
local call = redis.call

-- Lua compares strings by locale; ids are bytes.
local function before(one, other)
  for i = 1, #other do
    local a, b = one:byte(i), other:byte(i)
    if a ~= b then
      return a < b
    end
  end
  return false
end

-- The rank of the first edge that is not before (time, id).
local function rank_of_cursor()
  local low = call('ZCOUNT', list, '-inf', '(' .. time)
  local high = low + call('ZCOUNT', list, time, time)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if before(call('ZRANGE', list, middle, middle)[1], id) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local size = call('ZCARD', list)
local first, last -- ranks of the page's edges
if newest_first then
  last = (time and rank_of_cursor() or size) - 1
  first = math.max(0, last - limit + 1)
else
  first = 0
  if time then
    first = rank_of_cursor()
    local stands = call('ZRANGE', list, first, first, 'WITHSCORES')
    if stands[1] == id and tonumber(stands[2]) == tonumber(time) then
      first = first + 1
    end
  end
  last = math.min(size, first + limit) - 1
end

local more
if newest_first then more = first > 0 else more = last < size - 1 end
if last < first then
  return {size, 0}
end
local edges = call('ZRANGE', list, first, last, 'WITHSCORES')
local answer = {size, more and 1 or 0}
for i, value in ipairs(edges) do
  answer[i + 2] = value
end
return answer

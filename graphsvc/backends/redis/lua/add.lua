-- Adds edges to the lists of one shard.
--
-- KEYS[i]      the list of edge i
-- ARGV[1]      the longest a list may become
-- ARGV[2i]     the edge's time in microseconds, or 0: now, by this node's clock
-- ARGV[2i+1]   the edge's id, 8 bytes, big-endian
--
-- Answers one integer an edge: its time as it now stands; negative where the edge stood already and
-- did not change; 0 where the list is full. An edge that stands takes an earlier time, never a later.

local limit = tonumber(ARGV[1])
local call = redis.call

local clock = call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])

local function add(list, time, id)
  local stands = tonumber(call('ZSCORE', list, id) or nil)
  if stands then
    if time == 0 or time >= stands then
      return -stands
    end
  elseif call('ZCARD', list) >= limit then
    return 0
  end
  if time == 0 then
    time = now
  end
  call('ZADD', list, string.format('%.0f', time), id)
  return time
end

local answers = {}
for i, list in ipairs(KEYS) do
  answers[i] = add(list, tonumber(ARGV[2 * i]), ARGV[2 * i + 1])
end
return answers

-- Adds edges to lists that know which ids they hold.
--
-- KEYS[i]      the list of edge i
-- ARGV[1]      the longest a list may become
-- ARGV[2i]     the edge's time in microseconds, or 0: now, by this node's clock
-- ARGV[2i+1]   the edge's id, 8 bytes, big-endian
--
-- Answers {time, former} an edge: its time as it now stands, negative where the edge stood already and did
-- not change, 0 where the list is full; and the time at which it stood before, if it now stands earlier.

local limit = tonumber(ARGV[1])

local function now()
  local clock = call('TIME')
  return tonumber(clock[1]) * 1000000 + tonumber(clock[2])
end

local function standing_time(head, high, low)
  if not head then
    return nil
  end
  if head.indexed then
    return indexed_time_of_id(head, high, low)
  end
  return time_of_id(head, high, low, head.blocks)
end

local function add(key, i)
  local time = tonumber(ARGV[2 * i])
  local high, low = from_bytes('>I4I4', ARGV[2 * i + 1])
  local head = open_list(key)
  local former = standing_time(head, high, low)
  if former then
    if time == 0 or time >= former then
      return {-former, 0}
    end
    delete(head, former, high, low)
    head = open_list(key)
  elseif size_of(head) >= limit then
    return {0, 0}
  end
  if time == 0 then
    time = now()
  end
  insert(key, head, time, high, low, true)
  return {time, former or 0}
end

return each(add)

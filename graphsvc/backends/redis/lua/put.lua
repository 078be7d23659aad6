-- Makes edges stand with exactly these times, in lists whose writers know the times.
--
-- keys[i]      the list of edge i
-- args[3i-2]   the edge's time, microseconds
-- args[3i-1]   the time at which it stood before; 0: it did not, or that is not known
-- args[3i]     the edge's id, 8 bytes, big-endian
--
-- Answers 1 an edge where that changed the list, else 0.

local function put_edge(key, i, args)
  local time, former = tonumber(args[3 * i - 2]), tonumber(args[3 * i - 1])
  local high, low = id_from_bytes(8, args[3 * i], 1)
  local head = open_list(key)
  if head and (former == 0 or head.indexed) then
    former = standing_time(head, high, low, size_of(head) <= HEAD_ROWS and head.blocks or 0, time) or 0
  end
  if head and former ~= 0 and former ~= time and move(key, head, former, time, high, low, false) then
    return 1
  end
  return insert(key, head, time, high, low, false) and 1 or 0
end

local function put(keys, args)
  return each(keys, put_edge, args)
end

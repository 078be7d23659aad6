-- Removes edges.
--
-- KEYS[i]      the list of edge i
-- ARGV[1]      sealed blocks to be searched at most, in a list without index, for an edge of unknown time
-- ARGV[2i]     the edge's time, microseconds; 0: not known
-- ARGV[2i+1]   the edge's id, 8 bytes, big-endian
--
-- Answers the time at which the edge stood; 0 where it did not.

local most_blocks = tonumber(ARGV[1])

local function standing_time(head, high, low)
  if head.indexed then
    return indexed_time_of_id(head, high, low)
  end
  return time_of_id(head, high, low, most_blocks)
end

local function remove(key, i)
  local time = tonumber(ARGV[2 * i])
  local high, low = from_bytes('>I4I4', ARGV[2 * i + 1])
  local head = open_list(key)
  if not head then
    return 0
  end
  if time == 0 then
    time = standing_time(head, high, low)
  end
  return time and delete(head, time, high, low) and time or 0
end

return each(remove)

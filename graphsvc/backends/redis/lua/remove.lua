-- Removes edges.
--
-- keys[i]      the list of edge i
-- args[1]      sealed blocks to be searched at most, in a list without index, for an edge of unknown time
-- args[2i]     the edge's time, microseconds; 0: not known
-- args[2i+1]   the edge's id, 8 bytes, big-endian
--
-- Answers the time at which the edge stood; 0 where it did not.

local function remove_edge(key, i, args, most_blocks)
  local time = tonumber(args[2 * i])
  local high, low = id_from_bytes(8, args[2 * i + 1], 1)
  local head = open_list(key)
  if not head then
    return 0
  end
  if time == 0 then
    time = standing_time(head, high, low, most_blocks, 0)
  end
  return time and delete(head, time, high, low) and time or 0
end

local function remove(keys, args)
  return each(keys, remove_edge, args, tonumber(args[1]))
end

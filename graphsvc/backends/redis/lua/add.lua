-- Adds edges to lists that know which ids they hold.
--
-- keys[i]      the list of edge i
-- args[1]      the longest a list may become
-- args[2i]     the edge's time in microseconds, or 0: now, by this node's clock
-- args[2i+1]   the edge's id, 8 bytes, big-endian
--
-- Answers {time, former} an edge: its time as it now stands, negative where the edge stood already and did
-- not change, 0 where the list is full; and the time at which it stood before, if it now stands earlier.

local function now()
  local clock = redis.call('TIME')
  return tonumber(clock[1]) * 1000000 + tonumber(clock[2])
end

local function add_edge(key, i, args, limit)
  local time = tonumber(args[2 * i])
  local high, low = id_from_bytes(8, args[2 * i + 1], 1)
  local head = open_list(key)
  local former = head and standing_time(head, high, low, head.blocks, time)
  if former then
    if time == 0 or time >= former then
      return {-former, 0}
    end
    if not move(key, head, former, time, high, low, true) then
      damaged('an edge does not stand where its time belongs')
    end
    return {time, former}
  end
  if size_of(head) >= limit then
    return {0, 0}
  end
  if time == 0 then
    time = now()
  end
  insert(key, head, time, high, low, true)
  return {time, 0}
end

local function add(keys, args)
  return each(keys, add_edge, args, tonumber(args[1]))
end

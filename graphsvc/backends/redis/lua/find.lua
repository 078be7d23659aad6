-- Finds the time of an edge by its id, in bounded steps, the newest blocks first.
--
-- keys[1]   the list
-- args[1]   the edge's id, 8 bytes, big-endian
-- args[2]   blocks to be searched at most
-- args[3]   where the step before ended: its second answer; empty at the beginning
--
-- Answers, of the one list, {time, separator}: 0 where it was not found, and the separator from which to go on; empty: no more.

local function find_in_sealed(head, high, low, most_blocks, bound)
  check_directory(head)
  local from = bound == '' and '+' or '(' .. bound
  local separators = redis.call('ZREVRANGEBYLEX', directory_of(head), from, '-', 'LIMIT', 0, most_blocks)
  local time = time_in_sealed(head, separators, high, low)
  if time or #separators == most_blocks then
    return {time or 0, time and '' or separators[most_blocks]}
  end
  if head.indexed then
    damaged('the index has an id that no block has')
  end
  return {0, ''}
end

local function find_edge(key, _, args)
  local high, low = id_from_bytes(8, args[1], 1)
  local bound = args[3]
  local head = open_list(key)
  if not head or (head.indexed and not index_has(head, high, low)) then
    return {0, ''}
  end
  local row = bound == '' and find_id(head, high, low)
  if row then
    return {time_at(head, row), ''}
  end
  return head.long and find_in_sealed(head, high, low, tonumber(args[2]), bound) or {0, ''}
end

local function find_time(keys, args)
  return each(keys, find_edge, args)
end

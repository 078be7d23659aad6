-- Finds the time of an edge by its id, in bounded steps, the newest blocks first.
--
-- KEYS[1]   the list
-- ARGV[1]   the edge's id, 8 bytes, big-endian
-- ARGV[2]   blocks to be searched at most
-- ARGV[3]   where the step before ended: its second answer; empty at the beginning
--
-- Answers, of the one list, {time, separator}: 0 where it was not found, and the separator from which to go on; empty: no more.

local high, low = from_bytes('>I4I4', ARGV[1])
local most_blocks = tonumber(ARGV[2])
local bound = ARGV[3]

local function find_in_sealed(head)
  check_directory(head)
  local from = bound == '' and '+' or '(' .. bound
  local separators = call('ZREVRANGEBYLEX', directory_of(head), from, '-', 'LIMIT', 0, most_blocks)
  for _, separator in ipairs(separators) do
    local block = open_sealed(head, separator)
    local row = find_id(block, high, low)
    if row then
      return {time_at(block, row), ''}
    end
  end
  return {0, #separators == most_blocks and separators[most_blocks] or ''}
end

local function find_time(key)
  local head = open_list(key)
  if not head or (head.indexed and not index_has(head, high, low)) then
    return {0, ''}
  end
  local row = bound == '' and find_id(head, high, low)
  if row then
    return {time_at(head, row), ''}
  end
  return head.long and find_in_sealed(head) or {0, ''}
end

return each(find_time)

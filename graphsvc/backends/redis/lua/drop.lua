-- Removes edges of a list, the oldest first: one step, after which the list is a good one with the rest.
--
-- keys[1]   the list
-- args[1]   sealed blocks to be removed at most
--
-- Answers, of the one list, {edges removed, edges left}.

-- Takes leave of the oldest sealed blocks; how many edges they had.
local function drop_oldest(head, most_blocks)
  check_directory(head)
  local separators = redis.call('ZRANGE', directory_of(head), 0, most_blocks - 1)
  local keys, names, edges = {}, {}, 0
  for i, separator in ipairs(separators) do
    local block = open_sealed(head, separator)
    keys[i] = block.key
    edges = edges + block.rows
    for row = 0, head.indexed and block.rows - 1 or -1 do
      names[#names + 1] = index_name(id_at(block, row))
    end
  end
  if head.indexed and #keys == head.blocks then
    redis.call('DEL', index_of(head))
  elseif head.indexed then
    check_index(head)
    redis.call('SREM', index_of(head), unpack(names))
  end
  redis.call('DEL', unpack(keys))
  leave_oldest(head, #keys)
  head.edges = head.edges - edges
  return edges
end

local function drop_step(key, _, args)
  local head = open_list(key)
  if not head then
    return {0, 0}
  end
  -- Removing names from a large set of integers takes longer than anything else.
  local most_blocks = head.indexed and 1 or tonumber(args[1])
  local edges = head.long and drop_oldest(head, most_blocks) or 0
  if head.blocks > 0 then
    store_totals(head)
    return {edges, size_of(head)}
  end
  redis.call('DEL', key)
  return {edges + head.rows, 0}
end

local function drop(keys, args)
  return each(keys, drop_step, args)
end

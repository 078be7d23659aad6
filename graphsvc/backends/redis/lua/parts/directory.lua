-- The directory: a sorted set of separators, by which the sealed block of an edge is found.

local OLDEST = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' -- what the separator of the oldest block begins with

-- A separator without its number: what an edge is looked up by.
local function mark_of(time, high, low)
  return struct.pack('>I7I4I4', time, high, low)
end

local function directory_of(head)
  return head.key .. ':d'
end

local function check_directory(head)
  local directory = directory_of(head)
  local blocks = damaged_reply(redis.pcall('ZCARD', directory), 'the directory')
  if blocks ~= head.blocks then
    damaged('the directory names ' .. blocks .. ' blocks instead of ' .. head.blocks)
  end
  if redis.call('ZCOUNT', directory, 0, 0) ~= blocks then
    damaged('the directory has scores other than 0')
  end
end

-- The separator of the block that an edge before the head belongs to.
local function separator_of(head, time, high, low)
  local bound = '[' .. mark_of(time, high, low) .. '\255\255\255\255'
  local found = redis.call('ZREVRANGEBYLEX', directory_of(head), bound, '-', 'LIMIT', 0, 1)[1]
  if not found then
    damaged('the directory has no oldest block')
  end
  return found
end

local function newest_separator(head)
  return redis.call('ZREVRANGEBYLEX', directory_of(head), '+', '-', 'LIMIT', 0, 1)[1]
end

local function older_separator(head, separator)
  return redis.call('ZREVRANGEBYLEX', directory_of(head), '(' .. separator, '-', 'LIMIT', 0, 1)[1]
end

local function newer_separator(head, separator)
  return redis.call('ZRANGEBYLEX', directory_of(head), '(' .. separator, '+', 'LIMIT', 0, 1)[1]
end

local function block_key(head, number)
  return head.key .. ':' .. string.format('%d', number)
end

-- Where a sealed block belongs: its key, what errors call it, its seed.
local function place_of(head, number)
  return block_key(head, number), string.format('block %d', number), head.seed + 12289 * number
end

local function number_of(separator)
  if #separator ~= #OLDEST + 4 then
    damaged('the directory has an entry of ' .. #separator .. ' bytes')
  end
  return (struct.unpack('>I4', separator, #OLDEST + 1))
end

local function check_begin(separator, first_time, part)
  if first_time < (struct.unpack('>I7', separator)) then
    damaged(part .. ' has edges before its separator')
  end
end

-- What is stored as the sealed block of a separator, its header verified; and its form.
local function sealed_data(head, separator)
  local key, part, seed = place_of(head, number_of(separator))
  local data = damaged_reply(redis.pcall('GET', key), part) or damaged(part .. ' is missing')
  local form, base = read_header(data, part, seed)
  check_begin(separator, base + struct.unpack(TIME_FORMAT[form.time_width], data, HEADER + 1), part)
  return data, form
end

-- The sealed block of a separator.
local function open_sealed(head, separator)
  local key, part, seed = place_of(head, number_of(separator))
  local block = open(key, part, seed) or damaged(part .. ' is missing')
  check_begin(separator, time_at(block, 0), part)
  return block
end

-- Refuses a block that goes on beyond the next separator: what is not in it may be elsewhere.
local function check_end(head, separator, block)
  local newer = newer_separator(head, separator)
  if newer and time_at(block, block.rows - 1) > (struct.unpack('>I7', newer)) then
    damaged(block.part .. ' has edges beyond the next separator')
  end
end

-- Enters a new sealed block in the head in hand, which has to be stored then; its number.
local function enter_block(head, mark)
  local number = head.next
  redis.call('ZADD', directory_of(head), 0, mark .. struct.pack('>I4', number))
  head.blocks = head.blocks + 1
  head.next = number + 1
  return number
end

-- Removes the separators of so many of the oldest blocks, and makes the next one the oldest.
local function leave_oldest(head, blocks)
  local directory = directory_of(head)
  redis.call('ZREMRANGEBYRANK', directory, 0, blocks - 1)
  head.blocks = head.blocks - blocks
  local oldest = redis.call('ZRANGE', directory, 0, 0)[1]
  if oldest then
    redis.call('ZREM', directory, oldest)
    redis.call('ZADD', directory, 0, OLDEST .. string.sub(oldest, #OLDEST + 1))
  end
end

-- Removes a sealed block and its separator; the head in hand has to be stored then.
local function leave_block(head, separator, block)
  redis.call('DEL', block.key)
  if string.sub(separator, 1, #OLDEST) == OLDEST then
    leave_oldest(head, 1)
  else
    redis.call('ZREM', directory_of(head), separator)
    head.blocks = head.blocks - 1
  end
end

-- The index: a set of integers, a name for each id of a long list, and the sentinel.

local SENTINEL = '-2147483648'

-- The decimal digits of high * 2^32 + low, taken 16 bits at a time into a part above 10^9 and one below.
local function decimal(high, low)
  local top, bottom = 0, 0
  for _, limb in ipairs({math.floor(high / 65536), high % 65536, math.floor(low / 65536), low % 65536}) do
    bottom = bottom * 65536 + limb
    local carry = math.floor(bottom / 1000000000)
    bottom = bottom - carry * 1000000000
    top = top * 65536 + carry
  end
  return string.format('%.0f%09d', top, bottom)
end

-- The name of an id.
local function index_name(high, low)
  local short = shorten(high, low)
  if short then
    return string.format('%d', short - SHORT_IDS / 2)
  end
  return '-' .. decimal(high + 1, low) -- minus the id and 2^32: always above 10^9
end

local function index_of(head)
  return head.key .. ':i'
end

local function check_index(head)
  local names = damaged_reply(redis.pcall('SCARD', index_of(head)), 'the index')
  if names ~= head.edges + head.rows + 1 then
    damaged('the index holds ' .. names .. ' names instead of ' .. (head.edges + head.rows + 1))
  end
end

-- Whether the index has an id; of a list that has one.
local function index_has(head, high, low)
  check_index(head)
  return redis.call('SISMEMBER', index_of(head), index_name(high, low)) == 1
end

-- Notes an edge in the index, if there is one.
local function index_add(head, high, low)
  if head.indexed then
    redis.call('SADD', index_of(head), index_name(high, low))
  end
end

local function index_remove(head, high, low)
  if head.indexed then
    redis.call('SREM', index_of(head), index_name(high, low))
  end
end

-- Makes the index of a list all of whose rows are in the block in hand.
local function make_index(head)
  local names = {SENTINEL}
  for row = 0, head.rows - 1 do
    names[row + 2] = index_name(id_at(head, row))
  end
  redis.call('DEL', index_of(head))
  redis.call('SADD', index_of(head), unpack(names))
  head.indexed = true
end

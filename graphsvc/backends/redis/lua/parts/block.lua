-- Blocks: the head of a list and its sealed blocks. packed/block.py draws their format.
--
-- A block in hand is a table:
--   key, part     where it is stored, and what errors call it
--   seed          what its check begins with, by where it belongs
--   data          the string as it is stored (until `reframe`, see there)
--   head, long, indexed
--   time_width, id_width, base: its frame, how rows are written; row, bytes of one row
--   header, rows  bytes before the first row; number of rows. Rows are counted from 0.
--   edges, blocks, next: totals of a long head
--
-- Reads that find something wrong raise DAMAGED, so every operation reads all it needs before it writes.

local HEADER, LONG_HEADER = 12, 24
local CHECK_PRIME = 65521
local LONG, INDEXED, HEAD, WIDE_IDS = 128, 64, 8, 4
local NARROWEST_TIME, WIDEST_TIME = 4, 7
local TIME_FORMAT, LEAST_TIME, TIMES = {}, {}, {} -- of a width: for struct; the least value; how many values
for width = NARROWEST_TIME, WIDEST_TIME do
  TIME_FORMAT[width] = '>I' .. width
  LEAST_TIME[width] = 256 ^ (width - 1)
  TIMES[width] = 256 ^ width - LEAST_TIME[width]
end


-- What a form says; the first byte of a header.
local FORMS = {}
for form = 0, 255 do
  local flags = (form - form % 4) / 4 -- time width aside
  FORMS[form] = {
    time_width = form % 4 + NARROWEST_TIME,
    id_width = flags % 2 == 1 and 8 or 4,
    head = flags % 4 >= 2,
    indexed = flags % 32 >= 16,
    long = flags >= 32,
  }
end

local function damaged(what)
  error({err = 'DAMAGED ' .. what})
end

local function damaged_reply(reply, part)
  if type(reply) == 'table' and reply.err then
    damaged(part .. ' is of a wrong type')
  end
  return reply
end

-- The length of a string, at least `length`, that fills what the allocator gives for it: longer strings would
-- cost no more. The server's strings have 4 bytes around them, above 252 bytes 6; jemalloc gives multiples of
-- 16 up to 128 and then four sizes to each doubling.
local function fit(length)
  local bytes = length + (length <= 252 and 4 or 6)
  local step = 16
  if bytes > 128 then
    local _, exponent = math.frexp(bytes - 1)
    step = 2 ^ (exponent - 3)
  end
  local given = math.ceil(bytes / step) * step
  return given - (given <= 256 and 4 or 6)
end

-- The seed of a head, of the list's key; that of a sealed block is `place_of` in directory.lua.
local function seed_of(key)
  local first, second, third = struct.unpack('>I4I4I4', key)
  return (first + 30011 * second + 50021 * third) % CHECK_PRIME
end

local function checksum(seed, form, length, base, edges, blocks, next_number)
  return (seed + form + 257 * length + base + 65539 * edges + 131101 * blocks + 262147 * next_number)
    % CHECK_PRIME
end

local function header_of(block, length)
  local form = block.time_width - NARROWEST_TIME
  if block.id_width == 8 then form = form + WIDE_IDS end
  if block.head then form = form + HEAD end
  if block.indexed then form = form + INDEXED end
  if not block.long then
    local check = checksum(block.seed, form, length, block.base, 0, 0, 0)
    return struct.pack('>BI2I7I2', form, length, block.base, check)
  end
  form = form + LONG
  local check = checksum(block.seed, form, length, block.base, block.edges, block.blocks, block.next)
  return struct.pack(
    '>BI2I7I2I4I4I4', form, length, block.base, check, block.edges, block.blocks, block.next
  )
end

-- The rows end where one would begin with 0.
local function count_rows(data, header, row)
  local byte = string.byte
  local low, high = 0, math.floor((#data - header) / row)
  while low < high do
    local sum = low + high
    local middle = (sum - sum % 2) / 2
    if byte(data, header + middle * row + 1) == 0 then high = middle else low = middle + 1 end
  end
  return low
end

-- Form, base and totals out of a block's header, which is verified.
local function read_header(data, part, seed)
  if #data < HEADER then
    damaged(part .. ' is cut short')
  end
  local number, length, base, check = struct.unpack('>BI2I7I2', data)
  local form = FORMS[number]
  local edges, blocks, next_number = 0, 0, 0
  if form.long then
    if #data < LONG_HEADER then
      damaged(part .. ' is cut short')
    end
    edges, blocks, next_number = struct.unpack('>I4I4I4', data, HEADER + 1)
  end
  if check ~= checksum(seed, number, length, base, edges, blocks, next_number) then
    damaged(part .. ' has a header that contradicts itself, or is that of another block')
  end
  if length ~= #data then
    damaged(part .. ' has ' .. #data .. ' bytes instead of ' .. length)
  end
  if form.head ~= (part == 'the head') then
    damaged(part .. ' is not the kind of block that belongs there')
  end
  if (string.byte(data, (form.long and LONG_HEADER or HEADER) + 1) or 0) == 0 then
    damaged(part .. ' has no rows')
  end
  return form, base, edges, blocks, next_number
end

-- The block of a key; nil where there is none.
local function open(key, part, seed)
  local data = damaged_reply(redis.pcall('GET', key), part)
  if not data then
    return nil
  end
  local form, base, edges, blocks, next_number = read_header(data, part, seed)
  local header = form.long and LONG_HEADER or HEADER
  local row = form.time_width + form.id_width
  local rows = count_rows(data, header, row)
  return {
    key = key, part = part, seed = seed, data = data, head = form.head, long = form.long, indexed = form.indexed,
    time_width = form.time_width, id_width = form.id_width, base = base, row = row,
    header = header, rows = rows, edges = edges, blocks = blocks, next = next_number,
  }
end

local function time_at(block, row)
  local at = block.header + row * block.row + 1
  return block.base + struct.unpack(TIME_FORMAT[block.time_width], block.data, at)
end

local function id_at(block, row)
  return id_from_bytes(block.id_width, block.data, block.header + row * block.row + block.time_width + 1)
end

-- Rows from one up to, not including, another, as they are stored.
local function rows_between(block, first, last)
  return string.sub(block.data, block.header + first * block.row + 1, block.header + last * block.row)
end

-- Whether a row stands before an edge in the order of lists.
local function row_before(block, row, time, high, low)
  local its_time = time_at(block, row)
  if its_time ~= time then
    return its_time < time
  end
  local its_high, its_low = id_at(block, row)
  return its_high < high or (its_high == high and its_low < low)
end

-- How many rows stand before an edge: where it stands, or would.
local function position(block, time, high, low)
  local first, last = 0, block.rows
  if row_before(block, last - 1, time, high, low) then
    return last
  end
  local unpack_time, format, data = struct.unpack, TIME_FORMAT[block.time_width], block.data
  local begin, row, offset = block.header + 1, block.row, time - block.base
  while first < last do
    local sum = first + last
    local middle = (sum - sum % 2) / 2
    local its_offset = unpack_time(format, data, begin + middle * row)
    if its_offset < offset or (its_offset == offset and row_before(block, middle, time, high, low)) then
      first = middle + 1
    else
      last = middle
    end
  end
  return first
end

-- Whether a row is this very edge.
local function row_is(block, row, time, high, low)
  if row >= block.rows or time_at(block, row) ~= time then
    return false
  end
  local its_high, its_low = id_at(block, row)
  return its_high == high and its_low == low
end

-- The row that has an id, or nil.
local function find_id(block, high, low)
  local wanted = id_to_bytes(block.id_width, high, low)
  if not wanted then
    return nil
  end
  local first = block.header + block.time_width + 1
  local at = string.find(block.data, wanted, first, true)
  while at do
    local row = (at - first) / block.row
    if row == math.floor(row) then
      return row
    end
    at = string.find(block.data, wanted, at + 1, true)
  end
end

local function row_bytes(block, time, high, low)
  return struct.pack(TIME_FORMAT[block.time_width], time - block.base)
    .. id_to_bytes(block.id_width, high, low)
end

-- Whether times from lowest to highest fit a width. Of its values those with a first byte of 0 are not used.
local function times_fit(width, lowest, highest)
  return highest - lowest < TIMES[width]
end

-- The narrowest width, from `narrowest` on, that holds these times, and a base. Where the width has room to
-- spare, it is left for later times, or with `below` for earlier ones: an import may come newest first.
local function time_frame(narrowest, lowest, highest, below)
  local width = narrowest
  while not times_fit(width, lowest, highest) do
    width = width + 1
  end
  if width == WIDEST_TIME then
    return width, 0 -- all times from 2000 to 2100 fit it so
  end
  if below then
    return width, highest - LEAST_TIME[width] - TIMES[width] + 1
  end
  return width, lowest - LEAST_TIME[width]
end

-- Rows of a block, rewritten for another frame.
local function recode(block, first, last, time_width, id_width, base)
  local rows = rows_between(block, first, last)
  if time_width == block.time_width and id_width == block.id_width and base == block.base then
    return rows
  end
  local from, to, shift = TIME_FORMAT[block.time_width], TIME_FORMAT[time_width], block.base - base
  local recoded = {}
  for at = 1, #rows, block.row do
    local id = string.sub(rows, at + block.time_width, at + block.row - 1)
    if id_width ~= block.id_width then
      id = id_to_bytes(id_width, id_from_bytes(block.id_width, id, 1))
    end
    recoded[#recoded + 1] = struct.pack(to, struct.unpack(from, rows, at) + shift) .. id
  end
  return table.concat(recoded)
end

-- Gives a block in hand another frame. Its `data` then has no free part and is not what is stored: it has to
-- be stored as a whole.
local function reframe(block, time_width, id_width, base)
  local rows = recode(block, 0, block.rows, time_width, id_width, base)
  block.data = string.sub(block.data, 1, block.header) .. rows
  block.time_width, block.id_width, block.base = time_width, id_width, base
  block.row = time_width + id_width
end

-- Makes sure that an edge can be written as a row of the block in hand.
local function make_fit(block, narrowest, time, high, low)
  local offset = time - block.base
  local id_width = (block.id_width == 8 or not shorten(high, low)) and 8 or 4
  local least = LEAST_TIME[block.time_width]
  if id_width == block.id_width and offset >= least and offset < least + TIMES[block.time_width] then
    return
  end
  local lowest, highest = time_at(block, 0), time_at(block, block.rows - 1)
  local below = time < lowest
  local time_width, base =
    time_frame(narrowest, math.min(time, lowest), math.max(time, highest), below)
  reframe(block, time_width, id_width, base)
end

-- Stores a block as a whole, with these rows.
local function store(block, rows)
  local length = fit(block.header + #rows)
  local free = string.rep('\0', length - block.header - #rows)
  redis.call('SET', block.key, header_of(block, length) .. rows .. free)
end

-- Replaces the rows from one on. Only what changes is written, unless the string has to grow, or may shrink
-- and would still be smaller with an eighth more: so it does not grow again at once.
local function replace_rows(block, first, tail)
  local begin = block.header + first * block.row
  local needed, length = begin + #tail, #block.data
  local vacated = block.header + block.rows * block.row - needed
  if needed > length or (vacated > 0 and fit(needed + math.floor(needed / 8)) < length) then
    store(block, rows_between(block, 0, first) .. tail)
  else
    redis.call('SETRANGE', block.key, begin, tail .. string.rep('\0', vacated))
  end
end

-- Writes the header anew, where only totals changed.
local function store_totals(head)
  redis.call('SETRANGE', head.key, 0, header_of(head, #head.data))
end

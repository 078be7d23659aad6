-- Edge lists: finding, inserting and deleting edges, and what blocks do as a list grows and shrinks.
--
-- Constants: HEAD_ROWS, SEALED_ROWS, BLOCK_ROWS, PULL_BELOW, MERGE_BELOW, MERGED_ROWS (see functions.py)

-- Sealed blocks searched for ids in this call; see each.lua.
local blocks_searched = 0

local HEAD_TIME = 6 -- the narrowest time of a head: 8.9 years, so it is seldom rewritten for its times

-- Refuses a directory and an index where there can be none.
local function check_alone(key, what)
  if redis.call('EXISTS', key .. ':d', key .. ':i') > 0 then
    damaged(what)
  end
end

-- The head of a list; nil: the list is empty.
local function open_list(key)
  local head = open(key, 'the head', seed_of(key))
  if not head then
    check_alone(key, 'the head is missing')
  end
  return head
end

local function size_of(head)
  return head and head.edges + head.rows or 0
end

local function is_sealed(head, time, high, low)
  return head.long and not row_before(head, 0, time, high, low) and not row_is(head, 0, time, high, low)
end

-- The time at which an id stands in one of these sealed blocks; nil where it does in none.
local function time_in_sealed(head, separators, high, low)
  local wanted = {[4] = id_to_bytes(4, high, low), [8] = id_to_bytes(8, high, low)}
  local seen = {}
  blocks_searched = blocks_searched + #separators
  for _, separator in ipairs(separators) do
    -- Only a block whose bytes hold those of the id is taken apart.
    local data, form = sealed_data(head, separator)
    local number = number_of(separator)
    if seen[number] then
      damaged(string.format('the directory names block %d twice', number))
    end
    seen[number] = true
    local bytes = wanted[form.id_width]
    if bytes and string.find(data, bytes, HEADER + 1, true) then
      local block = open_sealed(head, separator)
      local row = find_id(block, high, low)
      if row then
        return time_at(block, row)
      end
    end
  end
end

-- The time at which an id stands: looked for in the head, and then in the newest sealed blocks, at most so
-- many; nil where it is not found there.
local function time_of_id(head, high, low, most_blocks)
  local row = find_id(head, high, low)
  if row then
    return time_at(head, row)
  end
  if head.long and most_blocks > 0 then
    check_directory(head)
    local separators = redis.call('ZREVRANGE', directory_of(head), 0, most_blocks - 1)
    return time_in_sealed(head, separators, high, low)
  end
end

-- Makes a list of one edge.
local function create(key, time, high, low)
  local head = {
    key = key, part = 'the head', seed = seed_of(key), head = true, long = false, indexed = false, header = HEADER,
    time_width = HEAD_TIME, base = time - 256 ^ HEAD_TIME / 2, id_width = shorten(high, low) and 4 or 8,
  }
  store(head, row_bytes(head, time, high, low))
end

-- Of the widths that the oldest rows of a head may have in a sealed block the narrowest, with the base, and
-- how many rows go there: as many as fill the allocation that SEALED_ROWS need.
local function sealed_frame(head)
  for width = NARROWEST_TIME, WIDEST_TIME do
    local row = width + head.id_width
    local rows = math.floor((fit(HEADER + SEALED_ROWS * row) - HEADER) / row)
    local lowest, highest = time_at(head, 0), time_at(head, rows - 1)
    if times_fit(width, lowest, highest) then
      local _, base = time_frame(width, lowest, highest, false)
      return rows, width, base
    end
  end
end

-- Seals the oldest rows of a head in hand that has more than it may keep.
local function seal(head, rows, wants_index)
  head.data = string.sub(head.data, 1, head.header) .. rows
  head.rows = #rows / head.row
  local count, time_width, base = sealed_frame(head)
  local block = {header = HEADER, time_width = time_width, id_width = head.id_width, base = base}
  local mark = head.long and mark_of(time_at(head, 0), id_at(head, 0)) or OLDEST
  local sealed = recode(head, 0, count, time_width, head.id_width, base)
  local kept = rows_between(head, count, head.rows)
  block.key, block.part, block.seed = place_of(head, enter_block(head, mark))
  store(block, sealed)
  if wants_index and not head.long then
    make_index(head)
  end
  head.edges = head.edges + count
  head.long = true
  head.header = LONG_HEADER
  store(head, kept)
end

local function insert_into_head(head, time, high, low, wants_index)
  local at = position(head, time, high, low)
  if row_is(head, at, time, high, low) then
    return false
  end
  make_fit(head, HEAD_TIME, time, high, low)
  local tail = row_bytes(head, time, high, low) .. rows_between(head, at, head.rows)
  if head.rows < HEAD_ROWS then
    replace_rows(head, at, tail)
  else
    if head.long then
      check_directory(head)
    end
    seal(head, rows_between(head, 0, at) .. tail, wants_index)
  end
  return true
end

-- Splits a block that became too long, given its rows with the new one at `at`: in the middle; but where it was
-- added at an end, a quarter from there, so that an import in order leaves blocks behind that are well filled.
local function split(head, block, at, rows)
  local count = block.rows + 1
  local quarter = math.floor(count / 4)
  local left = at == 0 and quarter or at == block.rows and count - quarter or math.floor(count / 2)
  block.data = string.sub(block.data, 1, block.header) .. rows
  block.rows = count
  local mark = mark_of(time_at(block, left), id_at(block, left))
  local older, newer = rows_between(block, 0, left), rows_between(block, left, count)
  local number = enter_block(head, mark)
  store(block, older)
  block.key, block.part, block.seed = place_of(head, number)
  store(block, newer)
end

local function insert_into_sealed(head, time, high, low)
  check_directory(head)
  local separator = separator_of(head, time, high, low)
  local block = open_sealed(head, separator)
  local at = position(block, time, high, low)
  if row_is(block, at, time, high, low) then
    return false
  end
  if at == 0 then
    check_end(head, separator, block)
  end
  make_fit(block, NARROWEST_TIME, time, high, low)
  local tail = row_bytes(block, time, high, low) .. rows_between(block, at, block.rows)
  if block.rows < BLOCK_ROWS then
    replace_rows(block, at, tail)
  else
    split(head, block, at, rows_between(block, 0, at) .. tail)
  end
  head.edges = head.edges + 1
  store_totals(head)
  return true
end

-- Whether this very edge stands.
local function stands_at(head, time, high, low)
  if not is_sealed(head, time, high, low) then
    return row_is(head, position(head, time, high, low), time, high, low)
  end
  check_directory(head)
  local separator = separator_of(head, time, high, low)
  local block = open_sealed(head, separator)
  local at = position(block, time, high, low)
  if at == 0 then
    check_end(head, separator, block)
  end
  return row_is(block, at, time, high, low)
end

-- Reads all that may be read to insert an edge here after the deletion of another: damage has to be found
-- before anything is written. By the deletion the block here, or the first row of the head, may go; the edge
-- then belongs to the block before that, and if there is none, to the one behind.
local function check_around(head, time, high, low)
  if not head.long then
    check_alone(head.key, 'a short list has a directory or an index')
    return
  end
  check_directory(head)
  local sealed = is_sealed(head, time, high, low)
  local here = sealed and separator_of(head, time, high, low) or newest_separator(head)
  local older, newer = older_separator(head, here), newer_separator(head, here)
  if not older and string.sub(here, 1, #OLDEST) ~= OLDEST then
    damaged('the directory has no oldest block')
  end
  for _, separator in pairs({older = older, here = here, newer = newer}) do
    check_end(head, separator, open_sealed(head, separator))
  end
end

-- The time at which an id stands, or nil. An index knows whether to look at all; the time that is guessed is
-- looked at first. In a list without index only so many sealed blocks are searched.
local function standing_time(head, high, low, most_blocks, guess)
  if not head.indexed then
    return time_of_id(head, high, low, most_blocks)
  end
  if not index_has(head, high, low) then
    return nil
  end
  if guess > 0 and stands_at(head, guess, high, low) then
    return guess
  end
  return time_of_id(head, high, low, head.blocks) or damaged('the index has an id that no block has')
end

-- Inserts an edge whose id the list does not hold at another time; whether it did not stand already. The
-- head is used up: what comes next opens the list again.
local function insert(key, head, time, high, low, wants_index)
  if not head then
    create(key, time, high, low)
    return true
  end
  local indexed = head.indexed -- a new index has the edge already
  local inserted
  if is_sealed(head, time, high, low) then
    inserted = insert_into_sealed(head, time, high, low)
  else
    inserted = insert_into_head(head, time, high, low, wants_index)
  end
  if inserted and indexed then
    index_add(head, high, low)
  end
  return inserted
end

-- A list without sealed blocks is short, and needs no index.
local function become_short(head)
  if head.indexed then
    redis.call('DEL', index_of(head))
  end
  head.long, head.indexed, head.header = false, false, HEADER
end

-- Both blocks' rows, the older one's first, as rows of one frame, which is given to the block named.
local function joined(older, newer, into, narrowest)
  local lowest = time_at(older, 0)
  local highest = newer.rows > 0 and time_at(newer, newer.rows - 1) or time_at(older, older.rows - 1)
  local id_width = math.max(older.id_width, newer.id_width)
  local time_width, base = time_frame(narrowest, lowest, highest, false)
  local rows = recode(older, 0, older.rows, time_width, id_width, base)
    .. recode(newer, 0, newer.rows, time_width, id_width, base)
  into.time_width, into.id_width, into.base = time_width, id_width, base
  into.row = time_width + id_width
  return rows
end

-- Takes the newest sealed block back into the head in hand.
local function pull(head, separator, block)
  local rows = joined(block, head, head, HEAD_TIME)
  leave_block(head, separator, block)
  head.edges = head.edges - block.rows
  if head.blocks == 0 then
    become_short(head)
  end
  store(head, rows)
end

-- Takes a row out of a block in hand; nothing is written.
local function take_out(block, row)
  local rows = rows_between(block, 0, row) .. rows_between(block, row + 1, block.rows)
  block.data = string.sub(block.data, 1, block.header) .. rows
  block.rows = block.rows - 1
end

local function delete_from_head(head, at)
  if head.rows == 1 and not head.long then
    redis.call('DEL', head.key)
  elseif head.long and head.rows <= PULL_BELOW then
    check_directory(head)
    local separator = newest_separator(head)
    local block = open_sealed(head, separator)
    take_out(head, at)
    pull(head, separator, block)
  else
    replace_rows(head, at, rows_between(head, at + 1, head.rows))
  end
end

-- Joins a small block in hand with a neighbour, if both together are still far from full; whether it did.
local function merge(head, separator, block)
  local older = older_separator(head, separator)
  local other = older and open_sealed(head, older)
  if other and other.rows + block.rows <= MERGED_ROWS then
    store(other, joined(other, block, other, NARROWEST_TIME))
    leave_block(head, separator, block)
    return true
  end
  local newer = newer_separator(head, separator)
  other = newer and open_sealed(head, newer)
  if other and other.rows + block.rows <= MERGED_ROWS then
    store(block, joined(block, other, block, NARROWEST_TIME))
    leave_block(head, newer, other)
    return true
  end
  return false
end

local function delete_from_sealed(head, separator, block, at)
  local left = block.rows - 1
  head.edges = head.edges - 1
  if left == 0 then
    leave_block(head, separator, block)
    if head.blocks == 0 then
      local rows = rows_between(head, 0, head.rows)
      become_short(head)
      store(head, rows)
      return
    end
  elseif left < MERGE_BELOW and left % 8 == 0 then
    local data = block.data
    take_out(block, at)
    if not newer_separator(head, separator) and head.rows + left <= MERGED_ROWS then
      pull(head, separator, block)
      return
    end
    if not merge(head, separator, block) then
      block.data = data
      block.rows = left + 1
      replace_rows(block, at, rows_between(block, at + 1, block.rows))
    end
  else
    replace_rows(block, at, rows_between(block, at + 1, block.rows))
  end
  store_totals(head)
end

-- Deletes the edge of this time and id; whether it stood. The head is used up, as by `insert`.
local function delete(head, time, high, low)
  local name_goes = head.indexed and index_has(head, high, low)
  if is_sealed(head, time, high, low) then
    check_directory(head)
    local separator = separator_of(head, time, high, low)
    local block = open_sealed(head, separator)
    local at = position(block, time, high, low)
    if not row_is(block, at, time, high, low) then
      check_end(head, separator, block)
      return false
    end
    delete_from_sealed(head, separator, block, at)
  else
    local at = position(head, time, high, low)
    if not row_is(head, at, time, high, low) then
      return false
    end
    delete_from_head(head, at)
  end
  if name_goes then
    index_remove(head, high, low)
  end
  return true
end

-- Moves the edge of an id from one time to another. Whether it stood at the one; else nothing is done, and the
-- head still good.
local function move(key, head, former, time, high, low, wants_index)
  check_around(head, time, high, low)
  local stands = stands_at(head, time, high, low)
  if not delete(head, former, high, low) then
    return false
  end
  if not stands then
    insert(key, open_list(key), time, high, low, wants_index)
  end
  return true
end

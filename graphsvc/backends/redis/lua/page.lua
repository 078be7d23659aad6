-- Reads one page of a list.
--
-- KEYS[1]   the list
-- ARGV[1]   'newest' or 'oldest': which edges come first
-- ARGV[2]   edges at most
-- ARGV[3]   with ARGV[4] the cursor, a time and an id of 8 bytes: the page begins after it. The edge itself
--           may be gone. Without them the page begins at the beginning.
--
-- Answers, of the one list, {size of the list, 1 if edges follow this page else 0, then one string a block, in the order of the
-- walk: width of times, width of ids, base (7 bytes), and its rows of this page, oldest first in either order}.

local newest_first = ARGV[1] == 'newest'
local left = tonumber(ARGV[2])
local time = tonumber(ARGV[3] or nil)
local high, low
if time then
  high, low = from_bytes('>I4I4', ARGV[4])
end
local separators_at_once = floor(left / MERGED_ROWS) + 2
local answer = {0, 0}

-- Takes rows of a block, those beyond the cursor; whether some of them are left.
local function take(block)
  local first, last = 0, block.rows
  if time then
    local at = position(block, time, high, low)
    if newest_first then
      last = at
    else
      first = row_is(block, at, time, high, low) and at + 1 or at
    end
  end
  local begin, finish = first, last
  if newest_first then begin = math.max(first, last - left) else finish = math.min(last, first + left) end
  if finish > begin then
    answer[#answer + 1] = to_bytes('>BBI7', block.time_width, block.id_width, block.base)
      .. rows_between(block, begin, finish)
    left = left - (finish - begin)
  end
  return begin > first or finish < last
end

-- Takes rows of sealed blocks from a bound on; whether some are left.
local function take_sealed(head, command, from, to)
  check_directory(head)
  repeat
    local separators = call(command, directory_of(head), from, to, 'LIMIT', 0, separators_at_once)
    for _, separator in ipairs(separators) do
      if left == 0 or take(open_sealed(head, separator)) then
        return true
      end
      from = '(' .. separator
    end
  until #separators < separators_at_once
  return false
end

local function walk_newest_first(head, from)
  if from then
    return take_sealed(head, 'ZREVRANGEBYLEX', from, '-')
  end
  return take(head) or (head.long and take_sealed(head, 'ZREVRANGEBYLEX', '+', '-'))
end

local function walk_oldest_first(head, from)
  if head.long and (from or not time) then
    if take_sealed(head, 'ZRANGEBYLEX', from or '-', '+') or left == 0 then
      return true
    end
  end
  return take(head)
end

local function page(key)
  local head = open_list(key)
  if not head then
    return answer
  end
  local from = time and is_sealed(head, time, high, low) and '[' .. separator_of(head, time, high, low)
  local more
  if newest_first then more = walk_newest_first(head, from) else more = walk_oldest_first(head, from) end
  answer[1] = size_of(head)
  answer[2] = more and 1 or 0
  return answer
end

return each(page)

-- Makes edges stand with exactly these times, in lists whose writers know the times.
--
-- KEYS[i]      the list of edge i
-- ARGV[3i-2]   the edge's time, microseconds
-- ARGV[3i-1]   the time at which it stood before; 0: it did not, or that is not known
-- ARGV[3i]     the edge's id, 8 bytes, big-endian
--
-- Answers 1 an edge where that changed the list, else 0.

local function put(key, i)
  local time, former = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1])
  local high, low = from_bytes('>I4I4', ARGV[3 * i])
  local head = open_list(key)
  local changed = 0
  if head and head.indexed then
    former = indexed_time_of_id(head, high, low) or 0
  elseif head and former == 0 then
    former = time_of_id(head, high, low, 0) or 0
  end
  if head and former ~= 0 and former ~= time and delete(head, former, high, low) then
    changed = 1
    head = open_list(key)
  end
  if insert(key, head, time, high, low, false) then
    changed = 1
  end
  return changed
end

return each(put)

-- Ids. A Lua number holds 53 bits, so an id of 62 is two numbers of 32, high and low; what short ids and
-- names in the index are, packed/ids.py tells.
--
-- Constants: SHORT_LOCAL_BITS, SHORT_TYPE

local SHORT_IDS = 2 ^ 32
local SHORT_LOCALS = 2 ^ SHORT_LOCAL_BITS
local HIGH_OF_SHARD = 2 ^ 14 -- in the high number the shard stands above the type and 4 bits of the local part
local HIGH_OF_TYPE = SHORT_TYPE * 2 ^ 4

-- The short id, or nil.
local function shorten(high, low)
  local shard = math.floor(high / HIGH_OF_SHARD)
  if low < SHORT_LOCALS and high == shard * HIGH_OF_SHARD + HIGH_OF_TYPE then
    local short = shard * SHORT_LOCALS + low
    if short > 0 and short < SHORT_IDS then
      return short
    end
  end
end

-- High and low of a short id.
local function lengthen(short)
  local shard = math.floor(short / SHORT_LOCALS)
  return shard * HIGH_OF_SHARD + HIGH_OF_TYPE, short - shard * SHORT_LOCALS
end

-- The id as it stands in a row; nil where it does not fit the width.
local function id_to_bytes(width, high, low)
  if width == 8 then
    return struct.pack('>I4I4', high, low)
  end
  local short = shorten(high, low)
  return short and struct.pack('>I4', short)
end

-- High and low of the id that stands at a position of some bytes.
local function id_from_bytes(width, bytes, at)
  if width == 4 then
    return lengthen((struct.unpack('>I4', bytes, at)))
  end
  local high, low = struct.unpack('>I4I4', bytes, at)
  return high, low
end

-- Runs an operation for every key of a call, and answers with one item a key. A damaged list gives an error in
-- its place among the answers and harms no other; anything else that goes wrong ends the call.
--
-- Where edges had to be searched for in many blocks, the rest of the keys is left for another call, so that none
-- takes long: false in their places.

local function each(keys, operation, ...)
  local answers = {}
  blocks_searched = 0
  for i, key in ipairs(keys) do
    if blocks_searched > MOST_SEARCHED then
      answers[i] = false
    else
      local done, answer = pcall(operation, key, i, ...)
      if not done then
        -- The server's pcall gives the text of an error, where Lua's own gives the table.
        local text = type(answer) == 'table' and answer.err or answer
        local code = string.match(text, '^%-?(%u+)')
        if code ~= 'DAMAGED' and code ~= 'WRONGTYPE' then
          error({err = text})
        end
        answer = {err = text}
      end
      answers[i] = answer
    end
  end
  return answers
end

-- Runs an operation for every key of a call, and answers with one item a key. A damaged list gives an error in
-- its place among the answers and harms no other; anything else that goes wrong ends the call.

local function each(keys, operation, ...)
  local answers = {}
  for i, key in ipairs(keys) do
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
  return answers
end

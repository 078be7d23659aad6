-- Runs an operation for every key of a call. A damaged list gives an error in its place among the answers and
-- harms no other; anything else that goes wrong ends the call.

local function each(operation)
  local answers = {}
  for i, key in ipairs(KEYS) do
    local done, answer = pcall(operation, key, i)
    if not done then
      local code = type(answer) == 'table' and string.match(answer.err or '', '^%-?(%u+)')
      if code ~= 'DAMAGED' and code ~= 'WRONGTYPE' then
        error(answer)
      end
      answer = {err = answer.err}
    end
    answers[i] = answer
  end
  return answers
end

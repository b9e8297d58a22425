# Lua storing the word list in a trie and finding similar words.
# Packages: lua5.4 wamerican
cat > near.lua <<'LUA'
local function node() return { next = {} } end

local root, words = node(), {}
for word in io.lines("/usr/share/dict/words") do
  local at = root
  for letter in word:gmatch(".") do
    at.next[letter] = at.next[letter] or node()
    at = at.next[letter]
  end
  at.word = word
  words[#words + 1] = word
end

-- All words within an edit distance, by rows of Levenshtein's table down the trie.
local function near(target, most)
  local found, first = {}, {}
  for column = 0, #target do first[column] = column end
  local function walk(at, letter, above)
    local row = { [0] = above[0] + 1 }
    local least = row[0]
    for column = 1, #target do
      local cost = target:sub(column, column) == letter and 0 or 1
      row[column] = math.min(row[column - 1] + 1, above[column] + 1, above[column - 1] + cost)
      least = math.min(least, row[column])
    end
    if at.word and row[#target] <= most then found[#found + 1] = at.word end
    if least <= most then
      for letter, below in pairs(at.next) do walk(below, letter, row) end
    end
  end
  for letter, below in pairs(root.next) do walk(below, letter, first) end
  table.sort(found)
  return found
end

for i = 1, #words, 2000 do print(words[i], table.concat(near(words[i], 1), " ")) end
LUA
$RECORD lua5.4 near.lua > found

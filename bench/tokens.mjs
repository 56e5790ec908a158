// Counts the tokens of texts: a JSON list on stdin, lists of counts by tokenizer on stdout.
// The argument is the folder that the tokenizers were installed in.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const load = createRequire(`${process.argv[2]}/`)
const claude = load('@anthropic-ai/tokenizer').getTokenizer()
const o200k = load('gpt-tokenizer/encoding/o200k_base')
const cl100k = load('gpt-tokenizer/encoding/cl100k_base')
const tokenizers = {
  o200k_base: (text) => o200k.encode(text).length,
  cl100k_base: (text) => cl100k.encode(text).length,
  claude_2: (text) => claude.encode(text.normalize('NFKC'), 'all').length,
}

const texts = JSON.parse(readFileSync(0, 'utf8'))
const counts = Object.fromEntries(Object.entries(tokenizers).map(([name, count]) => [name, texts.map(count)]))
process.stdout.write(JSON.stringify(counts))

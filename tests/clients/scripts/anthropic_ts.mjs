// anthropic-sdk-typescript: messages, their stream, the count of tokens, models.
import Anthropic from '@anthropic-ai/sdk'
import { ANSWER, check, CITY, expect, KEY, lab, PNG, raises, run, textsSent, URL } from './checks.mjs'

const client = new Anthropic({ baseURL: URL, apiKey: KEY })
const model = 'pnyx/voting'
const user = (content) => ({ role: 'user', content })
const ask = (text, more = {}, one = client) =>
  one.messages.create({ model, max_tokens: 4000, messages: [user(text)], ...more })

check('text', async () => {
  const message = await ask('What is 6 times 7?')
  expect(message.content[0].text.startsWith(ANSWER) && message.stop_reason === 'end_turn', message)
  expect(message.usage.output_tokens > 0 && message._request_id, message)
})

check('stream', async () => {
  const stream = client.messages.stream({ model, max_tokens: 4000, messages: [user('Streamed?')] })
  let said = ''
  stream.on('text', (text) => (said += text))
  const message = await stream.finalMessage()
  expect(said.startsWith(ANSWER) && message.content.at(-1).text === said, message)
  expect(message.content[0].type === 'thinking' && message.usage.output_tokens > 0, message)
})

check('system message', async () => {
  await ask('What is a knot?', { system: 'Answer for sailors.' })
  await ask('What is a mile?', { system: [{ type: 'text', text: 'Answer for pilots.' }] })
  const sent = await textsSent('system')
  expect(sent.includes('for sailors') && sent.includes('for pilots'), sent)
})

check('json_schema', async () => {
  const output_config = { format: { type: 'json_schema', schema: CITY } }
  const message = await ask('A city?', { output_config })
  expect('people' in JSON.parse(message.content[0].text), message)
})

check('stop and max tokens', async () => {
  const stopped = await ask('Stop?', { stop_sequences: ['\nFinal'] })
  expect(stopped.stop_reason === 'stop_sequence' && stopped.stop_sequence === '\nFinal', stopped)
  const cut = await ask('Short?', { max_tokens: 2 })
  expect(cut.content[0].text === 'It is si' && cut.stop_reason === 'max_tokens', cut)
})

check('image in an old turn', async () => {
  const source = { type: 'base64', media_type: 'image/png', data: PNG }
  const picture = user([{ type: 'image', source }, { type: 'text', text: 'What is this?' }])
  const messages = [picture, { role: 'assistant', content: 'A dot.' }, user('Which colour?')]
  expect((await ask('', { messages })).content[0].text.startsWith(ANSWER), 'old turn')
  await raises(() => ask('', { messages: [picture] }), 'reads images')
  return 'a picture in the question itself is refused with 400'
})

check('errors', async () => {
  const wrong = new Anthropic({ baseURL: URL, apiKey: 'pnyx_wrong' })
  expect((await raises(() => ask('Who?', {}, wrong))) instanceof Anthropic.AuthenticationError, 'key')
  expect((await raises(() => ask('Who?', { model: 'claude-9' }))) instanceof Anthropic.NotFoundError, 'model')
  const dear = await raises(() => ask('Dear?', { model: 'too-dear' }), 'billing_error')
  expect(dear.status === 402 && dear.requestID, dear)
})

check('a failed run is not retried', async () => {
  await lab.on({ status: 400, message: 'not today' })
  const error = await raises(() => ask('Failing?', { model: 'title-helper' }))
  expect(error.status >= 500 && (await lab.calls()).length === 1, error)
})

check('a retry after a timeout joins its run', async () => {
  await lab.on({ text: ANSWER, delay: 0.9 })
  const impatient = new Anthropic({ baseURL: URL, apiKey: KEY, timeout: 500, maxRetries: 5 })
  const message = await ask('Slow?', { model: 'title-helper' }, impatient)
  expect(message.content[0].text.startsWith(ANSWER), message)
  expect((await lab.calls()).length === 1, await lab.calls())
})

check('count of tokens', async () => {
  const { input_tokens } = await client.messages.countTokens({ model, messages: [user('How many?')] })
  expect(input_tokens > 0, input_tokens)
})

check('list of models', async () => {
  const names = []
  for await (const one of client.models.list()) names.push(one.id)
  expect(names.includes('claude-sonnet-4-5') && names.includes(model), names)
})

check('an answer after 65 s without a stream', async () => {
  await lab.on({ text: ANSWER, delay: 65 })
  const message = await ask('Long?', { model: 'title-helper' })
  expect(message.content[0].text.startsWith(ANSWER), message)
}, { slow: true })

check('tools', async () => {
  const input_schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
  const tools = [{ name: 'look', description: 'Looks a city up.', input_schema }]
  const messages = [user('How many people has Athens?')]
  await lab.callsTool('look', { name: 'Athens' })
  const stream = client.messages.stream({ model, max_tokens: 4000, messages, tools })
  const message = await stream.finalMessage()
  const call = message.content.find((block) => block.type === 'tool_use')
  expect(call.input.name === 'Athens' && message.stop_reason === 'tool_use', message)
  const result = user([{ type: 'tool_result', tool_use_id: call.id, content: '643000' }])
  const next = [...messages, { role: 'assistant', content: message.content }, result]
  const answer = await ask('', { messages: next, tools })
  expect(answer.content.at(-1).text === ANSWER, answer)
})

await run('@anthropic-ai/sdk')

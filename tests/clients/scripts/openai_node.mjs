// openai-node: chat completions, responses, models.
import OpenAI from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { ANSWER, check, expect, KEY, lab, PNG, raises, run, textsSent, URL } from './checks.mjs'

const client = new OpenAI({ baseURL: `${URL}/v1`, apiKey: KEY })
const model = 'pnyx/voting'
const City = z.object({ name: z.string(), people: z.number().int() })
const user = (content) => ({ role: 'user', content })
const ask = (text, more = {}, one = client) =>
  one.chat.completions.create({ model, messages: [user(text)], ...more })

check('text', async () => {
  const completion = await ask('What is 6 times 7?')
  expect(completion.choices[0].message.content.startsWith(ANSWER), completion)
  const response = await client.responses.create({ model, input: 'And as a response?' })
  expect(response.output_text.startsWith(ANSWER), response)
})

check('stream', async () => {
  let said = ''
  const stream = await ask('Streamed?', { stream: true, stream_options: { include_usage: true } })
  let usage
  for await (const chunk of stream) {
    said += chunk.choices[0]?.delta.content ?? ''
    usage = chunk.usage
  }
  expect(said.startsWith(ANSWER) && usage.total_tokens > 0, said)
  const runner = client.chat.completions.stream({ model, messages: [user('Streamed by the helper?')] })
  expect((await runner.finalContent()).startsWith(ANSWER), 'helper')
  const events = client.responses.stream({ model, input: 'Streamed as a response?' })
  const kinds = new Set()
  for await (const event of events) kinds.add(event.type)
  const final = await events.finalResponse()
  expect(final.output_text.startsWith(ANSWER) && kinds.has('response.reasoning_summary_text.delta'), [...kinds])
})

check('system message', async () => {
  await ask('', { messages: [{ role: 'developer', content: 'Answer for sailors.' }, user('What is a knot?')] })
  await client.responses.create({ model, input: 'What is a mile?', instructions: 'Answer for pilots.' })
  const sent = await textsSent('system')
  expect(sent.includes('for sailors') && sent.includes('for pilots'), sent)
})

check('json_object', async () => {
  const { choices } = await ask('A city, as JSON?', { response_format: { type: 'json_object' } })
  expect(typeof JSON.parse(choices[0].message.content) === 'object', choices)
})

check('parse into a zod object', async () => {
  const messages = [user('A city?')]
  const asked = { model, messages, response_format: zodResponseFormat(City, 'city') }
  const completion = await client.chat.completions.parse(asked)
  expect(City.parse(completion.choices[0].message.parsed), completion)
  const text = { format: zodTextFormat(City, 'city') }
  const response = await client.responses.parse({ model, input: 'Another city?', text })
  expect(City.parse(response.output_parsed), response)
})

check('stop and max tokens', async () => {
  const [stopped] = (await ask('Stop?', { stop: ['\nFinal'] })).choices
  expect(stopped.message.content === 'It is six times seven.' && stopped.finish_reason === 'stop', stopped)
  const [cut] = (await ask('Short?', { max_completion_tokens: 2 })).choices
  expect(cut.message.content === 'It is si' && cut.finish_reason === 'length', cut)
})

check('image in an old turn', async () => {
  const url = `data:image/png;base64,${PNG}`
  const picture = user([{ type: 'text', text: 'What is this?' }, { type: 'image_url', image_url: { url } }])
  const messages = [picture, { role: 'assistant', content: 'A dot.' }, user('Which colour?')]
  expect((await ask('', { messages })).choices[0].message.content.startsWith(ANSWER), 'old turn')
  const error = await raises(() => ask('', { messages: [picture] }), 'reads images')
  expect(error instanceof OpenAI.BadRequestError, error)
  return 'a picture in the question is refused with 400, as no model of the panel reads images'
})

check('errors', async () => {
  const wrong = new OpenAI({ baseURL: `${URL}/v1`, apiKey: 'pnyx_wrong' })
  expect((await raises(() => ask('Who?', {}, wrong))) instanceof OpenAI.AuthenticationError, 'key')
  expect((await raises(() => ask('Who?', { model: 'gpt-9' }))) instanceof OpenAI.NotFoundError, 'model')
  const dear = await raises(() => ask('Dear?', { model: 'too-dear' }))
  expect(dear.status === 402 && dear.type === 'insufficient_quota', dear)
  const two = await raises(() => ask('Two?', { n: 2 }))
  expect(two.status === 400 && two.param === 'n', two)
})

check('a failed run is not retried', async () => {
  await lab.on({ status: 400, message: 'not today' })
  const error = await raises(() => ask('Failing?', { model: 'title-helper' }))
  expect(error.status >= 500 && (await lab.calls()).length === 1, error)
})

check('a retry after a timeout joins its run', async () => {
  await lab.on({ text: ANSWER, delay: 0.9 })
  const impatient = new OpenAI({ baseURL: `${URL}/v1`, apiKey: KEY, timeout: 500, maxRetries: 5 })
  const completion = await ask('Slow?', { model: 'title-helper' }, impatient)
  expect(completion.choices[0].message.content.startsWith(ANSWER), completion)
  expect((await lab.calls()).length === 1, await lab.calls())
})

check('list of models', async () => {
  const names = []
  for await (const one of client.models.list()) names.push(one.id)
  expect(names.includes('gpt-4o') && names.includes(model), names)
})

check('an answer after 65 s without a stream', async () => {
  await lab.on({ text: ANSWER, delay: 65 })
  const completion = await ask('Long?', { model: 'title-helper' })
  expect(completion.choices[0].message.content.startsWith(ANSWER), completion)
}, { slow: true })

check('tools', async () => {
  const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
  await lab.callsTool('look', { name: 'Athens' })
  const runner = client.chat.completions.runTools({
    model,
    messages: [user('How many people has Athens?')],
    tools: [{
      type: 'function',
      function: { name: 'look', description: 'Looks a city up.', parameters: schema, parse: JSON.parse, function: () => '643000' },
    }],
  })
  expect((await runner.finalContent()) === ANSWER, runner.messages)
  expect((await textsSent('user')).includes('643000'), runner.messages)
})

await run('openai')

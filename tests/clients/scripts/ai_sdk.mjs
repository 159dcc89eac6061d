// AI SDK: the same panel through its providers of OpenAI, of hosts like it, and of Anthropic.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { ANSWER, check, expect, KEY, lab, PNG, raises, run, textsSent, URL } from './checks.mjs'

globalThis.AI_SDK_LOG_WARNINGS = false
const baseURL = `${URL}/v1`
const openai = createOpenAI({ baseURL, apiKey: KEY })
const anthropic = createAnthropic({ baseURL, apiKey: KEY })
const compatible = createOpenAICompatible({ name: 'pnyx', baseURL, apiKey: KEY, supportsStructuredOutputs: true })
const providers = {
  responses: (name) => openai(name),
  chat: (name) => openai.chat(name),
  compatible: (name) => compatible(name),
  messages: (name) => anthropic(name),
}
const City = z.object({ name: z.string(), people: z.number().int() })
const each = async (action) => {
  for (const [name, provider] of Object.entries(providers)) {
    try {
      await action(provider, name)
    } catch (error) {
      error.message = `${name}: ${error.message}`
      throw error
    }
  }
}

check('text', () =>
  each(async (provider, name) => {
    const { text, usage, finishReason } = await generateText({ model: provider('pnyx/voting'), prompt: `${name}?` })
    expect(text.startsWith(ANSWER) && finishReason === 'stop' && usage.totalTokens > 0, [text, usage])
  }))

check('stream', () =>
  each(async (provider, name) => {
    const result = streamText({ model: provider('pnyx/voting'), prompt: `Streamed ${name}?` })
    const kinds = new Set()
    let said = ''
    for await (const part of result.fullStream) {
      kinds.add(part.type)
      if (part.type === 'text-delta') said += part.text
      if (part.type === 'error') throw part.error
    }
    expect(said.startsWith(ANSWER), [said, ...kinds])
    // Its own provider of OpenAI does not read reasoning_content, which is of no OpenAI model.
    expect(name === 'chat' || kinds.has('reasoning-delta'), [...kinds])
  }))

check('system message', async () => {
  await each((provider, name) =>
    generateText({ model: provider('pnyx/voting'), instructions: `Answer for ${name}.`, prompt: 'How?' }))
  const sent = await textsSent('system')
  expect(Object.keys(providers).every((name) => sent.includes(`Answer for ${name}.`)), sent)
})

check('structured output', () =>
  each(async (provider, name) => {
    // The provider of Anthropic forces a tool for models whose formats it does not know.
    if (name === 'messages') await lab.callsTool('json', { name: 'Athens', people: 643000 })
    const output = Output.object({ schema: City })
    const found = await generateText({ model: provider('pnyx/voting'), prompt: `A city, ${name}?`, output })
    expect(City.parse(found.output), found.text)
  }))

check('stop and max tokens', () =>
  each(async (provider, name) => {
    const cut = await generateText({ model: provider('pnyx/voting'), prompt: `Short ${name}?`, maxOutputTokens: 2 })
    expect(cut.text === 'It is si' && cut.finishReason === 'length', [cut.text, cut.finishReason])
    if (name === 'responses') return
    const asked = { model: provider('pnyx/voting'), prompt: `Stop ${name}?`, stopSequences: ['\nFinal'] }
    const stopped = await generateText(asked)
    expect(stopped.text === 'It is six times seven.' && stopped.finishReason === 'stop', stopped.text)
  }))

check('image in an old turn', () =>
  each(async (provider, name) => {
    const picture = { type: 'file', data: Buffer.from(PNG, 'base64'), mediaType: 'image/png' }
    const messages = [
      { role: 'user', content: [{ type: 'text', text: `What is this, ${name}?` }, picture] },
      { role: 'assistant', content: 'A dot.' },
      { role: 'user', content: 'Which colour?' },
    ]
    const { text } = await generateText({ model: provider('pnyx/voting'), messages })
    expect(text.startsWith(ANSWER), text)
  }))

check('errors', () =>
  each(async (provider) => {
    const asked = { prompt: 'Who?', maxRetries: 0 }
    const unknown = await raises(() => generateText({ ...asked, model: provider('gpt-9') }), 'gpt-9')
    const dear = await raises(() => generateText({ ...asked, model: provider('too-dear') }))
    expect(unknown.statusCode === 404 && dear.statusCode === 402, [unknown.statusCode, dear.statusCode])
    const result = streamText({ ...asked, model: provider('gpt-9'), onError: () => {} })
    const parts = await Array.fromAsync(result.fullStream)
    expect(parts.some((part) => part.type === 'error'), parts)
  }))

check('its retries pay once', async () => {
  await lab.on({ status: 400, message: 'not today' })
  // Each waits two seconds before it tries again: the timers of this check are ten times as fast.
  const { setTimeout } = globalThis
  globalThis.setTimeout = (action, ms, ...rest) => setTimeout(action, ms / 10, ...rest)
  await Promise.all(Object.entries(providers).map(([name, provider]) =>
    raises(() => generateText({ model: provider('title-helper'), prompt: `Failing ${name}?`, maxRetries: 1 }))))
    .finally(() => Object.assign(globalThis, { setTimeout }))
  const sent = await textsSent('user')
  expect(Object.keys(providers).every((name) => sent.split(`Failing ${name}?`).length === 2), sent)
  expect((await lab.calls()).length === Object.keys(providers).length, (await lab.calls()).length)
})

check('tools', () =>
  each(async (provider, name) => {
    const look = tool({
      description: 'Looks a city up.',
      inputSchema: z.object({ name: z.string() }),
      execute: async ({ name }) => `${name} has 643000`,
    })
    const asked = { model: provider('pnyx/voting'), tools: { look }, stopWhen: stepCountIs(3) }
    await lab.callsTool('look', { name: 'Athens' })
    const whole = await generateText({ ...asked, prompt: `How many people has Athens, ${name}?` })
    expect(whole.text === ANSWER && whole.steps.length === 2, [whole.text, whole.steps.length])
    expect((await textsSent('user')).includes('Athens has 643000'), await textsSent('user'))
    await lab.callsTool('look', { name: 'Athens' })
    const streamed = streamText({ ...asked, prompt: `And streamed, ${name}?` })
    expect((await streamed.text) === ANSWER && (await streamed.steps).length === 2, await streamed.text)
  }))

await run('ai', '@ai-sdk/openai', '@ai-sdk/openai-compatible', '@ai-sdk/anthropic')

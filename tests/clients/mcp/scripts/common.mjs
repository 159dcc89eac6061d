// What the SDKs for TypeScript are checked for. connect(options): opens a client; options: over, on, elicit.
import { ANSWER, check, expect, lab, raises } from './checks.mjs'

const ask = { question: 'What is 6 times 7?', protocol: 'voting' }
const tool = (client, name, args, options) =>
  client.callTool({ name, arguments: args }, ...options)
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function until(holds, within = 15000) {
  const end = Date.now() + within
  while (!(await holds())) {
    expect(Date.now() < end, 'nothing came in time')
    await pause(50)
  }
}

/** Add the checks. options(more): the last arguments of callTool. */
export function define({ connect, options = (more) => [more], modern = false }) {
  for (const over of ['http', 'stdio']) {
    const using = async (more, action) => {
      const client = await connect({ over, ...more })
      try {
        return await action(client)
      } finally {
        await client.close()
      }
    }

    check(`tools over ${over}`, () => using({}, async (client) => {
      const { tools } = await client.listTools()
      expect(tools.every((one) => one.title && one.annotations && one.outputSchema), tools)
      const seen = []
      const answer = await tool(client, 'ask', ask, options({ onprogress: (step) => seen.push(step) }))
      expect(answer.structuredContent.status === 'consensus', answer)
      expect(answer.structuredContent.answer.startsWith(ANSWER), answer)
      expect(Object.keys(answer.structuredContent)[0] === 'notice', answer)
      expect(seen.length > 4 && seen.every((one) => one.total >= one.progress), seen)
      expect(seen.every((one, index) => !index || one.progress > seen[index - 1].progress), seen)
      const failed = await tool(client, 'ask', { question: '' }, options())
      expect(failed.isError, failed)
      await raises(() => tool(client, 'sing', {}, options()), 'the tools are')
    }))

    check(`resources over ${over}`, () => using({}, async (client) => {
      const run = (await tool(client, 'ask', ask, options())).structuredContent.run_id
      const { resources } = await client.listResources()
      expect(resources.some((one) => one.uri === `pnyx://runs/${run}`), resources)
      const { resourceTemplates } = await client.listResourceTemplates()
      expect(resourceTemplates.length === 2, resourceTemplates)
      const { contents } = await client.readResource({ uri: `pnyx://runs/${run}/transcript` })
      expect(contents[0].text.includes('## Transcript'), contents)
      await raises(() => client.readResource({ uri: 'pnyx://runs/none' }), 'no run')
    }))

    check(`prompts and completions over ${over}`, () => using({}, async (client) => {
      const { prompts } = await client.listPrompts()
      expect(prompts.map((one) => one.name).join() === 'pnyx,review,decide', prompts)
      const { messages } = await client.getPrompt({ name: 'review', arguments: { subject: 'my diff' } })
      expect(messages[0].content.text.includes('> my diff'), messages)
      const { completion } = await client.complete({
        ref: { type: 'ref/prompt', name: 'pnyx' },
        argument: { name: 'models', value: 'lab:alpha, lab:b' },
      })
      expect(completion.values.join() === 'lab:alpha, lab:beta', completion)
    }))

    check(`a form for a budget over ${over}`, async () => {
      const questions = []
      const elicit = (request) => {
        questions.push(request.params.message)
        return { action: 'accept', content: { budget_usd: 1 } }
      }
      await using({ elicit }, async (client) => {
        const answer = await tool(client, 'ask', { ...ask, budget_usd: 0.000001 }, options())
        expect(answer.structuredContent.status === 'consensus' && questions.length === 1, [answer, questions])
      })
    })

    check(`a cancelled call pauses its run over ${over}`, () => using({}, async (client) => {
      await lab.on({ model: 'alpha', hang: true })
      const leaving = new AbortController()
      const call = raises(() => tool(client, 'ask', ask, options({ signal: leaving.signal })))
      await until(async () => (await lab.calls()).length === 3)
      leaving.abort()
      await call
      await until(async () => {
        const { runs } = (await tool(client, 'runs', { limit: 1 }, options())).structuredContent
        return runs[0].status === 'paused'
      })
    }))

    if (!modern)
      check(`notifications of changes and log messages over ${over}`, async () => {
        const updated = []
        const logged = []
        const on = {
          'notifications/resources/updated': (one) => updated.push(one.params.uri),
          'notifications/message': (one) => logged.push(one.params.data.message),
        }
        await lab.on({ text: ANSWER, delay: 0.6 })
        await using({ on }, async (client) => {
          await client.setLoggingLevel('info')
          const started = await tool(client, 'ask', { ...ask, wait: false }, options())
          const { run_id: run } = started.structuredContent
          await client.subscribeResource({ uri: `pnyx://runs/${run}` })
          await tool(client, 'show', { run_id: run, wait_s: 30 }, options())
          await until(() => updated.length > 0 && logged.length > 0)
          expect(updated[0] === `pnyx://runs/${run}`, updated)
          expect(logged.some((one) => one.includes('replied')), logged)
        })
      })

    // A debate of more than a minute, and the timeout of a minute that these clients have by default.
    check(`a debate longer than the timeout of 60 s over ${over}`, () => using({}, (client) => outlive(client, 66, {})), {
      slow: true,
    })
  }

  check('a debate longer than the timeout of a call', async () => {
    const client = await connect({ over: 'stdio', env: { PNYX_MCP_WAIT_S: '0.7' } })
    try {
      // A process loads what talks to its models with its first run, which takes seconds on a busy machine.
      await tool(client, 'ask', { ...ask, wait: false }, options())
      await until(async () => (await lab.calls()).length === 4)
      await lab.reset()
      await outlive(client, 8, { timeout: 6000 })
    } finally {
      await client.close()
    }
  })

  async function outlive(client, seconds, limit) {
    await lab.on({ text: ANSWER, delay: seconds / 2 })
    const began = Date.now()
    const first = await tool(client, 'ask', ask, options(limit))
    expect(!first.isError && first.structuredContent.status === 'running', first)
    const run = { run_id: first.structuredContent.run_id }
    expect(first.structuredContent.next.includes('wait_s'), first)
    let state = first
    const wait_s = limit.timeout ? 0.7 : 45
    while (state.structuredContent.status === 'running')
      state = await tool(client, 'show', { ...run, wait_s }, options(limit))
    expect(state.structuredContent.answer.startsWith(ANSWER), state)
    expect(Date.now() - began > seconds * 900, Date.now() - began)
    // Three seats and the judge: nothing was paid twice.
    expect((await lab.calls()).length === 4, await lab.calls())
  }
}

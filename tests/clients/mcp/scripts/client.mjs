// The TypeScript SDK of MCP, version 2: @modelcontextprotocol/client, which speaks the protocol of 2026.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { check, expect, KEY, run, URL as SERVER } from './checks.mjs'
import { define } from './common.mjs'

const { command, args, env } = JSON.parse(process.env.PNYX_STDIO)

async function connect({ over, elicit, env: more = {} }) {
  const client = new Client(
    { name: 'check', version: '1' },
    { capabilities: elicit ? { elicitation: {} } : {}, versionNegotiation: { mode: 'auto' } },
  )
  if (elicit) client.setRequestHandler('elicitation/create', elicit)
  const headers = { Authorization: `Bearer ${KEY}` }
  await client.connect(
    over === 'http'
      ? new StreamableHTTPClientTransport(new URL(`${SERVER}/mcp`), { requestInit: { headers } })
      : new StdioClientTransport({ command, args, env: { ...env, ...more } }),
  )
  return client
}

check('the protocol of 2026-07-28', async () => {
  for (const over of ['http', 'stdio']) {
    const client = await connect({ over })
    expect(client.getNegotiatedProtocolVersion() === '2026-07-28', client.getNegotiatedProtocolVersion())
    await client.close()
  }
})
define({ connect, modern: true })
await run('@modelcontextprotocol/client')

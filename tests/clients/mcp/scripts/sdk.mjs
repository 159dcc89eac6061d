// The TypeScript SDK of MCP, version 1: @modelcontextprotocol/sdk.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import * as types from '@modelcontextprotocol/sdk/types.js'
import { KEY, run, URL as SERVER } from './checks.mjs'
import { define } from './common.mjs'

const { command, args, env } = JSON.parse(process.env.PNYX_STDIO)
const SCHEMAS = {
  'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
  'notifications/message': types.LoggingMessageNotificationSchema,
}

async function connect({ over, on = {}, elicit, env: more = {} }) {
  const client = new Client({ name: 'check', version: '1' }, { capabilities: elicit ? { elicitation: {} } : {} })
  if (elicit) client.setRequestHandler(types.ElicitRequestSchema, elicit)
  for (const [method, handler] of Object.entries(on)) client.setNotificationHandler(SCHEMAS[method], handler)
  const headers = { Authorization: `Bearer ${KEY}` }
  await client.connect(
    over === 'http'
      ? new StreamableHTTPClientTransport(new URL(`${SERVER}/mcp`), { requestInit: { headers } })
      : new StdioClientTransport({ command, args, env: { ...env, ...more } }),
  )
  return client
}

define({ connect, options: (more) => [undefined, more] })
await run('@modelcontextprotocol/sdk')

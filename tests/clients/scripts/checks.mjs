// What the scripts of clients for Node.js have in common, as `checks.py` for Python.
import { readFileSync } from 'node:fs'

export const { PNYX_URL: URL, PNYX_KEY: KEY, LAB_URL: LAB } = process.env
export const ANSWER = 'It is six times seven.\nFinal answer: 42'
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
export const CITY = {
  type: 'object',
  properties: { name: { type: 'string' }, people: { type: 'integer' } },
  required: ['name', 'people'],
  additionalProperties: false,
}

const checks = []

/** Add a check. It returns what does not work although it passes, or nothing. slow: left out of quick runs. */
export const check = (title, action, { slow = false } = {}) => checks.push({ title, action, slow })

export function expect(holds, found) {
  if (!holds) throw new Error(`found: ${JSON.stringify(found)}`.slice(0, 2000))
}

/** The error that a promise is rejected with; words are of its message. */
export async function raises(action, ...words) {
  let found
  try {
    found = await action()
  } catch (error) {
    const text = `${error.message} ${JSON.stringify(error)}`
    expect(words.every((word) => text.includes(word)), text)
    return error
  }
  throw new Error(`no error, but ${JSON.stringify(found)}`.slice(0, 2000))
}

const post = async (path, body) => (await fetch(LAB + path, { method: 'POST', body: JSON.stringify(body) })).json()

/** The host of the scripted models. */
export const lab = {
  on: (script) => post('/__on', { model: '*', ...script }),
  reset: () => post('/__reset', {}),
  /** Each model calls a tool of the client in its next reply, and answers in text after that. */
  callsTool: async (name, args) => {
    await lab.reset()
    await lab.on({ text: ANSWER })
    await lab.on({ text: JSON.stringify({ tool_calls: [{ name, arguments: args }] }), call: 1 })
  },
  calls: async () => (await fetch(`${LAB}/__log`)).json(),
}

/** What the models were sent as messages of a role. */
export async function textsSent(role) {
  const messages = (await lab.calls()).flatMap((call) => call.body.messages)
  return messages.filter((one) => one.role === role).map((one) => JSON.stringify(one.content)).join('\n')
}

/** Make all checks; print one JSON object a line: the version of the package, then each check. */
export async function run(...packages) {
  const version = (name) => JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version
  const [first, ...others] = packages
  const versions = [version(first), ...others.map((name) => `${name} ${version(name)}`)]
  console.log(JSON.stringify({ version: versions.join(', ') }))
  const chosen = process.argv.slice(2)
  for (const { title, action, slow } of checks) {
    if ((chosen.length && !chosen.includes(title)) || (slow && !process.env.PNYX_SLOW)) continue
    await lab.reset()
    const start = performance.now()
    const report = { check: title }
    try {
      report.limit = await action()
    } catch (error) {
      report.fault = `${error.stack} ${JSON.stringify(error)}`.slice(0, 3000)
    }
    console.log(JSON.stringify({ ...report, seconds: Math.round(performance.now() - start) / 1000 }))
  }
  process.exit(0)
}

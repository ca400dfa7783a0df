// A reporter of `node --test`, as pytest_starter.py is one of pytest: a line [nonce, id, result] per test, and
// [nonce, count] at the end. It runs in the runner's own process, which loads no code of the repository; the nonce comes
// on stdin, which the processes of the tests do not inherit.

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const nonce = readFileSync(0, 'utf8').trim();

function result(event) {
  const { skip, todo } = event.data;
  if ([skip, todo].some((each) => each !== undefined && each !== false)) return 'skipped';
  if (event.type === 'test:pass') return 'passed';
  const cause = event.data.details?.error?.cause;
  const isAssertion = cause?.code === 'ERR_ASSERTION' || /AssertionError/.test(cause?.name);
  return isAssertion ? 'failed by an assertion' : 'failed';
}

export default async function* reporter(events) {
  const names = [];
  let count = 0;
  for await (const event of events) {
    const { name, nesting, file, details } = event.data;
    if (event.type === 'test:start') names.splice(nesting, Infinity, name);
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    names.splice(nesting, Infinity, name);
    const path = relative(process.cwd(), file ?? '');
    const isFile = nesting === 0 && (name === file || name === path);
    const isPart = isFile || details?.type === 'suite';
    if (isPart && event.type === 'test:pass') continue;
    count += 1;
    yield JSON.stringify([nonce, isFile ? path : `${path}::${names.join(' > ')}`, result(event)]) + '\n';
  }
  yield JSON.stringify([nonce, count]) + '\n';
}

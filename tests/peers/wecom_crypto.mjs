// Tencent's own library (@wecom/crypto 1.0.1) as a peer: runs on the peer's Node.js, reads jobs as lines of JSON, and
// writes what the library made of each, with its signature of the cipher.
//
// node wecom_crypto.mjs --modules .peers/javascript TOKEN AES_KEY. {"seal": words, "id": receiver, "nonce": ...,
// "timestamp": ...} gives a cipher, from the 16 bytes `random` (base64) where they are given; {"open": cipher, "nonce":
// ..., "timestamp": ...} gives the words, the receiver and the random bytes. Whose a cipher may be is for its caller to
// compare; the library itself refuses none.

import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const { values: options, positionals } = parseArgs({ options: { modules: { type: "string" } }, allowPositionals: true });
const [token, aesKey] = positionals;
const { decrypt, encrypt, getSignature } = createRequire(join(resolve(options.modules), "package.json"))("@wecom/crypto");

function done({ seal, id, random, open, timestamp, nonce }) {
  const signed = (cipher) => getSignature(token, timestamp, nonce, cipher);
  if (open === undefined) {
    const sealed = encrypt(aesKey, seal, id, random === undefined ? random : Buffer.from(random, "base64"));
    return { sealed, signature: signed(sealed) };
  }
  const opened = decrypt(aesKey, open);
  return { words: opened.message, id: opened.id, random: opened.random.toString("base64"), signature: signed(open) };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(done(JSON.parse(line))));
}

/* Markdown as agents write it, made into nodes: text becomes text nodes, and no markup of anybody's is parsed as HTML.

Only links to http, https and mailto are links. What is not closed or not known stays text; but of a text that is still
being written (`isOpen`) the last block is shown as if its marks were closed, since they will be. */

import { element } from "./words.js";

const FORMATTED_MOST = 4000; // characters of one line; a longer one is shown as it is
export const SAFE_LINK = /^(https?:\/\/|mailto:)[^\s]+$/i;

export function link(url, ...children) {
  return element("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children);
}

/* The nodes of one line's text. Each kind of mark is tried where it could begin; what is not closed stays text. */
function inline(text, isOpen = false) {
  if (text.length > FORMATTED_MOST) return [text];
  const nodes = [];
  let plain = 0;
  let at = 0;
  const take = (end, node) => {
    if (at > plain) nodes.push(text.slice(plain, at));
    nodes.push(node);
    plain = at = end;
  };
  while (at < text.length) {
    const found = mark(text, at, isOpen) || (isOpen && openMark(text, at));
    if (found) take(found.end, found.node);
    else at += 1;
  }
  if (text.length > plain) nodes.push(text.slice(plain));
  return nodes;
}

function mark(text, at, isOpen) {
  const character = text[at];
  if (character === "`") return code(text, at, isOpen);
  if (character === "*" || character === "_") {
    return emphasis(text, at, character.repeat(2), "strong") || emphasis(text, at, character, "em");
  }
  if (character === "~") return emphasis(text, at, "~~", "del");
  if (character === "[") return namedLink(text, at);
  if (character === "h") return bareLink(text, at);
  return null;
}

/* A mark whose end has not been written yet, at the end of a text that is. */
function openMark(text, at) {
  const found = /^(`+|\*\*|__|~~|\*|_)(?=\S)(.+)$/s.exec(text.slice(at));
  if (found && !(found[1][0] === "_" && /[\p{L}\p{N}]/u.test(text[at - 1] ?? " "))) {
    const [, sign, inside] = found;
    const name = { "`": "code", "~": "del" }[sign[0]] || (sign.length === 2 ? "strong" : "em");
    return { end: text.length, node: element(name, {}, ...(name === "code" ? [inside] : inline(inside, true))) };
  }
  const label = /^\[([^\]\n]+)\]\([^()\s]*$/.exec(text.slice(at));
  return label ? { end: text.length, node: element("span", {}, ...inline(label[1])) } : null;
}

/* What only begins a mark at the end of an unfinished text says nothing yet. */
function withoutBegunMarks(line) {
  return /^\s*(#{1,6}|[-*+>]|\d{1,9}[.)]?)\s*$/.test(line) ? "" : line.replace(/[*_~`]+$/, "");
}

function code(text, at, isOpen) {
  const fence = /^`+/.exec(text.slice(at))[0];
  const end = text.indexOf(fence, at + fence.length);
  if (end < 0) return isOpen ? null : { end: at + fence.length, node: fence };
  return { end: end + fence.length, node: element("code", {}, text.slice(at + fence.length, end)) };
}

function emphasis(text, at, sign, name) {
  if (!text.startsWith(sign, at) || /\s/.test(text[at + sign.length] ?? " ")) return null;
  if (sign[0] === "_" && /[\p{L}\p{N}]/u.test(text[at - 1] ?? " ")) return null; // snake_case is one word
  let end = text.indexOf(sign, at + sign.length + 1);
  while (end > 0 && (/\s/.test(text[end - 1]) || (sign.length === 1 && text[end + 1] === sign))) {
    end = text.indexOf(sign, end + (text[end + 1] === sign ? 2 : 1));
  }
  if (end < 0) return null;
  return { end: end + sign.length, node: element(name, {}, ...inline(text.slice(at + sign.length, end))) };
}

function namedLink(text, at) {
  const found = /^\[([^\]\n]+)\]\(([^()\s]+(?:\([^()\s]*\))?)\)/.exec(text.slice(at, at + 3000));
  if (!found || !SAFE_LINK.test(found[2])) return null;
  return { end: at + found[0].length, node: link(found[2], ...inline(found[1])) };
}

function bareLink(text, at) {
  const found = /^https?:\/\/[^\s<>"'`，。；！？、（）《》]+/.exec(text.slice(at, at + 3000));
  if (!found) return null;
  const url = found[0].replace(/[.,;:!?)\]*_]+$/, "");
  return { end: at + url.length, node: link(url, url) };
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ITEM = /^\s{0,6}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const TITLE = /^#{1,6}\s+(.*?)\s*#*$/;
const QUOTE = /^ {0,3}> ?/;

/* The nodes of a whole text, block by block. */
export function markdown(text, isOpen = false) {
  const nodes = [];
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  let at = 0;
  const isLast = () => isOpen && at >= lines.length;
  if (isOpen && !isInFence(lines)) lines.push(withoutBegunMarks(lines.pop()));
  const gather = (matches) => {
    const from = at;
    while (at < lines.length && matches(lines[at])) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    if (!line.trim()) at += 1;
    else if (fence) {
      at += 1;
      const body = gather((each) => !each.trim().startsWith(fence[1]));
      at += 1;
      nodes.push(element("pre", { tabIndex: 0 }, element("code", {}, body.join("\n"))));
    } else if (TITLE.test(line)) {
      at += 1;
      nodes.push(element("p", { className: "title" }, ...inline(TITLE.exec(line)[1], isLast())));
    } else if (ITEM.test(line)) {
      const items = gather((each) => ITEM.test(each));
      nodes.push(list(items, isLast()));
    } else if (QUOTE.test(line)) {
      const quoted = gather((each) => QUOTE.test(each)).map((each) => each.replace(QUOTE, ""));
      nodes.push(element("blockquote", {}, ...broken(quoted, isLast())));
    } else {
      const paragraph = gather(isOfParagraph);
      nodes.push(element("p", {}, ...broken(paragraph, isLast())));
    }
  }
  return nodes;
}

function isInFence(lines) {
  let fence = "";
  for (const line of lines) {
    if (fence) fence = line.trim().startsWith(fence) ? "" : fence;
    else fence = FENCE.exec(line)?.[1] || "";
  }
  return Boolean(fence);
}

function isOfParagraph(line) {
  return Boolean(line.trim()) && !FENCE.test(line) && !ITEM.test(line) && !TITLE.test(line) && !QUOTE.test(line);
}

function list(lines, isOpen) {
  const first = ITEM.exec(lines[0]);
  const made = first[1] ? element("ol", { start: Number(first[1]) }) : element("ul");
  lines.forEach((line, at) => {
    made.append(element("li", {}, ...inline(ITEM.exec(line)[2], isOpen && at === lines.length - 1)));
  });
  return made;
}

function broken(lines, isOpen) {
  return lines.flatMap((line, at) => {
    const nodes = inline(line, isOpen && at === lines.length - 1);
    return at ? [element("br"), ...nodes] : nodes;
  });
}

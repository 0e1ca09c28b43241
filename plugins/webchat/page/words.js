/* What the page says, in the visitor's language: the configured one, else the browser's. */

const root = document.documentElement;

export const language = (root.dataset.language || navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";

export const WORDS = {
  en: {
    text: "Message",
    placeholder: "Write a message…",
    send: "Send",
    keys: "Enter sends, Shift+Enter starts a new line. ",
    help: " shows what else I understand.",
    empty: "Write a message to begin.",
    log: "Conversation",
    newest: "↓ Newest",
    connecting: "Connecting…",
    open: "Connected",
    lost: "Reconnecting…",
    away: "Gateway not reachable",
    sending: "Sending…",
    sent: "Sent",
    busy: "Busy right now, trying again…",
    offline: "Waiting for the connection…",
    failed: "Not sent",
    retry: "Try again",
    typing: "Working on it",
    you: "You",
  },
  zh: {
    text: "消息",
    placeholder: "输入消息…",
    send: "发送",
    keys: "Enter 发送，Shift+Enter 换行。",
    help: " 查看可用命令。",
    empty: "输入一条消息开始对话。",
    log: "对话",
    newest: "↓ 最新",
    connecting: "正在连接…",
    open: "已连接",
    lost: "正在重新连接…",
    away: "无法连接到网关",
    sending: "发送中…",
    sent: "已发送",
    busy: "暂时繁忙，正在重试…",
    offline: "等待网络恢复…",
    failed: "未能发送",
    retry: "重试",
    typing: "正在处理",
    you: "你",
  },
}[language];

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

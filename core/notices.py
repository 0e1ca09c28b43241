"""Every sentence the gateway itself says to people, in English and Chinese."""

from core.delivery import Piece
from core.parts import Text

NOTICES: dict[str, tuple[str, str]] = {
    "help": (
        "I pass your messages to an agent and bring back its answers.\n\n{commands}",
        "我把你的消息交给智能体，并把回答带回来。\n\n{commands}",
    ),
    "unknown_command": (
        "I do not know the command /{command}. /help lists the ones I do.",
        "没有 /{command} 这个命令。发送 /help 查看可用命令。",
    ),
    "unsupported": (
        "I cannot read this kind of message yet ({kind}). Please write it as text.",
        "我暂时读不懂这类消息（{kind}），请用文字发送。",
    ),
    "which": (
        "Several questions are open. Which one do you mean? Its number is enough:\n{questions}",
        "有多个问题在等你回答，你指的是哪一个？发送编号即可：\n{questions}",
    ),
    "choice_over": (
        "That question is not waiting any more. If you have more to say, please write it.",
        "这个问题已不在等待回答。如果还有要说的，请直接写出来。",
    ),
    "new": (
        "A fresh start: I will not carry over what was said before.",
        "好的，重新开始，之前的对话不再延续。",
    ),
    "new_running": (
        "A fresh start. Work begun before goes on; /cancel all stops it.",
        "好的，重新开始。之前开始的任务仍在进行；/cancel all 可全部停止。",
    ),
    "idle": ("Nothing is being worked on.", "目前没有进行中的任务。"),
    "status": ("{lines}", "{lines}"),
    "cancel_nothing": ("There is nothing to cancel.", "没有可以取消的任务。"),
    "cancel_question": (
        "Then never mind: the question is closed.",
        "好的，这个问题不用回答了。",
    ),
    "cancel_asked": ("{sentences}", "{sentences}"),
    "cancel_working_one": (
        "I am asking the agent to stop.",
        "正在请智能体停止。",
    ),
    "cancel_working_many": (
        "I am asking for {count} tasks to be stopped.",
        "正在请求停止 {count} 项任务。",
    ),
    "cancel_dropped_one": (
        "One message that was still waiting will not be worked on.",
        "有 1 条还在排队的消息不再处理。",
    ),
    "cancel_dropped_many": (
        "{count} messages that were still waiting will not be worked on.",
        "有 {count} 条还在排队的消息不再处理。",
    ),
    "cancelled": ("Cancelled.", "已取消。"),
    "cancelled_late": (
        "The agent had finished before it heard of the cancel; I do not show the answer.",
        "智能体在收到取消请求之前已完成，回答不再显示。",
    ),
    "no_agent": (
        "The agent of this chat is not configured any more. Its operator has been told.",
        "这个对话的智能体已不在配置中，管理员已收到通知。",
    ),
    "cancelled_by_agent": ("The agent cancelled this task.", "智能体取消了这项任务。"),
    "cancel_unconfirmed": (
        "I asked the agent to stop, but it has not confirmed. I will not show you what it still produces.",
        "已请求智能体停止，但它尚未确认。之后它产生的内容不会再显示给你。",
    ),
    "cancel_refused": (
        "The agent cannot stop this task. I will not show you what it still produces.",
        "智能体无法停止这项任务。之后它产生的内容不会再显示给你。",
    ),
    "again_nothing": ("There is nothing to show again.", "没有需要重新显示的内容。"),
    "again_asking": ("Asking the agent once more.", "正在再次询问智能体。"),
    "no_content": ("The agent finished without saying anything.", "智能体已完成，但没有返回内容。"),
    "failed": ("The agent could not do this.", "智能体未能完成这项任务。"),
    "rejected": ("The agent declined this task.", "智能体拒绝了这项任务。"),
    "declined": (
        "The agent did not take the message. Its operator has been told why.",
        "智能体没有接受这条消息，原因已通知管理员。",
    ),
    "not_authorised": (
        "The agent does not let this gateway in. Its operator has been told.",
        "智能体拒绝了网关的访问，管理员已收到通知。",
    ),
    "agent_unreachable": (
        "The agent cannot be reached. I keep trying.",
        "暂时联系不上智能体，我会继续尝试。",
    ),
    "agent_paused": (
        "The agent's description has changed. I keep your message until my operator has looked at that and agreed.",
        "智能体的描述发生了变化。你的消息已保留，待管理员确认后再转交。",
    ),
    "agent_given_up": (
        "The agent could not be reached. Please try again later.",
        "一直联系不上智能体，请稍后再试。",
    ),
    "submission_unknown": (
        "I cannot tell whether the agent got your message. Send /again to ask it once more.",
        "无法确定智能体是否收到了你的消息。发送 /again 可以再问一次。",
    ),
    "outcome_unknown": (
        "It cannot be told whether the agent got the message.",
        "无法确定智能体是否收到了这条消息。",
    ),
    "lost_at_remote": (
        "The agent no longer knows this task; its answer is lost. Please ask again.",
        "智能体已不再记得这项任务，回答丢失了，请重新提问。",
    ),
    "silent": (
        "Nothing new of this for {minutes} min; task {task}. I go on asking; /cancel ends it.",
        "已有 {minutes} 分钟没有进展，任务 {task}。我会继续询问；/cancel 可放弃。",
    ),
    "silent_work": (
        "The agent has said nothing new of this for {minutes} min; it goes on being asked.",
        "智能体已有 {minutes} 分钟没有进展，仍在继续询问。",
    ),
    "out_of_reach": (
        "The agent no longer offers the way in which this task was begun. I keep looking for it; /cancel gives it up.",
        "智能体不再提供这项任务最初所用的接口。我会继续尝试；发送 /cancel 可放弃。",
    ),
    "interrupted": (
        "This was interrupted by a restart and cannot be resumed. Please ask again.",
        "任务因重启而中断，无法继续，请重新提问。",
    ),
    "unconfirmed": (
        "(The agent could not confirm that this is the whole answer.)",
        "（智能体未能确认这是否为完整的回答。）",
    ),
    "auth_required": (
        "The agent needs you to sign in before it can go on.",
        "智能体需要你先完成授权才能继续。",
    ),
    "input_required": ("The agent asks for more.", "智能体需要你补充信息。"),
    "delivery_unknown": (
        "A part of an answer may not have arrived. Send /again to see it once more.",
        "回答的一部分可能没有送达。发送 /again 可以重新显示。",
    ),
    "agents": ("Who can answer here:\n{lines}", "可以在这里回答的智能体：\n{lines}"),
    "agents_choose": (
        "Who can answer here:\n{lines}\n\nChoose one with /agents NAME; /agents auto leaves it to me again.",
        "可以在这里回答的智能体：\n{lines}\n\n发送 /agents 名称 选择其中一个；/agents auto 恢复自动选择。",
    ),
    "agent_chosen": (
        "From now on {agent} answers here. What was begun before goes on.",
        "从现在起由 {agent} 回答。之前开始的任务仍在进行。",
    ),
    "agent_auto": (
        "From now on I choose who answers here.",
        "从现在起由我选择谁来回答。",
    ),
    "agent_fixed": (
        "Who answers here cannot be chosen.",
        "这里不能选择由谁来回答。",
    ),
    "agent_unknown": (
        "No agent called {agent} can answer here. /agents lists those that can.",
        "这里没有名为 {agent} 的智能体。发送 /agents 查看可用的智能体。",
    ),
    "fell_back": (
        "{agent} does not answer at the moment; I am asking {other} instead.",
        "{agent} 暂时没有回应，改由 {other} 回答。",
    ),
    "answer_later": (
        "I am still working on it. Send me anything to see the answer.",
        "还在处理中，请稍后随便发一条消息，我就把回答给你。",
    ),
    "busy": (
        "I cannot take more at the moment; please send that again in a little while.",
        "我暂时处理不过来，请稍后再发一次。",
    ),
    "command_interrupted": (
        "I was interrupted in the middle of that command; please send it again.",
        "这个命令执行到一半被中断了，请重新发送。",
    ),
    "internal_error": (
        "Something went wrong here, and it has been recorded. Please try again.",
        "系统出现问题，已记录，请重试。",
    ),
}


def sentence(name: str, language: str, **values: object) -> str:
    return NOTICES[name][1 if language == "zh" else 0].format(**values)


def counted(language: str, **counts: int) -> str:
    """A sentence for each of these notices (`NAME_one`, `NAME_many`), in their order; none for what is zero."""
    said = [
        sentence(f"{name}_{'one' if count == 1 else 'many'}", language, count=count)
        for name, count in counts.items()
        if count
    ]
    return ("" if language == "zh" else " ").join(said)


def notice(name: str, language: str, *, again: int = 0, **values: object) -> Piece:
    """A notice is shown once in its turn; one that may have to be said again numbers its times."""
    key = f"{_key(name)}:{again}" if again else _key(name)
    return Piece(key, (Text(sentence(name, language, **values)),))


def is_notice(piece: Piece, name: str) -> bool:
    """Whether it is this notice, said for the first time or again."""
    return piece.key == _key(name) or piece.key.startswith(f"{_key(name)}:")


def _key(name: str) -> str:
    return f"notice:{name}"

"""Every error Frontdesk raises on purpose; each says what the host shall do next and carries the datum for it.

FrontdeskError
├── ConfigurationError            stop; a person must change `setting`
├── Busy                          tell the sender to come back after `retry_after`
├── StoreUnavailable              nothing was written; answer 503, try again after `retry_after`
├── ForeignTask                   the agent spoke of another conversation's task: nothing was written
├── LeaseLost                     another process took over; stop writing
├── FileRefused                   the file is not kept: go on without its bytes
└── AgentError                    an agent did not do as asked
    ├── NotAccepted               certainly not taken: safe to send again after `retry_after`
    │   └── AgentPaused           its card changed: nothing is sent until an operator agrees
    ├── OutcomeUnknown            may have been taken: look before anything is repeated
    ├── Declined                  a definite no; do not repeat the same request
    │   ├── TaskEnded             the task is terminal: get it; new words need a new task
    │   ├── CancelRefused         the agent cannot or will not cancel: detach
    │   └── NotAuthorised         the credentials are wrong: an operator must act
    ├── TaskUnknown               the agent has no such task: lost_at_remote
    └── Unreachable               a question that may be repeated freely got no usable answer
        └── InterfaceGone         its agent no longer offers the interface that the task lives on
"""


class FrontdeskError(Exception):
    """Something Frontdesk knows how to answer."""


class ConfigurationError(FrontdeskError):
    """A setting must change before this can work; the message names it and the remedy."""

    def __init__(self, message: str, *, setting: str = "") -> None:
        super().__init__(message)
        self.setting = setting


class Busy(FrontdeskError):
    """A bound was reached; nothing was stored."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds


class FloodFromSender(Busy):
    """One sender holds too much of the queue; others are not affected. Answered 429, not 503."""


class StoreUnavailable(FrontdeskError):
    """The store could not commit (locked, full, gone); nothing was written."""

    def __init__(self, message: str, *, retry_after: float = 5.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds


class ForeignTask(FrontdeskError):
    """The task is known as another conversation's; nothing was written, and nothing of it may be shown."""


class LeaseLost(FrontdeskError):
    """Another process holds the lease now; this one must stop writing."""


class FileRefused(FrontdeskError):
    """A file was not kept: too large, no room, or the disk would not have it."""


class AgentError(FrontdeskError):
    """An agent did not do as asked. `sample` is a capped, printable piece of what it said, for the inbox record."""

    def __init__(self, message: str, *, sample: str = "") -> None:
        super().__init__(message)
        self.sample = sample


class NotAccepted(AgentError):
    """The request certainly never reached the agent's work: repeating it cannot do the work twice."""

    def __init__(self, message: str, *, retry_after: float | None = None, sample: str = "") -> None:
        super().__init__(message, sample=sample)
        self.retry_after = retry_after  # seconds; None: by the host's own back-off


class AgentPaused(NotAccepted):
    """Nothing is sent to the agent until its operator agrees to what changed about it."""


class OutcomeUnknown(AgentError):
    """The request may have been taken; only looking can tell."""


class Declined(AgentError):
    """The agent said no, definitely; the same request would be refused again."""

    def __init__(self, message: str, *, code: int | None = None, sample: str = "") -> None:
        super().__init__(message, sample=sample)
        self.code = code  # JSON-RPC code (A2A 1.0, section 5.4), None where the agent gave none


class TaskEnded(Declined):
    """The task is already terminal."""


class CancelRefused(Declined):
    """The agent cannot or will not cancel this task."""


class NotAuthorised(Declined):
    """The agent refused the gateway's credentials."""


class TaskUnknown(AgentError):
    """The agent knows no such task (any more)."""


class Unreachable(AgentError):
    """A read got no usable answer; it may be repeated freely, with back-off."""


class InterfaceGone(Unreachable):
    """The interface that created the task is no longer in the agent's card; it may come back."""

"""The states that lists can be narrowed to: the control API checks by these, and the command line names them."""

from core.agent import TaskState
from core.delivery import DeliveryState
from core.turn import Disposition

SESSION_STATES = ("active", "idle")  # whether anything of it is queued, at work or waiting
# What the gateway makes of a task beside its agent's own word, where that is more than following it.
MADE_OF_TASKS = (*(each.value for each in Disposition if each is not Disposition.TRACKED), "unconfirmed")
TASK_STATES = (*(state.value for state in TaskState), *MADE_OF_TASKS)
DELIVERY_STATES = tuple(state.value for state in DeliveryState)

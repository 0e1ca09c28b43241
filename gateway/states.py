"""The states that lists can be narrowed to: the control API checks by these, and the command line names them."""

from core.agent import TaskState
from core.delivery import DeliveryState

SESSION_STATES = ("active", "idle")  # whether anything of it is queued, at work or waiting
TASK_STATES = tuple(state.value for state in TaskState)
DELIVERY_STATES = tuple(state.value for state in DeliveryState)

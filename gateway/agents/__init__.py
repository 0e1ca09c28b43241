"""Agents in this process: what their authors write (contract.py), how they are asked, and the two that come along."""

from gateway.agents.contract import (
    Answering,
    Checkpoint,
    Done,
    Failed,
    Parts,
    Question,
    Rejected,
    Reply,
    Step,
    Task,
    Words,
    Working,
)

__all__ = (
    "Answering",
    "Checkpoint",
    "Done",
    "Failed",
    "Parts",
    "Question",
    "Rejected",
    "Reply",
    "Step",
    "Task",
    "Words",
    "Working",
)

"""Agents in this process: what their authors write (contract.py), how they are asked, and the two that come along."""

from gateway.agents.contract import Answering, Checkpoint, Question, Step, Task, Words, Working

__all__ = ("Answering", "Checkpoint", "Question", "Step", "Task", "Words", "Working")

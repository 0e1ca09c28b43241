"""A call of WeChat's API that did not succeed, in the host's words."""

from core.delivery import Refusal, Rejected, Unknown


class ApiFailure(Exception):
    """`outcome` says what may have happened, `code` what the platform said; None when it said nothing."""

    def __init__(self, outcome: Rejected | Unknown, code: int | None = None, said: str = "") -> None:
        super().__init__(outcome.reason)
        self.outcome, self.code, self.said = outcome, code, said

    @property
    def kind(self) -> Refusal | None:
        """Of a definite no; None when the call may have been carried out."""
        return self.outcome.kind if isinstance(self.outcome, Rejected) else None

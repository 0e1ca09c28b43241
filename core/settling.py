"""What an attempt's outcome means for the delivery: pure, the only place that decides about repeating."""

from core.clock import Instant
from core.delivery import Delivery, DeliveryState, Outcome, Refusal, Rejected, Sent, Unknown
from core.store import Settlement

BACKOFF_FIRST = 1.0  # seconds before a delivery that was certainly not taken is tried again
BACKOFF_MOST = 300.0
ACCOUNT_RETRY = 60.0  # seconds between tries while the account's credentials are refused


def settle(delivery: Delivery, outcome: Outcome, now: Instant, *, on_unknown: str, jitter: float) -> Settlement:
    """`on_unknown`: the account's "ask", "skip" or "repeat"; a repeat is marked, and happens once."""
    match outcome:
        case Sent(ids, presumed):
            state = DeliveryState.PRESUMED if presumed else DeliveryState.DELIVERED
            return Settlement(delivery, state, ids=ids)
        case Unknown(reason):
            if on_unknown == "repeat" and not delivery.is_repeat:
                return Settlement(delivery, DeliveryState.QUEUED, reason, due=now, repeat=True)
            return Settlement(delivery, DeliveryState.UNKNOWN, reason)
        case Rejected():
            return _rejected(delivery, outcome, now, jitter)


def _rejected(delivery: Delivery, no: Rejected, now: Instant, jitter: float) -> Settlement:
    reason = f"{no.kind.value}: {no.reason}"
    match no.kind:
        case Refusal.THROTTLED:
            return Settlement(delivery, DeliveryState.QUEUED, reason, due=now + (no.retry_after or BACKOFF_FIRST))
        case Refusal.UNAVAILABLE:
            pause = min(BACKOFF_MOST, BACKOFF_FIRST * 2.0 ** min(delivery.attempt - 1, 16)) * (0.8 + 0.4 * jitter)
            return Settlement(delivery, DeliveryState.QUEUED, reason, due=now + max(pause, no.retry_after or 0.0))
        case Refusal.UNAUTHORISED:
            return Settlement(delivery, DeliveryState.QUEUED, reason, due=now + ACCOUNT_RETRY)
        case Refusal.MOVED:
            return Settlement(delivery, DeliveryState.QUEUED, reason, due=now, moved_to=no.moved_to)
        case Refusal.WINDOW_CLOSED if no.retry_after:
            return Settlement(delivery, DeliveryState.QUEUED, reason, due=now + no.retry_after)
        case Refusal.WINDOW_CLOSED:
            return Settlement(delivery, DeliveryState.WAITING_FOR_USER, reason)
        case Refusal.BLOCKED | Refusal.NO_TOPIC:
            return Settlement(delivery, DeliveryState.DEAD, reason, blocked=True)
        case Refusal.MALFORMED:
            return Settlement(delivery, DeliveryState.REJECTED, reason)

"""The Bot API's own ways to fail, for `FakeTelegram.script`; broken connections are in `scripting`."""

from aiohttp import web

from tests.fakes.scripting import Exchange, Respond
from tests.fakes.telegram_wire import ApiError
from tests.fakes.telegram_wire import bad_request as bad_request_error


def refuse(error: ApiError) -> Respond:
    async def respond(exchange: Exchange) -> web.StreamResponse:
        return error.answer()

    return respond


def throttle(retry_after: int) -> Respond:
    """429; `retry_after` in seconds."""
    return refuse(ApiError(429, f"Too Many Requests: retry after {retry_after}", retry_after=retry_after))


def forbidden(text: str = "bot was blocked by the user") -> Respond:
    return refuse(ApiError(403, f"Forbidden: {text}"))


def bad_request(text: str) -> Respond:
    """400; `text` without the leading "Bad Request: "."""
    return refuse(bad_request_error(text))


def migrate(new_id: int) -> Respond:
    """400 with `migrate_to_chat_id`: the group became the supergroup `new_id`."""
    text = "Bad Request: group chat was upgraded to a supergroup chat"
    return refuse(ApiError(400, text, migrate_to_chat_id=new_id))


def unauthorized() -> Respond:
    return refuse(ApiError(401, "Unauthorized"))


def conflict() -> Respond:
    text = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    return refuse(ApiError(409, text))


def server_error(status: int = 500) -> Respond:
    """500 as the Bot API says it, 502 and 504 as the proxy in front of it does: an HTML page."""
    if status == 500:
        return refuse(ApiError(500, "Internal Server Error"))

    async def respond(exchange: Exchange) -> web.StreamResponse:
        page = f"<html><head><title>{status}</title></head><body><center><h1>{status}</h1></center></body></html>"
        return web.Response(status=status, text=page, content_type="text/html")

    return respond


def accepted_then_server_error(status: int = 502) -> Respond:
    """The message is shown, but the sender is told of a failure."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        await exchange.accept()
        return await server_error(status)(exchange)

    return respond

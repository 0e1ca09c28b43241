"""What the platform calls media: which kinds it takes, and what it keeps of them for three days.

A file of an answer is uploaded just before it is shown, once for all who get it, and its media_id is used until shortly
before the platform forgets it ("Temporary media", developer guide, read 2026-08). What the platform does not take is
said in words, with the file's name.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.clock import Clock
from core.delivery import Refusal, Rejected, Unknown
from core.files import Files
from core.parts import File
from core.plugin import PluginState
from plugins.wechat.api import Api
from plugins.wechat.codes import BAD_MEDIA, NO_PERMISSION
from plugins.wechat.failures import ApiFailure

LIFE = 3 * 86_400.0  # seconds that the platform keeps what was uploaded
EARLY = 3600.0  # seconds before that at which it is uploaded anew
REMEMBERED = 200  # media_ids; past it the one that ends first is forgotten, and uploaded anew when it is needed
STATE = "media"  # the plugin's state
_THUMB = Path(__file__).with_name("thumb.jpg")  # a video cannot be shown without a picture; nobody here makes one


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    limit: int  # bytes
    endings: Mapping[str, str]  # of file names, by media type: the platform goes by them


KINDS = (
    # 10 MB by the table of the page, 2 MB by a note below it: what is within both is taken in any case.
    Kind("image", 2 << 20, {"image/png": "png", "image/jpeg": "jpg", "image/jpg": "jpg", "image/gif": "gif"}),
    Kind("voice", 2 << 20, {"audio/amr": "amr", "audio/mpeg": "mp3", "audio/mp3": "mp3"}),
    Kind("video", 10 << 20, {"video/mp4": "mp4"}),
)


def kind_of(file: File) -> Kind | None:
    """As what the platform shows the file; None where it does not."""
    media_type = file.media_type.partition(";")[0].strip().lower()
    found = next((kind for kind in KINDS if media_type in kind.endings), None)
    return found if found is not None and file.content and len(file.content) <= found.limit else None


def ending_of(kind: str, media_type: str) -> str:
    endings = next(each.endings for each in KINDS if each.name == kind)
    return endings[media_type.partition(";")[0].strip().lower()]


class Media:
    """Shows files by customer-service messages."""

    def __init__(self, account: str, api: Api, files: Files, state: PluginState, clock: Clock) -> None:
        self._account, self._api, self._files, self._state, self._clock = account, api, files, state, clock

    async def show(self, open_id: str, file: Mapping[str, str], words: str) -> None:
        """The file, or else the words. Raises ApiFailure."""
        content = await self._files.read(file["id"])
        if content is None:
            return await self._api.text(open_id, words)
        try:
            try:
                await self._send(open_id, file, content)
            except ApiFailure as failure:
                if failure.code != BAD_MEDIA:
                    raise
                await self._forget()  # another account's, or gone before its time; nothing was shown
                await self._send(open_id, file, content)
        except ApiFailure as failure:
            if failure.kind is not Refusal.MALFORMED:  # of this very content
                raise
            await self._api.text(open_id, words)

    async def _send(self, open_id: str, file: Mapping[str, str], content: bytes) -> None:
        kind = file["kind"]
        said = {"media_id": await self._uploaded(kind, file["id"], ending_of(kind, file["type"]), content)}
        if kind == "video":
            said["thumb_media_id"] = await self._uploaded("thumb", "", "jpg", _THUMB.read_bytes())
            said |= {"title": file["name"], "description": ""}
        await self._api.message(open_id, kind, said)

    async def _uploaded(self, kind: str, id: str, ending: str, content: bytes) -> str:
        key = f"{kind}:{id}"
        known, _ = await self._known()
        if key in known:
            return known[key][0]
        try:
            media_id = await self._api.upload(kind, f"{kind}.{ending}", content)
        except ApiFailure as failure:
            if isinstance(failure.outcome, Unknown):  # an upload shows nothing to anybody
                outcome = Rejected(Refusal.UNAVAILABLE, failure.outcome.reason)
                raise ApiFailure(outcome, failure.code, failure.said) from None
            if failure.code == NO_PERMISSION:  # for uploads alone, it may be
                raise ApiFailure(Rejected(Refusal.MALFORMED, failure.outcome.reason), failure.code) from None
            raise
        known, version = await self._known()
        known[key] = (media_id, self._clock.now() + LIFE - EARLY)
        newest = dict(sorted(known.items(), key=lambda item: item[1][1])[-REMEMBERED:])
        await self._state.write(self._account, STATE, json.dumps(newest), version=version)  # lost: uploaded once more
        return media_id

    async def _known(self) -> tuple[dict[str, tuple[str, float]], int]:
        """By kind and file: the media_id and when it ends; and the version of it all."""
        found = await self._state.read(self._account, STATE)
        if found is None:
            return {}, 0
        now = self._clock.now()
        return {key: (id, ends) for key, (id, ends) in json.loads(found[0]).items() if ends > now}, found[1]

    async def _forget(self) -> None:
        found = await self._state.read(self._account, STATE)
        if found is not None:
            await self._state.write(self._account, STATE, "{}", version=found[1])

"""WebSockets that limit what clients send: pings cost their sender nothing, but the library answers each of them."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode

from shop.platform.http.body import MAX_BYTES

FRAME_BYTES = 2 * 1024
"""How many bytes a frame counts for in addition to its length, because even an empty frame takes work."""
BYTES_PER_S = 16 * 1024
"""A client's limit in the long run: 8 small frames a second."""
BURST_BYTES = 4 * MAX_BYTES
"""A client's limit in the short run: some documents of the largest size, or 128 small frames."""
CLOSE_S = 1.0
"""How long a client has to close a WebSocket that the server has closed, in seconds."""


class FrameCounter:
    """Counts the frames that begin in a sequence of bytes (RFC 6455, 5.2), before the frames are decoded."""

    def __init__(self) -> None:
        self._skip = 0
        self._head = b""

    def count(self, data: bytes, limit: int) -> int:
        """Returns how many frames begin in the client's next bytes, which are masked; stops one beyond the limit."""
        data, at, frames = self._head + data, self._skip, 0
        while len(data) - at >= 2 and frames <= limit:
            length = data[at + 1] & 0x7F
            extended = {126: 2, 127: 8}.get(length, 0)
            if len(data) - at < 2 + extended:
                break
            size = int.from_bytes(data[at + 2 : at + 2 + extended]) if extended else length
            at += 2 + extended + 4 + size
            frames += 1
        self._skip, self._head = max(0, at - len(data)), data[at:]
        return frames


class MeteredSocket(WebSocketsSansIOProtocol):
    """A uvicorn WebSocket that closes when its client sends more than its allowance."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.close_timeout = CLOSE_S
        self._frames = FrameCounter()
        self._allowance: float = BURST_BYTES
        self._counted_at = asyncio.get_running_loop().time()

    def data_received(self, data: bytes) -> None:
        # The first data is the whole opening handshake, which is limited like every request's head.
        if self.handshake_initiated and not self._afford(data):
            if not self.transport.is_closing():
                self.conn.fail(CloseCode.POLICY_VIOLATION, "too many frames")
                self.transport.write(b"".join(self.conn.data_to_send()))
                self.close_sent = True
                self.transport.close()
            return
        super().data_received(data)

    def _afford(self, data: bytes) -> bool:
        now = asyncio.get_running_loop().time()
        earned = (now - self._counted_at) * BYTES_PER_S
        self._counted_at = now
        self._allowance = min(BURST_BYTES, self._allowance + earned) - len(data)
        self._allowance -= FRAME_BYTES * self._frames.count(data, BURST_BYTES // FRAME_BYTES)
        return self._allowance >= 0

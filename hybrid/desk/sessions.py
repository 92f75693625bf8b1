"""Session of the desk: a one-time token, then a cookie."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading

_BYTES = 32


class Sessions:
    """The one session of a desk.

    A token opens it once; the cookie's value and the tokens of forms are kept as digests, compared in constant time.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(_BYTES)
        """One-time token of the first address. After its use it opens nothing."""
        self._lock = threading.Lock()
        self._session = b""
        self._secret = secrets.token_bytes(_BYTES)

    def enter(self, token: str) -> str | None:
        """Value of the session's cookie; None for a wrong or used token."""
        with self._lock:
            if not self.token or not hmac.compare_digest(token.encode(), self.token.encode()):
                return None
            self.token = ""
            value = secrets.token_urlsafe(_BYTES)
            self._session = _digest(value)
            return value

    def knows(self, cookie: str) -> bool:
        """True for the cookie of the session."""
        return bool(self._session) and hmac.compare_digest(_digest(cookie), self._session)

    @property
    def form_token(self) -> str:
        """Token that every form of the session carries."""
        return hmac.new(self._secret, self._session, hashlib.sha256).hexdigest()

    def is_form_of(self, token: str) -> bool:
        """True for the token of a form that this session was shown."""
        return hmac.compare_digest(token.encode(), self.form_token.encode())


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode()).digest()

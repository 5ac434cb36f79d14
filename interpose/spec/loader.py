"""The C library's functions by which programs open libraries and look functions up in them.

Called by: the generator (``wrappers_visitor.exports``) and the tests. Promise: plain data.

These functions have no arguments or policies here: the names that the other tables serve decide their results
(``interpose/api/loader``).
"""

from __future__ import annotations

LOADER: tuple[str, ...] = ("dlopen", "dlsym")

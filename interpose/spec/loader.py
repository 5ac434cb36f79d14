"""The C library's functions by which programs open libraries and look functions up in them.

Called by: the generator (``wrappers_visitor.exports``) and the tests. Promise: plain data.

They have no arguments or policies of their own here: what they give is decided by the names that the other tables serve
(``interpose/api/loader``).
"""

from __future__ import annotations

LOADER: tuple[str, ...] = ("dlopen", "dlsym")

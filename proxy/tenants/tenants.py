"""The tenants of a service that several users share: each is made when its user comes, and rests when nobody needs it.

Called by: service.py (the users of the service before), ../front/entrance.py (a user comes). Promises: a user has one
tenant at a time, which is complete when of() returns; users wait for no other user's tenant; one that nobody has used
for a while has no processes.
"""

from __future__ import annotations

import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from ..backends.base import Backend, HealthEvent
from ..common.config import Config
from ..common.rounds import Rounds
from ..keeper import names
from ..keeper.claim import foreign
from ..keeper.client import Keeper
from ..keeper.log import Log
from ..keeper.owner import Owner
from ..keeper.peer import Peer
from ..node.session import Session
from ..node.take_over import carry_on, has_sessions, note_options, open_log
from .tenant import Tenant

#: Tenants at a time, each with a few threads. The one that has rested for longest ends where another user comes.
MOST = 64
#: Users of whom reports are known.
KNOWN = 512
#: Time without a program until a tenant's spare workers end, and between looks.
REST_SECONDS, LOOK_SECONDS = 60.0, 5.0


class TooMany(Exception):
    """There is no room for another user; the text says what to do."""


class Ending(TooMany):
    """There will be room at the next service."""


class Tenants:
    """All tenants, the service's own user's first."""

    def __init__(self, config: Config, backend: Backend, own: Tenant) -> None:
        """config: as it was given, of which each tenant's follows."""
        self._config, self._backend, self.own = config, backend, own
        self._keeper: Keeper = own.keeper
        self._lock = threading.Lock()
        self._others: dict[int, Tenant] = {}
        self._making: dict[int, threading.Lock] = {}
        self._made: dict[int, None] = {}  # users whose logs the keeper has been given, oldest first
        self._used = {own: time.monotonic()}
        self._closing = self._draining = self._moving = False
        self._resting = Rounds("jitc-tenants", 0.0 if config.keeps_idle else LOOK_SECONDS, self._rest)
        self.on_end: Callable[[Tenant], None] = lambda tenant: None  # its calls are to be refused

    def start(self) -> None:
        self._resting.start()

    def all(self) -> list[Tenant]:
        with self._lock:
            return [self.own, *self._others.values()]

    def users(self) -> list[int]:
        """Returns the other users of whom something is known, whether or not they have a tenant now."""
        with self._lock:
            return sorted({*names.logged_users(self._keeper.kept), *self._made})

    def serves(self, uid: int) -> bool:
        """Returns whether programs of this user are running."""
        with self._lock:
            found = self._others.get(uid)
        return found is not None and bool(found.registry.sessions)

    def of(self, peer: Peer) -> Tenant:
        """Returns the tenant of who has connected. Raises TooMany, NoSpace, NoWorker, OSError."""
        if peer.uid == os.geteuid():
            return self.own
        owner = Owner(peer.uid, peer.gid, peer.groups)
        with self._made_alone(peer.uid):
            found = self._others.get(peer.uid)
            if found is None:
                found = self._make(owner)
            elif found.keeper.owner != owner:  # with other groups than before
                found.keeper.owner = owner
                found.registry.log.put("owner", owner.record())
            self._used[found] = time.monotonic()
            return found

    def take_over(self) -> list[tuple[Tenant, list[Session]]]:
        """Makes the tenants of the service before that have sessions or workers; others are made when their users come.
        Returns them, with their sessions, which resume() continues."""
        found = []
        for uid in names.logged_users(self._keeper.kept):
            log = open_log(self._keeper, names.of_log(uid))
            owner = log.get("owner")  # None: the service before ended while it made the tenant
            if owner is None or not (has_sessions(log) or log.entries("worker/")):
                self._made[uid] = None
                log.close()
                continue
            user = Owner.of_record(owner)
            make_folder(self._config, user)  # a keeper that has ended may have taken it along
            tenant = self._tenant(user, log)
            try:
                found.append((tenant, tenant.begin(takes_over=True)))
            except Exception as error:  # what a user has done to the own workers is no other user's affair
                why = f"user {tenant.user} cannot be taken over: {error!r}"
                print(f"jitc-proxyd: {why}", file=sys.stderr, flush=True)
                self._give_up(tenant)
        return found

    def _give_up(self, tenant: Tenant) -> None:
        self._forget(tenant)
        with suppress(Exception):
            tenant.stop()
        self._keeper.drop([names.of_log(tenant.keeper.uid)])

    def carry_on(self, left: dict[int, Log]) -> None:
        """Gives the logs of a service without sessions, by user, to the keeper of this one."""
        self._made |= dict.fromkeys(left)
        for uid, log in left.items():
            carried = open_log(self._keeper, names.of_log(uid))
            carried.put("owner", log.get("owner"))
            carry_on(log, carried)
            carried.close()

    def begin_anew(self, moving: bool) -> None:
        """Has programs that come from now on ask again, or not."""
        with self._lock:
            self._moving = moving
        for one in self.all():
            one.node.moving = moving

    def drain(self) -> int:
        """Takes no new sessions from now on, of new users either. Returns how many there are."""
        with self._lock:
            self._draining = True
        left = 0
        for one in self.all():
            with one.registry.changed:
                one.node.draining = True
                left += len(one.registry.sessions)
        return left

    def unhealthy(self, event: HealthEvent) -> None:
        """Takes in a report of the devices' own monitoring, which concerns everybody."""
        for one in self.all():
            one.unhealthy(event)

    def stop(self) -> None:
        """Ends the other users' tenants, even if one cannot be ended."""
        with ExitStack() as ends:
            for one in self._all_for_good():
                ends.callback(one.stop)

    def leave(self) -> None:
        """Leaves them to another service."""
        with ExitStack() as ends:
            for one in self._all_for_good():
                ends.callback(one.leave)

    # -- parts ------------------------------------------------------------------------------------

    @contextmanager
    def _made_alone(self, uid: int) -> Iterator[None]:
        """Surrounds the search for a user's tenant, which others of that user wait for."""
        with self._lock:
            if self._closing:
                raise Ending("jitc-proxyd is ending; ask again")
            lock = self._making.setdefault(uid, threading.Lock())
        with lock:
            yield

    def _make(self, owner: Owner) -> Tenant:
        self._make_room()
        self._forget_old_users()
        log = open_log(self._keeper, names.of_log(owner.uid))
        log.put("owner", owner.record())
        for gpu in self.own.registry.gpus:  # what a tenant has not seen itself
            if gpu.lost:
                log.put(f"gpu/{gpu.index}", gpu.lost)
        make_folder(self._config, owner)
        tenant = self._tenant(owner, log)
        try:
            tenant.begin(takes_over=False)
            tenant.start()
        except BaseException:
            self._forget(tenant)
            tenant.stop()
            raise
        print(f"jitc-proxyd: serves user {tenant.user} from now on", file=sys.stderr, flush=True)
        return tenant

    def _tenant(self, owner: Owner, log: Log) -> Tenant:
        config = note_options(
            replace(self._config, tenant=owner.prefix.rstrip("/")),
            log,
            self._backend.gpus[0].memory_total,
            self._backend.worker_overhead,
        )
        tenant = Tenant(config, self._backend, self._keeper.of(owner), log)
        with self._lock:
            tenant.node.draining, tenant.node.moving = self._draining, self._moving
            self._made[owner.uid] = self._made.pop(owner.uid, None)
            self._others[owner.uid] = tenant
            self._used[tenant] = time.monotonic()
        return tenant

    def _make_room(self) -> None:
        """Ends the tenant that has rested for longest, if there are too many. Raises TooMany."""
        with self._lock:
            if len(self._others) < MOST:
                return
            resting = sorted(self._others.values(), key=lambda one: self._used[one])
        for one in resting:
            with self._lock:
                own = self._making.setdefault(one.keeper.uid, threading.Lock())
            if not own.acquire(blocking=False):  # its user comes just now
                continue
            try:
                if self._ended_resting(one):
                    return
            finally:
                own.release()
        raise TooMany(f"programs of {MOST} users are running on this node; wait until one of them has ended")

    def _ended_resting(self, tenant: Tenant) -> bool:
        """Ends the tenant, unless it has programs, or has ended."""
        with self._lock:
            there = self._others.get(tenant.keeper.uid) is tenant
        if not there or tenant.used():
            return False
        self._forget(tenant)
        self.on_end(tenant)
        tenant.stop()
        return True

    def _forget_old_users(self) -> None:
        """Forgets the reports, and removes the folders, of users who were here longest ago, if there are many."""
        with self._lock:
            coming = {uid for uid, lock in self._making.items() if lock.locked()}
            away = [uid for uid in self._made if uid not in self._others and uid not in coming]
            old = away[: max(0, len(self._made) - KNOWN)]
            for uid in old:
                del self._made[uid]
        if not old:
            return
        self._keeper.drop([names.of_log(uid) for uid in old])
        folder = os.open(self._config.private_directory(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for uid in old:
                foreign.remove(f"u{uid}", folder)
        finally:
            os.close(folder)

    def _forget(self, tenant: Tenant) -> None:
        with self._lock:
            self._others.pop(tenant.keeper.uid, None)
            self._used.pop(tenant, None)

    def _rest(self) -> None:
        """Ends the spare workers of tenants without programs."""
        now = time.monotonic()
        for one in self.all():
            if one.used():
                with self._lock:
                    if one in self._used:
                        self._used[one] = now
            elif self._used.get(one, now) < now - REST_SECONDS:
                one.supervisor.rest()

    def _all_for_good(self) -> list[Tenant]:
        with self._lock:
            self._closing = True
            making = list(self._making.values())
        self._resting.stop()
        for lock in making:  # one that is being made is among them then
            with lock:
                pass
        return self.all()[1:]


def make_folder(config: Config, owner: Owner) -> None:
    """Makes the user's folder in the service's private one: for sockets and images of the user's workers. It has no
    name that the user could reach before it is complete."""
    folder = config.private_directory() / owner.prefix.rstrip("/")
    if folder.exists():
        return
    part = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}")
    images = part / "images"
    for one in (part, images):
        one.mkdir(mode=0o700)
    for one in (images, part):
        os.chown(one, owner.uid, owner.gid, follow_symlinks=False)
    part.rename(folder)

"""The mutants, by the part of the product that they are put into."""

from __future__ import annotations

from ..mutant import Mutant
from . import client_shim, decision, executor, keeper, node, peer_mode, recovery

MUTANTS: tuple[Mutant, ...] = (
    *decision.MUTANTS, *recovery.MUTANTS, *peer_mode.MUTANTS, *node.MUTANTS, *keeper.MUTANTS, *client_shim.MUTANTS,
    *executor.MUTANTS,
)  # fmt: skip

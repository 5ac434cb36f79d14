"""torchft: two replica groups of one GPU each, a lighthouse and a manager."""

import datetime
import time

import torch
import torchft
from outcome import RANK, RANKS, Outcome, arguments
from torch import nn
from torch.distributed import TCPStore
from torchft.coordination import LighthouseServer
from torchft.manager import Manager
from torchft.process_group import ProcessGroupNCCL

given = arguments()
outcome = Outcome(given.out)
address = given.out / "lighthouse"
minute = datetime.timedelta(seconds=60)
lighthouse = None
if RANK == 0:
    lighthouse = LighthouseServer(bind="[::]:0", min_replicas=RANKS, join_timeout_ms=60000)
    (given.out / "written").write_text(lighthouse.address())
    (given.out / "written").rename(address)
until = time.monotonic() + 60
while not address.exists() and time.monotonic() < until:
    time.sleep(0.05)

store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 64)).cuda()
base = torch.optim.AdamW(model.parameters(), lr=1e-3)


def state() -> dict[str, object]:
    return {"model": model.state_dict(), "optimizer": base.state_dict()}


def load(saved: dict[str, dict[str, object]]) -> None:
    model.load_state_dict(saved["model"])
    base.load_state_dict(saved["optimizer"])


manager = Manager(
    pg=ProcessGroupNCCL(timeout=minute), load_state_dict=load, state_dict=state, min_replica_size=RANKS,
    use_async_quorum=False, init_sync=False, timeout=minute, rank=0, world_size=1, store_addr="localhost",
    store_port=store.port, lighthouse_addr=address.read_text(), replica_id=f"group{RANK}_",
)  # fmt: skip
ddp = torchft.DistributedDataParallel(manager, model)
optimizer = torchft.Optimizer(manager, base)
data = torch.Generator().manual_seed(RANK)
while manager.current_step() < given.steps:
    inputs = torch.randn(16, 64, generator=data).cuda()
    optimizer.zero_grad()
    loss = (ddp(inputs) - inputs).square().mean()
    loss.backward()
    optimizer.step()
    outcome.step(loss.item())
outcome.done(list(model.state_dict().items()))
manager.shutdown(wait=False)

"""The same with torchft: each rank is a replica group, and what a lost one missed comes from the other."""

import datetime
import os

import torch
import torchft
from torch.distributed import TCPStore
from torchft.manager import Manager
from training import GPT, Log, arguments, batch, device, next_byte_loss, together


def main() -> None:
    args = arguments()
    strict = os.environ["TORCHFT_STRICT"] == "1"
    group = int(os.environ["REPLICA_GROUP"])
    place, log = device(), Log(args.out, group)
    store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    torch.manual_seed(1)
    network = GPT(args.layers, args.width).to(place)
    inner = torch.optim.AdamW(network.parameters(), lr=1e-3)

    def state() -> dict[str, object]:
        return {"model": network.state_dict(), "optimizer": inner.state_dict()}

    def load(saved: dict[str, dict[str, object]]) -> None:
        network.load_state_dict(saved["model"])
        inner.load_state_dict(saved["optimizer"])

    wait = datetime.timedelta(seconds=30)
    gloo = torchft.process_group.ProcessGroupGloo(timeout=wait)
    manager = Manager(
        pg=gloo, load_state_dict=load, state_dict=state, min_replica_size=2 if strict else 1,
        use_async_quorum=not strict, timeout=wait, quorum_timeout=wait, rank=0, world_size=1, store_addr="localhost",
        init_sync=False, store_port=store.port, replica_id=f"group{group}_",
    )  # fmt: skip
    model = torchft.DistributedDataParallel(manager, network)
    optimizer = torchft.Optimizer(manager, inner)
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        together(args.out, group)
    while manager.current_step() < args.steps:
        optimizer.zero_grad()  # asks who takes part; without async quorum, a group that has come back is up to date now
        step = manager.current_step()
        tokens, target = batch(step, group, place)
        loss = next_byte_loss(model(tokens), target)
        loss.backward()
        optimizer.step()
        if manager.current_step() > step and manager.is_participating():
            log.step(step, loss.item())
    log.done(network, inner)
    manager.shutdown(wait=False)


if __name__ == "__main__":
    main()

"""The same with torch.save in NVRx's in-process wrapper: a function that begins again, a third process in reserve."""

import datetime
import os

import torch
import torch.distributed as dist
from nvidia_resiliency_ext import inprocess
from torch.nn.parallel import DistributedDataParallel
from training import GPT, WAIT, Log, arguments, batch, device, next_byte_loss

SOON = datetime.timedelta(seconds=0.1)


@inprocess.Wrapper(
    initialize=inprocess.initialize.RetryController(max_iterations=4, min_world_size=1),
    rank_assignment=inprocess.Compose(
        inprocess.rank_assignment.MaxActiveWorldSize(2), inprocess.rank_assignment.FillGaps()
    ),
    monitor_thread_interval=SOON, monitor_process_interval=SOON, heartbeat_interval=SOON,
    progress_watchdog_interval=SOON, last_call_wait=SOON,
)  # fmt: skip
def main(wrapper: inprocess.CallWrapper | None = None) -> None:
    args = arguments()
    rank = int(os.environ["RANK"])
    place, log = device(), Log(args.out, rank)
    store = dist.TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]) + 1,
        use_libuv=True,
        multi_tenant=True,
        is_master=rank == 0,
    )
    dist.init_process_group(
        "nccl" if place.type == "cuda" else "gloo",
        store=dist.PrefixStore(str(wrapper.iteration), store),
        rank=rank,
        world_size=int(os.environ["WORLD_SIZE"]),
        timeout=WAIT,
    )
    torch.manual_seed(1)
    model = DistributedDataParallel(GPT(args.layers, args.width).to(place))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    start, path = 0, args.out / "checkpoint.pt"
    if path.exists():
        saved = torch.load(path, map_location=place)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        start = saved["step"]
    for step in range(start, args.steps):
        tokens, target = batch(step, rank, place)
        loss = next_byte_loss(model(tokens), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.step(step, loss.item())
        if (step + 1) % args.every == 0:
            if rank == 0:
                saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
                torch.save(saved, path.with_suffix(".new"))
                os.replace(path.with_suffix(".new"), path)
            dist.barrier()
    log.done(model, optimizer)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

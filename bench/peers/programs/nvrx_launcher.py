"""The same with torch.save under NVRx's ft_launcher, whose monitors get a heartbeat from every step."""

import os

import torch
import torch.distributed as dist
from nvidia_resiliency_ext.fault_tolerance import RankMonitorClient
from torch.nn.parallel import DistributedDataParallel
from training import GPT, RANK, WAIT, Log, arguments, batch, device, next_byte_loss


def main() -> None:
    args = arguments()
    place, log = device(), Log(args.out)
    monitor = RankMonitorClient()
    monitor.init_workload_monitoring()
    dist.init_process_group("nccl" if place.type == "cuda" else "gloo", timeout=WAIT)
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
        monitor.send_heartbeat()
        tokens, target = batch(step, RANK, place)
        loss = next_byte_loss(model(tokens), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.step(step, loss.item())
        if (step + 1) % args.every == 0:
            if RANK == 0:
                saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
                torch.save(saved, path.with_suffix(".new"))
                os.replace(path.with_suffix(".new"), path)
            dist.barrier()
    monitor.shutdown_workload_monitoring()
    log.done(model, optimizer)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

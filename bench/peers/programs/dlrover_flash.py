"""The same with DLRover's flash checkpoint: to memory at every step or less often, to disk now and then."""

import copy

import torch
import torch.distributed as dist
from dlrover.trainer.torch.flash_checkpoint.ddp import DdpCheckpointer, StorageType
from torch.nn.parallel import DistributedDataParallel
from training import GPT, RANK, WAIT, Log, arguments, batch, device, next_byte_loss


def main() -> None:
    args = arguments()
    place, log = device(), Log(args.out)
    dist.init_process_group("nccl" if place.type == "cuda" else "gloo", timeout=WAIT)
    torch.manual_seed(1)
    model = DistributedDataParallel(GPT(args.layers, args.width).to(place))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    start, checkpointer = 0, DdpCheckpointer(str(args.out / "checkpoints"))
    saved = copy.deepcopy(checkpointer.load_checkpoint())  # of memory that its next checkpoint is written to
    if saved:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        start = saved["step"]
    for step in range(start, args.steps):
        tokens, target = batch(step, RANK, place)
        loss = next_byte_loss(model(tokens), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.step(step, loss.item())
        if (step + 1) % args.every == 0:
            saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
            where = StorageType.DISK if (step + 1) % 100 == 0 else StorageType.MEMORY
            checkpointer.save_checkpoint(step + 1, saved, storage_type=where)
    log.done(model, optimizer)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""A GPT with DistributedDataParallel: what the other programs here change, line by line."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from training import GPT, RANK, WAIT, Log, arguments, batch, device, next_byte_loss


def main() -> None:
    args = arguments()
    place, log = device(), Log(args.out)
    dist.init_process_group("nccl" if place.type == "cuda" else "gloo", timeout=WAIT)
    torch.manual_seed(1)
    model = DistributedDataParallel(GPT(args.layers, args.width).to(place))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(args.steps):
        tokens, target = batch(step, RANK, place)
        loss = next_byte_loss(model(tokens), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.step(step, loss.item())
    log.done(model, optimizer)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

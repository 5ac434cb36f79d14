"""The same with asynchronous distributed checkpoints, and torchrun's restarts."""

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.nn.parallel import DistributedDataParallel
from training import GPT, RANK, WAIT, Log, arguments, batch, device, next_byte_loss


def main() -> None:
    args = arguments()
    place, log = device(), Log(args.out)
    dist.init_process_group("nccl" if place.type == "cuda" else "gloo", timeout=WAIT)
    torch.manual_seed(1)
    model = DistributedDataParallel(GPT(args.layers, args.width).to(place))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    start, saving, beside = 0, None, dist.new_group(backend="gloo")
    whole = sorted((one.parent for one in args.out.glob("checkpoint-*/.metadata")), key=lambda one: one.name)
    if whole:
        start = int(whole[-1].name.split("-")[1])
        weights, moments = get_state_dict(model, optimizer)
        dcp.load({"model": weights, "optimizer": moments}, checkpoint_id=whole[-1])
        set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
    for step in range(start, args.steps):
        tokens, target = batch(step, RANK, place)
        loss = next_byte_loss(model(tokens), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.step(step, loss.item())
        if (step + 1) % args.every == 0:
            if saving is not None:
                saving.result()
            weights, moments = get_state_dict(model, optimizer)
            state, name = {"model": weights, "optimizer": moments}, f"checkpoint-{step + 1:06}"
            saving = dcp.async_save(state, checkpoint_id=args.out / name, process_group=beside)
    if saving is not None:
        saving.result()
    log.done(model, optimizer)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

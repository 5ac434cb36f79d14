"""Parts beside training: evaluation, attention by name, threads, streams.

Called by: run.py.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from typing import Any

import torch

from .job import BATCH, Part, digest
from .models import model

aten = torch.ops.aten


class Attend(Part):
    """Forward and backward of an attention kernel by their names, the keys in pieces that are merged by log-sum-exp."""

    HEADS = 2

    def prepare(self) -> None:
        self.state = torch.zeros(1, self.HEADS, BATCH, 16, device=self.job.device)

    def _given(self, iteration: int, which: int) -> torch.Tensor:
        made = torch.randn(1, self.HEADS, BATCH, 16, generator=self.numbers(iteration, which)).to(self.job.device)
        return (made + self.state).to(torch.bfloat16 if self.choices["kernel"] == "flash" else torch.float32)

    def iterate(self, iteration: int) -> None:
        q, k, v, g = (self._given(iteration, which) for which in range(4))
        size = BATCH // self.choices["pieces"]
        pieces = []
        for at in range(0, BATCH, size):
            ki, vi = (one[:, :, at : at + size].contiguous() for one in (k, v))
            made = self._forward(q, ki, vi)
            pieces.append((ki, vi, made))
        each = torch.stack([made[1][:, :, :BATCH] for _, _, made in pieces]).float()
        lse = torch.logsumexp(each, 0)
        out = torch.stack([(each[i] - lse).exp().unsqueeze(-1) * one[2][0] for i, one in enumerate(pieces)]).sum(0)
        total = torch.zeros_like(self.state)
        for ki, vi, made in pieces:
            total += self._backward(g, q, ki, vi, out.to(q.dtype), lse, made)
        self.state = self.state * 0.5 + total

    def _forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        if self.choices["kernel"] == "flash":
            return aten._scaled_dot_product_flash_attention(q, k, v)
        return aten._scaled_dot_product_efficient_attention(q, k, v, None, True)

    def _backward(self, g: torch.Tensor, *given: Any) -> torch.Tensor:
        """Of q; those of k and v count too. given: q, k, v, out, log-sum-exp, what the forward made."""
        *some, out, lse, m = given
        if self.choices["kernel"] == "flash":
            made = aten._scaled_dot_product_flash_attention_backward(
                g, *some, out, lse, m[2], m[3], m[4], m[5], 0.0, False, m[6], m[7]
            )
        else:
            made = aten._scaled_dot_product_efficient_attention_backward(
                g, *some, None, out, lse, m[2], m[3], 0.0, [True, True, True, False]
            )
        return (made[0].float() + (made[1].float() + made[2].float()).mean()).float()

    def result(self) -> dict[str, Any]:
        return {"state": self.state}


class Evaluate(Part):
    """A model that is only asked, also in its training mode, in which statistics and random numbers move."""

    def prepare(self) -> None:
        self.seed_model()
        self.model = model(self.choices["model"], self.job.width).to(self.job.device)

    def iterate(self, iteration: int) -> None:
        rows = self.batch(iteration).to(self.job.device)
        half = self.choices["precision"] == "half"
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16) if half else contextlib.nullcontext():
            self.model.train(iteration % 2 == 0)
            loss = self.model(rows).float().square().mean()
        self.read.append(loss.item() if self.choices["reads"] == "each" else loss)

    def result(self) -> dict[str, Any]:
        return {"weights": self.model.state_dict()}


class Thread(Part):
    """A thread that works on a copy of weights, while the others go on; it never steps."""

    def prepare(self) -> None:
        self.seed_model()
        self.weights = torch.randn(BATCH, self.job.width, generator=self.numbers(0)).to(self.job.device)
        self.asked: queue.Queue[tuple[torch.Tensor, torch.cuda.Event] | None] = queue.Queue()
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def iterate(self, iteration: int) -> None:
        self.weights = self.weights * 0.9 + self.batch(iteration).to(self.job.device)
        made = torch.cuda.Event()
        copy = self.weights.clone()
        made.record()
        self.asked.put((copy, made))

    def _work(self) -> None:
        torch.cuda.set_device(self.job.device)
        stream = torch.cuda.Stream() if self.choices["stream"] == "side" else torch.cuda.current_stream()
        self.seen: list[str] = []
        while asked := self.asked.get():
            copy, made = asked
            with torch.cuda.stream(stream):
                stream.wait_event(made)
                copy.record_stream(stream)
                if self.choices["work"] == "evaluate":
                    copy = (copy @ copy.T).softmax(-1) @ copy
                self.seen.append(digest(copy))

    def finish(self) -> None:
        self.asked.put(None)
        self.thread.join()

    def result(self) -> dict[str, Any]:
        said = torch.tensor(list("".join(self.seen).encode()), dtype=torch.uint8)
        return {"weights": self.weights, "thread": said}


class Streams(Part):
    """Work on several streams at once, ordered by events."""

    def prepare(self) -> None:
        self.streams = [torch.cuda.Stream() for _ in range(self.choices["count"])]
        self.states = [self.batch(0, at).to(self.job.device) for at in range(len(self.streams))]
        torch.cuda.synchronize()

    def iterate(self, iteration: int) -> None:
        rows = self.batch(iteration).to(self.job.device)
        begun = torch.cuda.Event()
        begun.record()
        ends = []
        for at, stream in enumerate(self.streams):
            with torch.cuda.stream(stream):
                stream.wait_event(begun)
                if ends and at % 2:
                    stream.wait_event(ends[-1])
                rows.record_stream(stream)
                self.states[at].mul_(0.5).add_(rows, alpha=at + 1.0)
                for _ in range(3):
                    self.states[at].tanh_()
                ends.append(torch.cuda.Event())
                ends[-1].record()
        for one in ends:
            torch.cuda.current_stream().wait_event(one)
        self.read.append(sum(one.sum() for one in self.states))

    def result(self) -> dict[str, Any]:
        return {"states": self.states}

"""Captures as programs make them, run by test_captured_training.py: each function prints what it found."""

from __future__ import annotations

import sys

import torch


def first_calls() -> None:
    """Operators that the worker has never seen, on tensors that have no content while they are captured."""
    table, index = torch.randn(50, 8, device="cuda"), torch.tensor([3, 7], device="cuda")

    def run() -> tuple[torch.Tensor, ...]:
        computed = index * 5 + 2
        picked = torch.nn.functional.embedding(computed, table)
        return picked, computed // (index - 2), picked.sort(1).values, torch.nn.functional.one_hot(computed, 60)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = run()
    index.copy_(torch.tensor([1, 8]))
    graph.replay()
    print([bool(torch.equal(one, other)) for one, other in zip(captured, run(), strict=True)])


def refused() -> None:
    """A result whose size depends on data; the next capture is not harmed."""
    x = torch.tensor([0.0, 1.0, 0.0, 2.0], device="cuda")
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            x.nonzero()
    except RuntimeError as error:  # of the capture's end
        print([str(one).splitlines()[0] for one in (error.__context__, error)])
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
    graph.replay()
    print(x.tolist())


def random() -> None:
    """Of two generators, in a pool that two graphs share; a graph is captured again."""
    own = torch.Generator("cuda").manual_seed(4)

    def run() -> torch.Tensor:
        return torch.rand(5, device="cuda") + torch.randn(5, device="cuda", generator=own)

    graphs, results = [torch.cuda.CUDAGraph() for _ in range(2)], []
    for graph in graphs:
        graph.register_generator_state(own)
        with torch.cuda.graph(graph, pool=graphs[0].pool() if results else None):
            results.append(run())
    torch.cuda.manual_seed(9), own.manual_seed(4)
    seen = []
    for _ in range(3):
        for graph, result in zip(graphs, results, strict=True):
            graph.replay()
            seen.append(result.clone())
    torch.cuda.manual_seed(9), own.manual_seed(4)
    print([bool(torch.equal(one, run())) for one in seen])
    graphs[0].reset()
    print(len({str(one.tolist()) for one in seen}))


def compiled() -> None:
    """torch.compile's backend of graphs alone."""
    layer = torch.nn.Linear(16, 16).cuda()

    def run(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.relu(layer(x)).sum(1)

    made = torch.compile(run, backend="cudagraphs")
    with torch.no_grad():
        inputs = [torch.randn(4, 16, device="cuda") for _ in range(4)]
        print([bool(torch.equal(made(x), run(x))) for x in inputs])


if __name__ == "__main__":
    globals()[sys.argv[1]]()

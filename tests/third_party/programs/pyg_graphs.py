"""PyTorch Geometric: convolutions and attention on batches of made-up graphs, pooled, with DDP."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from outcome import LOCAL_RANK, RANK, RANKS, Outcome, arguments
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_mean_pool

given = arguments()
cuda = given.device == "cuda"
dist.init_process_group("nccl" if cuda else "gloo")
outcome = Outcome(given.out)


def graph(number: int) -> Data:
    source = torch.Generator().manual_seed(number)
    nodes = 8 + number % 9
    edges = torch.randint(0, nodes, (2, 3 * nodes), generator=source)
    return Data(torch.randn(nodes, 16, generator=source), edges, y=torch.tensor([number % 3]))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = GCNConv(16, 32), GATConv(32, 16, heads=2, dropout=0.1)
        self.third, self.last = SAGEConv(32, 32), nn.Linear(32, 3)

    def forward(self, data: Data) -> torch.Tensor:
        x = F.relu(self.first(data.x, data.edge_index))
        x = F.elu(self.second(x, data.edge_index))
        x = F.dropout(F.relu(self.third(x, data.edge_index)), p=0.2, training=self.training)
        return self.last(global_mean_pool(x, data.batch))


graphs = [graph(number) for number in range(256)]
sampler = DistributedSampler(graphs, RANKS, RANK, seed=1)
loader = DataLoader(graphs, batch_size=8, sampler=sampler)
net = Net().to(given.device)
model = DistributedDataParallel(net, device_ids=[LOCAL_RANK] if cuda else None)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
done = 0
while done < given.steps:
    sampler.set_epoch(done)
    for batch in loader:
        data = batch.to(given.device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), data.y)
        loss.backward()
        optimizer.step()
        outcome.step(loss.item())
        done += 1
        if done == given.steps:
            break
outcome.done(list(net.state_dict().items()))
dist.destroy_process_group()

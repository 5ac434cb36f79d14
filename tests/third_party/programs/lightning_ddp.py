"""Lightning's Trainer with its DDP strategy: a convolutional net with batch normalization and a schedule."""

import lightning as L
import torch
from outcome import RANKS, Outcome, arguments
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

given = arguments()
outcome = Outcome(given.out)


class Net(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(32, 10),
        )  # fmt: skip

    def training_step(self, batch, index):
        images, labels = batch
        return nn.functional.cross_entropy(self.body(images), labels)

    def on_train_batch_end(self, outputs, batch, index):
        outcome.step(outputs["loss"].item())

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)}


source = torch.Generator().manual_seed(3)
data = TensorDataset(
    torch.randn(512, 3, 16, 16, generator=source), torch.randint(0, 10, (512,), generator=source)
)  # fmt: skip
net = Net()
trainer = L.Trainer(
    accelerator="gpu" if given.device == "cuda" else "cpu", devices=RANKS, strategy="ddp", max_steps=given.steps,
    logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)  # fmt: skip
trainer.fit(net, DataLoader(data, batch_size=16))
outcome.done(list(net.state_dict().items()))

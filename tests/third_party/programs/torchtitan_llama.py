"""torchtitan's Llama 3 (its debug model), FSDP2 over all ranks, with its own trainer and its asynchronous checkpoints.

The tokenizer and the text are made here, since nothing may be downloaded.
"""

import json

from outcome import Outcome, arguments
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torchtitan.config import JobConfig
from torchtitan.tools.logging import init_logger
from torchtitan.train import Trainer

given = arguments()
outcome = Outcome(given.out)
init_logger()

TEXT = ["".join(chr(97 + (row * 7 + column * column) % 26) + " " for column in range(400)) for row in range(64)]
assets, data = given.out / "assets", given.out / "data"
for folder in (assets, data):
    folder.mkdir(exist_ok=True)
tokenizer = Tokenizer(models.WordLevel(unk_token="?"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.train_from_iterator(TEXT, trainers.WordLevelTrainer(special_tokens=["?", "<s>", "</s>"]))
tokenizer.save(str(assets / "tokenizer.json"))
(assets / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
(data / "data.json").write_text("".join(json.dumps({"text": row}) + "\n" for row in TEXT))

config = JobConfig()
config.job.dump_folder = str(given.out / "titan")
config.model.name, config.model.flavor, config.model.hf_assets_path = "llama3", "debugmodel", str(assets)
config.training.dataset, config.training.dataset_path = "c4_test", str(data)
config.training.local_batch_size, config.training.seq_len, config.training.steps = 2, 64, given.steps
config.metrics.log_freq = 1
config.lr_scheduler.warmup_steps = 2
config.debug.seed = 7
config.checkpoint.enable, config.checkpoint.interval, config.checkpoint.async_mode = True, 5, "async"
trainer = Trainer(config)
log = trainer.metrics_processor.log


def logged(step, average, *rest, **more):
    outcome.step(average)
    log(step, average, *rest, **more)


trainer.metrics_processor.log = logged
trainer.train()
outcome.done([pair for part in trainer.model_parts for pair in part.state_dict().items()])
trainer.close()

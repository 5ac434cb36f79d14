"""The programs of the matrix: which environment, how many ranks, which arguments, and what they can be compared with.

Called by: matrix.py. A program is a short script in `programs/` that uses a library as its documentation says; the
training loop, the parallelism and the checkpoints are the library's.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    environment: str
    program: str
    arguments: tuple[str, ...] = ()
    ranks: int = 2
    #: Relative difference of losses to a run without devices; None where the program has no such run.
    cpu: float | None = None
    #: Why there is no comparison with a CPU.
    why_not_cpu: str = "its communication or its precision needs a GPU"
    #: GPUs of the service; 0: one for each rank.
    gpus: int = 0
    #: More options of torchrun.
    launcher: tuple[str, ...] = ()
    environment_variables: tuple[tuple[str, str], ...] = ()
    #: What a reader of its row should know.
    note: str = ""

    @property
    def devices(self) -> int:
        return self.gpus or self.ranks


DROPOUT = "its dropout is drawn on the GPU"
DRAWN = "its actions are drawn on the GPU"
MEANS = "the variational means begin with numbers drawn on the GPU"
#: Its losses are kernels in Triton's language, which the software device has Triton interpret.
INTERPRETED = (("TRITON_INTERPRET", "1"),)
HOOK = "its hook needs NCCL"

CASES: tuple[Case, ...] = (
    Case(
        "FSDP2 with DCP save, async_save, load",
        "pytorch",
        "fsdp2_dcp",
        why_not_cpu="async_save and training share one gloo group there, and wait for each other",
    ),
    Case("Trainer, DDP", "hugging-face", "hf_trainer", cpu=1e-3),
    Case("Trainer, DDP, evaluation", "hugging-face", "hf_trainer", ("--evaluate", "1"), cpu=1e-3),
    Case("Trainer, FSDP2 by Accelerate", "hugging-face", "hf_trainer", ("--fsdp", "1")),
    Case("Accelerate, accumulation and clipping", "hugging-face", "accelerate_loop", cpu=1e-3),
    Case("Lightning Trainer, DDP", "lightning", "lightning_ddp", cpu=1e-3),
    Case("LitGPT with Fabric", "lightning", "litgpt_fabric", cpu=1e-3),
    Case("DeepSpeed ZeRO 1", "deepspeed", "deepspeed_zero", ("--stage", "1")),
    Case("DeepSpeed ZeRO 2", "deepspeed", "deepspeed_zero", ("--stage", "2")),
    Case("DeepSpeed ZeRO 3", "deepspeed", "deepspeed_zero", ("--stage", "3")),
    Case("Megatron-core, tensor parallel 2", "megatron", "megatron_gpt", ("--tensor", "2")),
    Case("Megatron-core, pipeline parallel 2", "megatron", "megatron_gpt", ("--pipeline", "2")),
    Case("torchtitan, Llama 3 with FSDP2", "torchtitan", "torchtitan_llama"),
    Case("torchft, two replica groups", "torchft", "torchft_groups"),
    Case("timm ResNet-18, AMP, EMA, LAMB", "timm", "timm_train", ("--model", "resnet18")),
    Case("timm ViT, AMP, EMA, LAMB", "timm", "timm_train", ("--model", "vit_tiny_patch16_224")),
    Case(
        "nano-gpt with its trainer, AMP",
        "nano-gpt",
        "nano_gpt_train",
        why_not_cpu="its trainer has no ranks there",
    ),
    Case("x-transformers decoder", "x-transformers", "x_decoder", ranks=1, cpu=1e-3),
    Case(
        "TRL, supervised fine-tuning",
        "trl",
        "trl_train",
        ("--method", "sft"),
        cpu=1e-3,
        environment_variables=INTERPRETED,
        note="run with `TRITON_INTERPRET=1`, as the other rows of TRL: TRL's losses are kernels in Triton's language.",
    ),
    Case("TRL, DPO", "trl", "trl_train", ("--method", "dpo"), cpu=1e-3, environment_variables=INTERPRETED),
    Case(
        "TRL, GRPO",
        "trl",
        "trl_train",
        ("--method", "grpo"),
        why_not_cpu="what it generates is drawn on the GPU",
        environment_variables=INTERPRETED,
    ),
    Case("PEFT, LoRA", "trl", "peft_adapters", why_not_cpu=DROPOUT),
    Case("PEFT, DoRA", "trl", "peft_adapters", ("--dora", "1"), why_not_cpu=DROPOUT),
    Case("diffusers U-Net, EMA, sampling", "diffusers", "diffusers_noise", ("--model", "unet"), cpu=1e-3),
    Case("diffusers DiT, EMA", "diffusers", "diffusers_noise", ("--model", "dit"), why_not_cpu=DROPOUT),
    Case("PyTorch Geometric, GCN, GAT, SAGE", "torch-geometric", "pyg_graphs", why_not_cpu=DROPOUT),
    Case("Stable-Baselines3 PPO", "stable-baselines3", "sb3_agents", ("--agent", "ppo"), 1, why_not_cpu=DRAWN),
    Case("Stable-Baselines3 DQN", "stable-baselines3", "sb3_agents", ("--agent", "dqn"), 1, cpu=1e-3),
    Case("sentence-transformers Trainer", "sentence-transformers", "sentence_embeddings", why_not_cpu=DROPOUT),
    Case("GPyTorch, exact and variational", "gpytorch", "gpytorch_regression", ranks=1, why_not_cpu=MEANS),
    Case("Opacus, private DDP", "opacus", "opacus_private", why_not_cpu="its noise is drawn on the GPU"),
    Case(
        "PowerSGD hook, one bucket",
        "pytorch",
        "power_sgd",
        ("--bucket", "25"),
        why_not_cpu=HOOK,
    ),
    Case(
        "PowerSGD hook, several buckets",
        "pytorch",
        "power_sgd",
        why_not_cpu=HOOK,
        note="the race is PyTorch's own, and `jitc run --check-order` names it. The hook copies each bucket, to tell "
        "later what compression has lost; the callback that reads the copy runs on another stream, and frees it "
        "without `record_stream`. So the default stream writes to the same memory while it is still read. With the "
        "copies kept until the step is over (the next row) `--check-order` finds no race.",
    ),
    Case(
        "PowerSGD hook, several buckets, copies kept",
        "pytorch",
        "power_sgd",
        ("--keep", "1"),
        why_not_cpu=HOOK,
    ),
    Case(
        "torchrun restarts after an error",
        "pytorch",
        "restarted_training",
        launcher=("--max-restarts", "1"),
        why_not_cpu="without jitc all attempts share a store, and gloo's ranks find addresses of the first one",
        note="the program and the launcher are unchanged; workers are killed before the restart and after it.",
    ),
    Case("nn.DataParallel on two GPUs", "pytorch", "data_parallel", ranks=1, gpus=2, why_not_cpu=DROPOUT),
    Case("NCCL by ctypes, as vLLM has it", "pytorch", "own_nccl"),
)

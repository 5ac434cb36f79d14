"""How tests have torch.compile compile: nothing of what takes long and is not the matter of a test."""

#: In the program itself, and it takes the processor's word for what it can do.
QUICK = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_VEC_ISA_OK": "1"}

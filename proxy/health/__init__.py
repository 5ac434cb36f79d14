"""Whether workers, ranks and GPUs are well, and who is to blame where they are not. See README.md."""

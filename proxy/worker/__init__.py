"""The worker process: owns one GPU, holds the executor, dies alone. Started by jitc-proxyd only."""

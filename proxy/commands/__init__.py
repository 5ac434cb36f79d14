"""The commands jitc and jitc-proxyd."""

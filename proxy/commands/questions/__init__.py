"""The commands of `jitc` that ask a running service: status, report, inject, validate, gpu."""

"""What runs lists of programs, one after the other: each within limits, what came of it in a file while it goes on."""

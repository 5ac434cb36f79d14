"""jitc: training goes on when a GPU's process dies, hangs or breaks, and never notices."""

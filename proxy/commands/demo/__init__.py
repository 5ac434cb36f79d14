"""`jitc demo`: a job loses its proxy server twice and never notices."""

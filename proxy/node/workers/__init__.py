"""The worker processes: started, kept warm, watched, ended."""

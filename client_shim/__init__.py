"""What a Python training process needs beside the interposer; loaded through PyTorch's autoload."""

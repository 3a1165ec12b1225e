"""PyTorch Kineto: Chrome trace JSON written by torch.profiler."""

"""The profiler of XLA: JAX, and TensorFlow."""

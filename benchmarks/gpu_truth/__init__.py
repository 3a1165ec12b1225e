"""Predicted against realised on a real accelerator: decode-like loops of kernels whose length is known."""

"""Many traces: discover them, analyse each in a worker, and keep the answers in a dataset that only grows."""

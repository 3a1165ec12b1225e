"""The profilers of Ascend NPUs."""

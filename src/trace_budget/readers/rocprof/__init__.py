"""The profilers of ROCm: rocprofv3, rocprofv2, rocprof and rocpd databases."""

"""HolisticTraceAnalysis, its basic summary of kernels: `python hta_summary.py TRACE.json.gz`."""

import sys

from hta.trace_analysis import TraceAnalysis

analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
types, metrics = analysis.get_gpu_kernel_breakdown(visualize=False)
print(len(metrics), round(types["sum"].sum() * 1_000))

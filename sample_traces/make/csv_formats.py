"""Write the CSV samples: `python -m sample_traces.make.csv_formats [--out FOLDER]` from the repository's root."""

from __future__ import annotations

import argparse
from pathlib import Path

from sample_traces.make import (
    ascend_text,
    hipprof_text,
    nsys_text,
    plain_text,
    rocprof_text,
    rocprofv3_text,
    two_processes,
)
from sample_traces.make import run_description as described

ROOT = Path(__file__).resolve().parents[1]
QUOTED_NAME = 'attention<"a,b","c">(int, {lambda(float)#1})'
QUOTED_KERNEL = "paged_attention_kernel"
# `--kernel-rename`: kernels carry the text of the range around their launch, which here is that of the step
RENAMED = {kernel.name: described.MARKER for kernel in (*described.LAYER_KERNELS, described.HEAD_KERNEL)}


def samples() -> dict[str, str]:
    """Path below sample_traces and text of every sample."""
    run = described.described_run()
    return {
        "rocprofv3_csv/same_run_kernel_trace.csv": rocprofv3_text.kernel_trace(run),
        "rocprofv3_csv/same_run_hip_api_trace.csv": rocprofv3_text.hip_api_trace(run),
        "rocprofv3_csv/same_run_marker_api_trace.csv": rocprofv3_text.marker_api_trace(run),
        "rocprofv3_csv/same_run_memory_copy_trace.csv": rocprofv3_text.memory_copy_trace(run),
        "rocprofv3_csv/same_run_agent_info.csv": rocprofv3_text.agent_info(),
        "rocprofv3_csv/rocm62_kernel_trace.csv": rocprofv3_text.kernel_trace_rocm62(run),
        "rocprofv3_csv/of_rocpd_kernel_trace.csv": rocprofv3_text.kernel_trace_of_rocpd(run),
        "rocprofv3_csv/of_rocpd_regions_trace.csv": rocprofv3_text.regions_trace_of_rocpd(run),
        "rocprofv3_csv/of_rocpd_memory_copy_trace.csv": rocprofv3_text.memory_copy_trace_of_rocpd(run),
        "rocprofv3_csv/utf16_kernel_trace.csv": rocprofv3_text.kernel_trace(run),
        "rocprof_v1_csv/same_run.csv": rocprof_text.results_csv(run),
        "rocprof_v1_csv/timestamp_only.csv": rocprof_text.timestamp_only_csv(run),
        "rocprof_v1_csv/old_registers.csv": rocprof_text.timestamp_only_csv(run, rocprof_text.OLD_HEADER),
        "rocprofv2_csv/results_4242.csv": rocprof_text.v2_results_csv(run),
        "rocprofv2_csv/results_of_old_header.csv": rocprof_text.v2_old_results_csv(run),
        "rocprofv2_csv/results_of_xccs.csv": rocprof_text.v2_xcc_results_csv(run),
        "rocprofv2_csv/hcc_ops_trace_4242.csv": rocprof_text.v2_ops_trace_csv(run),
        "rocprofv2_csv/hip_api_trace_4242.csv": rocprof_text.v2_api_trace_csv(run),
        "kernel_stats_csv/rocprofv3_kernel_stats.csv": rocprofv3_text.kernel_stats(run),
        "kernel_stats_csv/rocprof_results.stats.csv": rocprof_text.stats_csv(run),
        "kernel_stats_csv/hipprof.hipkernel.csv": hipprof_text.hipkernel_csv(run),
        "nsys_csv/same_run.csv": nsys_text.one_output(run),
        "nsys_csv/beside_cuda_gpu_trace.csv": nsys_text.gpu_trace(run),
        "nsys_csv/beside_cuda_api_trace.csv": nsys_text.api_trace(run),
        "nsys_csv/beside_nvtx_pushpop_trace.csv": nsys_text.pushpop_trace(run),
        "nsys_csv/cuda_gpu_kern_sum.csv": nsys_text.kernel_sums(run),
        "ascend_csv/kernel_details.csv": ascend_text.kernel_details_csv(run),
        "ascend_csv/op_summary_20260101.csv": ascend_text.op_summary_csv(run),
        "plain_table/same_run.csv": plain_text.table_csv(run),
        "plain_table/same_run.jsonl": plain_text.table_lines(run),
        "rocprofv3_csv/renamed_kernel_trace.csv": rocprofv3_text.kernel_trace(run, RENAMED),
        **two_processes.csv_samples(),
        **_broken(run),
    }


def _broken(run: described.Run) -> dict[str, str]:
    header = rocprofv3_text.table(rocprofv3_text.KERNEL_HEADER, [])
    quoted = rocprofv3_text.kernel_trace(run, {QUOTED_KERNEL: QUOTED_NAME})
    bom = "\ufeff" + rocprofv3_text.kernel_trace(run).replace("\n", "\r\n\r\n", 1).replace("\n", "\r\n").replace(
        "\r\r", "\r"
    )
    return {
        "broken/rocprofv3_workers/4242_kernel_trace.csv": header,
        "broken/rocprofv3_workers/4243_kernel_trace.csv": rocprofv3_text.kernel_trace(run),
        "broken/rocprofv3_unescaped_quote_kernel_trace.csv": quoted,
        "broken/rocprofv3_bom_crlf_kernel_trace.csv": bom,
        "broken/rocprofv3_counter_collection.csv": rocprofv3_text.counter_collection(run),
        "broken/hipprof_pmc.csv": rocprof_text.counters_csv(run),
    }


def write_all(out: Path) -> None:
    """Write every sample; one truth for all of a folder, since all tell of the same run."""
    for name, text in samples().items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-16" if path.name.startswith("utf16") else "utf-8"))
    for folder in dict.fromkeys(Path(name).parts[0] for name in samples()):
        if folder != "broken":
            described.write_truth(out / folder / "same_run.truth.json", described.truth())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT)
    write_all(parser.parse_args().out)

"""The samples that are mutated: their bytes, the files beside them, and how often each is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2] / "sample_traces"
JSON, CSV, SQLITE, PROTOBUF, PARQUET = "json", "csv", "sqlite", "protobuf", "parquet"
INGESTED = "ingested"
FAMILIES = (JSON, CSV, SQLITE, PROTOBUF, PARQUET)


@dataclass(frozen=True)
class Sample:
    """One sample; `beside` are the files (as a pattern) that are read with it, `weight` how often it is drawn."""

    name: str
    family: str
    weight: float = 1.0
    beside: str = ""

    @property
    def format(self) -> str:
        """The reader it is made for, by its folder."""
        return self.name.partition("/")[0]


SAMPLES = (
    Sample("kineto/same_run.json", JSON, 6),
    Sample("kineto/integer_us_epoch.json.gz", JSON, 3),
    Sample("kineto/decimal_us_epoch.json.gz", JSON, 3),
    Sample("kineto/list_root.json.gz", JSON, 3),
    Sample("kineto/cuda_two_streams_pdl.json.gz", JSON, 0.1),
    Sample("hipprof_json/same_run.json", JSON, 3),
    Sample("hipprof_json/same_run.html", JSON, 1),
    Sample("rocprof_v1_json/same_run.json", JSON, 4),
    Sample("rocprofv3_json/same_run.json", JSON, 3),
    Sample("rocprofv3_json/two_processes.json", JSON, 1),
    Sample("rpd_json/same_run.json", JSON, 4),
    Sample("ascend_json/same_run.json", JSON, 3),
    Sample("xla_json/same_run.trace.json", JSON, 3),
    Sample("hipprof_db/same_run.db", SQLITE, 3),
    Sample("hipprof_db/two_workers.db", SQLITE, 1),
    Sample("nsys_sqlite/same_run.sqlite", SQLITE, 3),
    Sample("nsys_sqlite/two_processes.sqlite", SQLITE, 1),
    Sample("rocpd/same_run.db", SQLITE, 1),
    Sample("rocpd/schema_4.db", SQLITE, 0.5),
    Sample("rocpd/two_processes.db", SQLITE, 0.3),
    Sample("rocprof_v1_db/same_run.db", SQLITE, 3),
    Sample("rpd/same_run.rpd", SQLITE, 2),
    Sample("rpd/schema_3.rpd", SQLITE, 2),
    Sample("rpd/odd_rows.rpd", SQLITE, 1),
    Sample("rpd/of_sdk.rpd", SQLITE, 1),
    Sample("rpd/of_clr.rpd", SQLITE, 0.5),
    Sample("rpd/two_processes.rpd", SQLITE, 0.5),
    Sample("rocprof_v1_db/two_processes.db", SQLITE, 0.5),
    Sample("nsys_sqlite/visible_devices.sqlite", SQLITE, 0.5),
    Sample("hipprof_json/two_processes.json", JSON, 1),
    Sample("nsys_parquetdir/same_run", PARQUET, 4),
    Sample("ingested/same_run", PARQUET, 3),
    Sample("perfetto/same_run.pftrace", PROTOBUF, 0.1),
    Sample("perfetto/rocprof_sys.proto", PROTOBUF, 0.1),
    Sample("perfetto/rocprof_sys_node.proto", PROTOBUF, 0.1),
    Sample("perfetto/overlaps_cut.pftrace", PROTOBUF, 0.1),
    Sample("xplane/same_run.xplane.pb", PROTOBUF, 3),
    Sample("ascend_csv/kernel_details.csv", CSV, 3),
    Sample("nsys_csv/same_run.csv", CSV, 3),
    Sample("nsys_csv/beside_cuda_gpu_trace.csv", CSV, 2, "beside_*"),
    Sample("nsys_csv/two_processes_cuda_gpu_trace.csv", CSV, 1, "two_processes_*"),
    Sample("rocprofv3_csv/two_processes_kernel_trace.csv", CSV, 1, "two_processes_*"),
    Sample("rocprofv3_csv/renamed_kernel_trace.csv", CSV, 1),
    Sample("rocprof_v1_csv/two_processes.csv", CSV, 1),
    Sample("nsys_csv/cuda_gpu_kern_sum.csv", CSV, 2),
    Sample("rocprof_v1_csv/same_run.csv", CSV, 5),
    Sample("rocprof_v1_csv/old_registers.csv", CSV, 3),
    Sample("rocprofv2_csv/results_4242.csv", CSV, 4),
    Sample("rocprofv2_csv/results_of_old_header.csv", CSV, 2),
    Sample("rocprofv2_csv/results_of_xccs.csv", CSV, 2),
    Sample("rocprofv2_csv/hcc_ops_trace_4242.csv", CSV, 4, "hip_api_trace_4242.csv"),
    Sample("rocprofv3_csv/same_run_kernel_trace.csv", CSV, 3, "same_run_*"),
    Sample("rocprofv3_csv/of_rocpd_kernel_trace.csv", CSV, 4, "of_rocpd_*"),
    Sample("rocprofv3_csv/rocm62_kernel_trace.csv", CSV, 4),
    Sample("plain_table/same_run.csv", CSV, 3),
    Sample("kernel_stats_csv/hipprof.hipkernel.csv", CSV, 3),
    Sample("kernel_stats_csv/rocprof_results.stats.csv", CSV, 3),
    Sample("kernel_stats_csv/rocprofv3_kernel_stats.csv", CSV, 3),
)

_MADE: list[TemporaryDirectory[str]] = []


def drawn(rng: Random, only: str = "") -> Sample:
    """A sample by its weight; of one format alone when that is named."""
    among = [sample for sample in SAMPLES if only in ("", sample.format)]
    return rng.choices(among, [sample.weight for sample in among])[0]


@cache
def place_of(sample: Sample) -> Path:
    """Where the sample lies; an ingested one is made in a folder that goes with the process."""
    if sample.format != INGESTED:
        return ROOT / sample.name
    from trace_budget import api
    from trace_budget.io.new_folder import write_folder
    from trace_budget.schema.ingested import to_files

    folder = TemporaryDirectory(prefix="fuzz-ingested-")
    _MADE.append(folder)
    write_folder(Path(folder.name, "same_run"), to_files(api.open_trace(ROOT / "kineto/same_run.json")))
    return Path(folder.name, "same_run")


@cache
def files_of(sample: Sample) -> dict[str, bytes]:
    """The sample's own file or folder of files first, then what lies beside it; names relative to its folder."""
    path = place_of(sample)
    own = sorted(path.iterdir()) if path.is_dir() else [path]
    beside = sorted(path.parent.glob(sample.beside)) if sample.beside else []
    found = {file.relative_to(path.parent).as_posix(): file.read_bytes() for file in own}
    near = {file.name: file.read_bytes() for file in beside if file != path and not file.name.endswith(".truth.json")}
    return found | near

"""Keeps the list of all samples in the README: `python -m sample_traces.make.inventory`, from the root."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- inventory -->", "<!-- end of inventory -->"
DATABASES = ("hipprof_db", "nsys_sqlite", "rocpd", "rocprof_v1_db", "rpd")
TABLES = (
    *("ascend_csv", "kernel_stats_csv", "nsys_csv", "plain_table"),
    *("rocprof_v1_csv", "rocprofv2_csv", "rocprofv3_csv"),
)
DOCUMENTS = ("ascend_json", "hipprof_json", "rocprof_v1_json", "rocprofv3_json", "rpd_json", "xla_json")


def maker(name: str) -> str:
    """The program below make/ that writes a sample."""
    folder, _, file = name.partition("/")
    if folder == "nsys_parquetdir":
        return "nsys_parquet"
    if folder in ("perfetto", "xplane"):
        return f"{folder}_format"
    if folder in DATABASES or file.endswith((".db", ".sqlite")):
        return "sqlite_formats"
    if file in ("same_run.json", "rocprofv3_truncated.json", "rocprof_v1_killed.json") or folder in DOCUMENTS:
        return "json_formats"
    if folder in TABLES or file.endswith(".csv"):
        return "csv_formats"
    return "kineto"


def samples() -> list[str]:
    """Every sample, without truths and programs."""
    files = (path for path in ROOT.rglob("*") if path.is_file() and path.parent != ROOT)
    names = (path.relative_to(ROOT).as_posix() for path in files)
    return sorted(n for n in names if not n.startswith("make/") and not n.endswith((".truth.json", ".pyc")))


def section() -> str:
    """The table between the marks."""
    rows = [f"| `{name}` | {(ROOT / name).stat().st_size:,} | `{maker(name)}` |" for name in samples()]
    return "\n".join((BEGIN, "| file | bytes | made by `sample_traces.make.…` |", "|---|---:|---|", *rows, END))


def renewed(readme: str) -> str:
    """The README with the table as it is now."""
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{section()}{rest.partition(END)[2]}"


if __name__ == "__main__":
    page = ROOT / "README.md"
    page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")

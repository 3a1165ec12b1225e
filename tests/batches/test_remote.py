"""Traces and datasets behind URLs: a file system in memory, one named by URL, and an S3 server on the loopback."""

import io
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import polars as pl
import pytest

from batches.datasets import QUESTION, content, finished
from trace_budget.batches.run import Workers, batch
from trace_budget.errors import InputError, OutputError, UsageError
from trace_budget.io.store import store_at

fsspec = pytest.importorskip("fsspec")
NUMBERS = count()  # the server keeps its buckets for as long as the process lives
TABLES = ("runs", "steps", "kernels", "layers", "projections", "failures")


def remote_content(address: str) -> dict[str, bytes]:
    """Every file of a dataset behind a URL."""
    system, root = fsspec.core.url_to_fs(address)
    system.invalidate_cache()
    return {path.removeprefix(f"{root}/"): system.cat_file(path) for path in system.find(root)}


def table(files: dict[str, bytes], name: str) -> pl.DataFrame:
    """One table of a dataset, without its keys: those of remote traces follow from what the store tells of them."""
    chosen = [data for path, data in files.items() if path.startswith(f"table={name}/")]
    frames = [pl.read_parquet(io.BytesIO(data)) for data in chosen]
    return pl.concat(frames).drop("trace_id")


def same_rows(one: dict[str, bytes], other: dict[str, bytes]) -> None:
    """Both hold the same rows, but for the keys."""
    for name in TABLES:
        first, second = (table(files, name) for files in (one, other))
        plain = [column for column, dtype in first.schema.items() if not dtype.is_nested()]
        assert first.select(plain).sort(plain).equals(second.select(plain).sort(plain)), name


def test_a_file_url_is_the_folder_it_names(few: Path, few_answered: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    batch(few, f"file://{out}", QUESTION, Workers("here"))
    assert content(out) == content(few_answered)


def test_a_remote_file_system_with_folders(few: Path, few_answered: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    batch(few, f"local://{out}", QUESTION, Workers("here"))
    assert content(out) == content(few_answered)
    assert list((out / "_tmp").iterdir()) == []


def test_traces_and_dataset_in_memory(few: Path, few_answered: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.put(f"{few}/", "/in/few", recursive=True)
    done = batch("memory://in/few", "memory://out", QUESTION, Workers("here"))
    assert done.table("runs").height == 36
    same_rows(remote_content("memory://out"), content(few_answered))
    again = batch("memory://in/few", "memory://out", QUESTION, Workers("here"))
    assert again.resumed == 36 + 5 + 4
    memory.rm("/in", recursive=True)
    memory.rm("/out", recursive=True)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty bucket of an S3 server that runs on the loopback."""
    server_room = pytest.importorskip("moto.server")
    server = server_room.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    pytest.importorskip("s3fs").S3FileSystem.clear_instance_cache()
    system = fsspec.filesystem("s3")
    name = f"runs{next(NUMBERS)}"
    system.mkdir(name)
    yield f"s3://{name}"
    server.stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_traces_and_dataset_in_an_object_store(few: Path, few_answered: Path, bucket: str) -> None:
    fsspec.filesystem("s3").put(f"{few}/", f"{bucket}/in/few", recursive=True)
    code, err = finished(few, f"{bucket}/out/1", "-j", "2")
    assert code == 3, err
    assert "10 files gave no answer" in err
    assert remote_content(f"{bucket}/out/1") == content(few_answered)
    done = batch(f"{bucket}/in/few", f"{bucket}/out/2", QUESTION, Workers(jobs=2))
    assert done.table("runs").height == 36
    same_rows(remote_content(f"{bucket}/out/2"), content(few_answered))
    again = batch(f"{bucket}/in/few", f"{bucket}/out/2", QUESTION, Workers(jobs=1))
    assert again.resumed == 36 + 5 + 4


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_bucket_that_is_not_there(few: Path, bucket: str) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        batch(f"{bucket}/nothing", "memory://out", QUESTION, Workers("here"))
    with pytest.raises(OutputError):
        batch(few, "s3://elsewhere/out", QUESTION, Workers("here"))


def test_urls_nobody_can_read() -> None:
    with pytest.raises(UsageError, match="not a URL that can be read"):
        store_at("nonsense://x/y")

"""What most trace analysers do: the whole document as dictionaries (orjson), then a pandas frame."""

import gzip
import sys

import orjson
import pandas as pd

path = sys.argv[1]
with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
    events = orjson.loads(file.read())["traceEvents"]
frame = pd.DataFrame(events)
gpu = frame[(frame["ph"] == "X") & frame["cat"].isin(["kernel", "gpu_memcpy", "gpu_memset"])]
kernels = gpu.groupby("name")["dur"].agg(["count", "sum", "mean"]).sort_values("sum", ascending=False)
print(len(gpu), round(kernels["sum"].sum() * 1_000))

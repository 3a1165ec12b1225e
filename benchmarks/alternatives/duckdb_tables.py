"""DuckDB's fast way to tables: the columns of operations, calls, ranges and modules as Arrow, times as decimals."""

import sys

import duckdb
from duckdb_events import bare_array

COLUMNS = """{
  ph: 'VARCHAR', cat: 'VARCHAR', name: 'VARCHAR', ts: 'DECIMAL(22,3)', dur: 'DECIMAL(22,3)', pid: 'VARCHAR',
  tid: 'VARCHAR', args: 'STRUCT(correlation BIGINT, stream BIGINT, device BIGINT, "External id" BIGINT,
  "graph node id" BIGINT, bytes BIGINT, grid BIGINT[], block BIGINT[])'}"""
QUERY = f"""
SELECT cat, name, ts, dur, pid, tid, unnest(args) FROM read_json(?, format = 'array', columns = {COLUMNS})
WHERE ph = 'X' AND (cat IN ('kernel', 'gpu_memcpy', 'gpu_memset', 'cuda_runtime', 'cuda_driver', 'user_annotation',
  'gpu_user_annotation', 'cuda_sync') OR cat = 'python_function' AND name LIKE 'nn.Module%')
"""  # noqa: S608  (no word of a user's)
SUM = """
SELECT count(*), CAST(sum(dur) * 1000 AS BIGINT) FROM events WHERE cat IN ('kernel', 'gpu_memcpy', 'gpu_memset')
"""
with bare_array(sys.argv[1]) as path:
    events = duckdb.sql(QUERY, params=[path]).to_arrow_table()
    print(*duckdb.execute(SUM).fetchone())

"""DuckDB's JSON reader: the events as rows, times as decimals."""

import sys

import duckdb

path = sys.argv[1]
duckdb.sql("SET preserve_insertion_order = false")
query = """
SELECT count(*), CAST(sum(e.dur) * 1000 AS BIGINT) FROM (
  SELECT unnest(traceEvents) AS e FROM read_json(
    ?, maximum_object_size = 2000000000, columns = {traceEvents:
    'STRUCT(ph VARCHAR, cat VARCHAR, name VARCHAR, ts DECIMAL(22,3), dur DECIMAL(22,3),
            args STRUCT(correlation BIGINT, stream BIGINT, device BIGINT))[]'}))
WHERE e.ph = 'X' AND e.cat IN ('kernel', 'gpu_memcpy', 'gpu_memset')
"""
print(*duckdb.execute(query, [path]).fetchone())

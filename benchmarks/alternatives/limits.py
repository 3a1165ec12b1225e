"""What no reader can beat: `python limits.py read|gunzip FILE`: the bytes from the disk cache, and inflated."""

import sys

from isal import isal_zlib

kind, path = sys.argv[1:]
count = 0
inflater = isal_zlib.decompressobj(wbits=31)
with open(path, "rb", buffering=0) as file:
    buffer = bytearray(1 << 22)
    while got := file.readinto(buffer):
        count += got if kind == "read" else len(inflater.decompress(memoryview(buffer)[:got]))
print(count)

"""HolisticTraceAnalysis, its parser alone: `python hta_parser.py TRACE.json`."""

import sys

from hta.common.trace_parser import parse_trace_dataframe
from hta.configs.parser_config import ParserConfig

_, frame, _ = parse_trace_dataframe(sys.argv[1], ParserConfig.get_default_cfg())
print(len(frame))

"""A simulator of hosts, streams, graphs and collectives that makes traces whose every what-if is known: ground truth.

`random_program(kind, seed)` makes a program, `simulate` runs it, `true_saving_ns` runs it again with a kernel truly
shortened; `to_trace`, `to_kineto` and `to_rocprofv3_csv` show the run as a profiler would. It shares no code with the
analyses and projections it judges.
"""

from gpu_simulator.as_files import to_kineto, to_rocprofv3_csv
from gpu_simulator.as_trace import to_trace
from gpu_simulator.plan import Plan, planned
from gpu_simulator.program import Kernel, Machine, Program, Shown, Step
from gpu_simulator.random_programs import KINDS, random_program
from gpu_simulator.simulate import Run, deltas, simulate, step_savings_ns, true_saving_ns

__all__ = [
    "KINDS",
    "Kernel",
    "Machine",
    "Plan",
    "Program",
    "Run",
    "Shown",
    "Step",
    "deltas",
    "planned",
    "random_program",
    "simulate",
    "step_savings_ns",
    "to_kineto",
    "to_rocprofv3_csv",
    "to_trace",
    "true_saving_ns",
]

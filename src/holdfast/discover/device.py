"""What counts the evidence of all pairs: the cores of this machine, or its GPU."""

from __future__ import annotations

import os
from dataclasses import dataclass

from holdfast.discover.coded_rows import CodedRows
from holdfast.discover.options import Device
from holdfast.errors import SessionError
from holdfast.kernels import gpu_evidence
from holdfast.kernels.evidence import Counted, all_pairs

# Below so many distinct rows the cores are done before a kernel is compiled and the rows have reached the card.
LEAST_GPU_ROWS = 20_000
# Up to so many a GPU relates all pairs in less time than a sample takes to be completed.
MOST_GPU_ROWS = 2_000_000
# The card that a task was given, where a cluster gives cards out.
CARD = "HOLDFAST_GPU"


@dataclass(frozen=True)
class CountedOn:
    """Counted pairs, and what counted them: `cpu`, `gpu`, or `cpu` after a GPU failed, and why."""

    counted: Counted
    device: str


def uses_gpu(rows: int, device: Device) -> bool:
    """Whether a GPU would count the pairs of so many distinct rows.

    SessionError where a GPU is asked for and there is none.
    """
    if device == "cpu" or (device == "auto" and rows < LEAST_GPU_ROWS):
        return False
    reason = gpu_evidence.missing()
    if reason is not None and device == "gpu":
        raise SessionError(
            f"a GPU is asked for, but {reason}.",
            hint="install CuPy with pip install 'holdfast[gpu]' where there is a card, or leave --device at auto.",
        )
    return reason is None


def count_pairs(rows: CodedRows, device: Device, *, threads: int = 1, share: int = 0, shares: int = 1) -> CountedOn:
    """The packed relations of all pairs of the rows, or of a share of them.

    When a GPU fails that was not asked for by name, as for want of memory, the cores count, and `device` says why.
    """
    told = "cpu"
    if uses_gpu(rows.codes.shape[1], device):
        card = int(os.environ.get(CARD, "0"))
        try:
            counted = gpu_evidence.all_pairs(
                rows.codes, rows.weights, rows.layout, share=share, shares=shares, card=card
            )
            return CountedOn(counted, "gpu")
        except Exception as problem:  # CuPy's own errors; it is only known where it is installed
            reason = str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__
            if device == "gpu":
                raise SessionError(
                    f"the GPU failed: {reason}.", hint="leave --device at auto to go on without."
                ) from None
            told = f"cpu, since the GPU failed: {reason}"
    counted = all_pairs(rows.codes, rows.weights, rows.layout, threads=threads, share=share, shares=shares)
    return CountedOn(counted, told)

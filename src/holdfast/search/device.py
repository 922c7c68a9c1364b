"""What counts the evidence of all pairs: the cores of this machine, or its GPU."""

from __future__ import annotations

import os
from dataclasses import dataclass

from holdfast.errors import SessionError
from holdfast.kernels import gpu_evidence
from holdfast.kernels.evidence import DEFAULT_LIMITS as COUNT_ALL
from holdfast.kernels.evidence import Counted, CountingLimits, all_pairs
from holdfast.search.coded_rows import CodedRows
from holdfast.search.limits import DEFAULT_LIMITS, SearchLimits
from holdfast.search.options import Device

# The card that a task was given, where a cluster gives cards out.
CARD = "HOLDFAST_GPU"


@dataclass(frozen=True)
class CountedOn:
    """Counted pairs, and what counted them: `cpu`, `gpu`, or `cpu` after a GPU failed, and why."""

    counted: Counted
    device: str


def uses_gpu(rows: int, device: Device, *, limits: SearchLimits = DEFAULT_LIMITS) -> bool:
    """Whether a GPU would count the pairs of so many distinct rows.

    SessionError where a GPU is asked for and there is none.
    """
    return _uses_gpu(device, worth=rows >= limits.least_gpu_rows)


def changes_on_gpu(changed: int, others: int, device: Device, *, limits: SearchLimits = DEFAULT_LIMITS) -> bool:
    """Whether a GPU would count the pairs of so many changed rows with others. SessionError as above."""
    worth = changed * (others + changed / 2) >= limits.least_gpu_pairs
    return changed > 0 and _uses_gpu(device, worth=worth)


def _uses_gpu(device: Device, *, worth: bool) -> bool:
    if device == "cpu" or (device == "auto" and not worth):
        return False
    reason = gpu_evidence.missing()
    if reason is not None and device == "gpu":
        raise SessionError(
            f"a GPU is asked for, but {reason}.",
            hint="install CuPy with pip install 'holdfast[gpu]' where there is a card, or leave --device at auto.",
        )
    return reason is None


def own_card() -> int:
    """The card that this process uses."""
    return int(os.environ.get(CARD, "0"))


def count_pairs(
    rows: CodedRows, device: Device, *, threads: int = 1, share: int = 0, shares: int = 1,
    limits: SearchLimits = DEFAULT_LIMITS, counting: CountingLimits = COUNT_ALL,
) -> CountedOn:  # fmt: skip
    """The packed relations of all pairs of the rows, or of a share of them. Raises CountingEnded where the cores count
    and `counting` ends that.

    When a GPU fails that was not asked for by name, as for want of memory, the cores count, and `device` says why.
    """
    counted_on = "cpu"
    if uses_gpu(rows.codes.shape[1], device, limits=limits):
        try:
            counted = gpu_evidence.all_pairs(
                rows.codes, rows.weights, rows.packing, share=share, shares=shares, card=own_card()
            )
            return CountedOn(counted, "gpu")
        except Exception as problem:  # CuPy's own errors; it is only known where it is installed
            reason = _reason(problem)
            if device == "gpu":
                raise gpu_failed(problem) from None
            counted_on = f"cpu, since the GPU failed: {reason}"
    counted = all_pairs(
        rows.codes, rows.weights, rows.packing, threads=threads, share=share, shares=shares, limits=counting
    )
    return CountedOn(counted, counted_on)


def gpu_failed(problem: Exception) -> SessionError:
    """The error for a GPU that was asked for by name and failed."""
    return SessionError(f"the GPU failed: {_reason(problem)}.", hint="leave --device at auto to go on without.")


def _reason(problem: Exception) -> str:
    return str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__

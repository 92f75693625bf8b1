"""Trials on this machine, one after the other or in processes that do not fight for cores and memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread

from hybrid.base.resources import available_bytes, forbid_dumps
from hybrid.comparison.schedule import Planned
from hybrid.comparison.trial import EndedTrial, Workplace, failed, run_trial

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Environment variables that set the number of threads of numerical libraries (torch too)."""
FIRST_GUESS = 1 << 30
"""Bytes a trial is taken to need before the first one has ended."""
MARGIN = 1.2
"""A trial is taken to need so many times the most that any has needed."""
POLL_SECONDS = 2.0
DIED = "the process was killed: most likely the memory did not suffice"

Result = tuple[Planned, EndedTrial]


def run_here(place: Workplace, todo: Sequence[Planned]) -> Iterator[Result]:
    """Run the trials in this process, one after the other."""
    for planned in todo:
        yield planned, run_trial(place, planned.trial)


def run_processes(place: Workplace, todo: Sequence[Planned], jobs: int) -> Iterator[Result]:
    """Run the trials in ``jobs`` processes, as far as the memory that they are likely to need is available.

    A process that dies takes the others of its pool with it: they run again, each alone; one that dies again is a
    failed row.
    """
    suspects: deque[Planned] = deque()
    remaining = deque(todo)
    while remaining or suspects:
        alone = not remaining
        queue, n = (deque([suspects.popleft()]), 1) if alone else (remaining, jobs)
        try:
            with _limited_threads(n), _pool(n) as pool:
                yield from _Run(pool, place, queue, n, suspects).results()
        except BrokenProcessPool:
            if alone:
                planned = suspects.pop()
                yield planned, EndedTrial(failed(planned.trial, DIED))


class _Run:
    """One pool at work; when it breaks, those in flight become suspects."""

    def __init__(
        self,
        pool: ProcessPoolExecutor,
        place: Workplace,
        queue: deque[Planned],
        jobs: int,
        suspects: deque[Planned],
    ) -> None:
        self.pool, self.place, self.queue, self.jobs, self.suspects = pool, place, queue, jobs, suspects
        self.flying: dict[Future[EndedTrial], Planned] = {}
        self.need = FIRST_GUESS

    def results(self) -> Iterator[Result]:
        while self.queue or self.flying:
            try:
                self._start()
                done = wait(self.flying, POLL_SECONDS, FIRST_COMPLETED).done
                for future in done:
                    ended = future.result()
                    self.need = max(self.need, int(MARGIN * ended.peak_bytes))
                    yield self.flying.pop(future), ended
            except BrokenProcessPool:
                yield from self._ended_in_time()
                self.suspects.extend(self.flying.values())
                raise

    def _start(self) -> None:
        while self.queue and len(self.flying) < self.jobs and self._fits(self.queue[0]):
            planned = self.queue.popleft()
            try:
                self.flying[self.pool.submit(run_trial, self.place, planned.trial)] = planned
            except BrokenProcessPool:
                self.queue.appendleft(planned)
                raise

    def _fits(self, planned: Planned) -> bool:
        return not self.flying or available_bytes() > max(self.need, planned.cost.memory_bytes)

    def _ended_in_time(self) -> Iterator[Result]:
        for future in [future for future in self.flying if future.done() and future.exception() is None]:
            yield self.flying.pop(future), future.result()


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    # Fresh processes: a forked one would inherit the threads of the numerical libraries in any state.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    """Begin a worker process, which holds records, and would wait for ever after the comparison is killed."""
    forbid_dumps()
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


@contextmanager
def _limited_threads(jobs: int) -> Iterator[None]:
    """Let processes that start in the block share the cores evenly; what the user has set stays."""
    cores = max(1, (os.cpu_count() or 1) // jobs)
    ours = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(ours, str(cores)))
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)

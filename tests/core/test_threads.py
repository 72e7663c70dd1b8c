import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import sqlrank
from sqlrank import _core
from sqlrank._threads import container_cpu_quota, explain_threads, resolve_threads


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    monkeypatch.delenv("SQLRANK_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    yield
    sqlrank.set_threads(None)


def test_rule_of_precedence(monkeypatch):
    machine = resolve_threads()
    assert 1 <= machine <= len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert explain_threads() == (5, "OMP_NUM_THREADS")
    monkeypatch.setenv("SQLRANK_NUM_THREADS", "4")
    assert explain_threads() == (4, "SQLRANK_NUM_THREADS")
    sqlrank.set_threads(3)
    assert explain_threads() == (3, "sqlrank.set_threads")
    assert resolve_threads(2) == 2


@pytest.mark.parametrize("bad", ["many", "0", "-1", "2.5"])
def test_bad_numbers_are_named(monkeypatch, bad):
    monkeypatch.setenv("SQLRANK_NUM_THREADS", bad)
    with pytest.raises(sqlrank.ConfigError, match="SQLRANK_NUM_THREADS is"):
        resolve_threads()


def test_container_quota(tmp_path):
    assert container_cpu_quota(tmp_path) is None
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert container_cpu_quota(tmp_path) == 1.5
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert container_cpu_quota(tmp_path) is None


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_task_runs_once(threads):
    assert _core.pool_probe(10_000, threads) == (10_000, 49_995_000)


def test_a_failing_task_raises_and_the_pool_lives_on():
    with pytest.raises(RuntimeError, match="task 3 failed"):
        _core.pool_probe(4, 2, fail_at=3)
    assert _core.pool_probe(4, 2) == (4, 6)


def test_ctrl_c_is_honoured_within_100_ms():
    def press():
        time.sleep(0.2)
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    for threads in (1, 2):
        pressed = []
        killer = threading.Thread(target=press)
        killer.start()
        with pytest.raises(KeyboardInterrupt):
            _core.pool_probe(5_000, threads, seconds_per_task=0.002)
        delay = time.perf_counter() - pressed[0]
        killer.join()
        assert delay < 0.1


def _probe_in_child(queue):
    queue.put(_core.pool_probe(100, 2))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_pool_survives_fork():
    _core.pool_probe(100, 2)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_probe_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=10) == (100, 4950)
    child.join(timeout=10)
    assert child.exitcode == 0


def test_two_python_threads_at_once():
    results = []
    workers = [threading.Thread(target=lambda: results.append(_core.pool_probe(1_000, 2))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [(1_000, 499_500)] * 4


def test_instruction_set_can_be_chosen():
    def isa_with(value):
        command = [sys.executable, "-c", "from sqlrank import _core; print(_core.isa)"]
        return subprocess.run(
            command, env={**os.environ, "SQLRANK_ISA": value}, capture_output=True, text=True, check=False
        )

    assert isa_with("baseline").stdout.strip() == "baseline"
    wrong = isa_with("v9")
    assert wrong.returncode != 0
    assert "SQLRANK_ISA is 'v9'; it can be baseline, v3 or v4" in wrong.stderr

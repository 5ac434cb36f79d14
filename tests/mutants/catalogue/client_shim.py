"""What runs in the program."""

from __future__ import annotations

from ..mutant import Mutant

MUTANTS = (
    Mutant(
        "fixes-unasked",
        "PyTorch is changed in programs that have not asked for it",
        "client_shim/known_fixes.py",
        'if _fixed or os.environ.get(VARIABLE) != "1" or not',
        "if _fixed or not",
        ("tests/unit/client_shim/test_known_fixes.py::test_only_on_request",),
    ),
    Mutant(
        "fixes-too-late",
        "the remedy for FSDP2's race waits after the buffer has been given back",
        "client_shim/known_fixes.py",
        (
            "            self.device_handle.current_stream().wait_event(result.all_gather_event)\n"
            "        finalize_backward(self)\n"
        ),
        (
            "            finalize_backward(self)\n"
            "            return self.device_handle.current_stream().wait_event(result.all_gather_event)\n"
            "        finalize_backward(self)\n"
        ),
        ("tests/unit/client_shim/test_known_fixes.py::test_the_wait_comes_first",),
    ),
    Mutant(
        "stores-of-others",
        "ranks of an agent that is not alone look for a store that the others do not know",
        "client_shim/attempt_stores.py",
        "return group.group_world_size == 1 and",
        "return",
        ("tests/unit/client_shim/test_attempt_stores.py::test_other_jobs_are_left_alone",),
    ),
    Mutant(
        "stores-not-off",
        "JITC_STORE_PER_ATTEMPT=0 turns nothing off",
        "client_shim/attempt_stores.py",
        'if os.environ.get(VARIABLE) != "0":',
        "if True:",
        ("tests/unit/client_shim/test_attempt_stores.py::test_it_can_be_turned_off",),
    ),
    Mutant(
        "stores-same",
        "a job that torchrun starts again finds what its attempt before has left",
        "client_shim/attempt_stores.py",
        "        if not first:\n",
        "        if False:\n",
        ("tests/unit/client_shim/test_attempt_stores.py::test_nothing_is_found_of_the_attempt_before",),
    ),
    Mutant(
        "late-before-code",
        "a module is changed before its own code has run, which undoes it",
        "client_shim/late_modules.py",
        "        self._loader.exec_module(module)\n        self._change(module)\n",
        "        self._change(module)\n        self._loader.exec_module(module)\n",
        ("tests/unit/client_shim/test_late_modules.py::test_before_and_after_it_is_imported",),
    ),
    Mutant(
        "late-imported",
        "a module that the program has imported already is not changed",
        "client_shim/late_modules.py",
        "        if name in sys.modules:\n            one(sys.modules[name])\n",
        "        pass\n",
        ("tests/unit/client_shim/test_late_modules.py::test_before_and_after_it_is_imported",),
    ),
    Mutant(
        "wrong-build-each",
        "each rank of a launcher prints the same line",
        "client_shim/wrong_build.py",
        "return int(rank) == 0",
        "return True",
        ("tests/unit/client_shim/test_wrong_build.py::test_one_rank_of_a_launcher_says_it",),
    ),
    Mutant(
        "wrong-build-thread",
        "a thread of a program whose native part is wrong ends silently, and the program goes on",
        "client_shim/wrong_build.py",
        "    if threading.current_thread() is not threading.main_thread():\n",
        "    if False:\n",
        ("tests/unit/client_shim/test_wrong_build.py::test_a_thread_gets_an_exception",),
    ),
    Mutant(
        "build-of-another-release",
        "a native part of another PyTorch is loaded",
        "client_shim/torch_device.py",
        "if not is_of_a_part(library) and _release(torch.__version__) != _release(built_for):",
        "if False:",
        ("tests/unit/client_shim/test_wrong_build.py::test_another_release",),
    ),
    Mutant(
        "build-of-the-same-release",
        "another build of the same PyTorch is refused",
        "client_shim/torch_device.py",
        'tuple(re.findall(r"\\d+", version)[:3])',
        'tuple(re.findall(r"\\d+", version))',
        ("tests/unit/client_shim/test_wrong_build.py::test_another_build_of_the_same_release",),
    ),
    Mutant(
        "steps-nested",
        "an optimizer within an optimizer makes two boundaries of one step",
        "client_shim/torch_device.py",
        (
            "        if mine.outermost is not None and _is_stepping(mine.outermost):\n"
            "            mine.nested = True\n"
            "            return\n"
        ),
        "",
        ("tests/unit/client_shim/test_step_hooks.py::test_a_step_inside_another_is_part_of_it",),
    ),
    Mutant(
        "steps-after-an-error",
        "after a step that raised there are no boundaries any more",
        "client_shim/torch_device.py",
        "if mine.outermost is not None and _is_stepping(mine.outermost):\n            mine.nested",
        "if mine.outermost is not None:\n            mine.nested",
        ("tests/unit/client_shim/test_step_hooks.py::test_a_step_that_raised_does_not_hide_later_ones",),
    ),
    Mutant(
        "steps-of-threads",
        "steps of two threads are taken for one",
        "client_shim/torch_device.py",
        "class _ThreadSteps(threading.local):",
        "class _ThreadSteps:",
        ("tests/unit/client_shim/test_step_hooks.py::test_steps_of_two_threads_overlap",),
    ),
    Mutant(
        "entry-point-after-failure",
        "a program that goes on without PyTorch, whose import has failed, ends with an error of jitc",
        "client_shim/without_entry_point.py",
        "if _spec_of(self.name) is self:",
        "if True:",
        ("tests/unit/client_shim/test_without_entry_point.py::test_an_import_that_fails_is_left_alone",),
    ),
)

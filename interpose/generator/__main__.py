"""``python -m jitc.interpose.generator [--check]``: writes, or compares, every generated file.

Called by: the build, developers, CI (``--check``: exit status 1 when a file is out of date). Promise: sorted,
deterministic output, written only when changed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from jitc.interpose.generator import (
    blas_visitor,
    coverage_visitor,
    device_visitor,
    dnn_visitor,
    errors_visitor,
    lt_visitor,
    messages_visitor,
    unserved_visitor,
    wrappers_visitor,
)
from jitc.ops import faults_generator, generator
from jitc.ops.options import generator as options_generator

ROOT = Path(__file__).resolve().parents[2]

#: file (from the repository's root) -> what makes its text
OUTPUTS: dict[str, Callable[[], str]] = {
    "protos/include/jitc/generated_ops.h": generator.cpp_header,
    "protos/include/jitc/generated_op_traits.h": generator.traits_header,
    "protos/include/jitc/generated_lt.h": lt_visitor.header,
    "protos/include/jitc/generated_dnn.h": dnn_visitor.header,
    "protos/include/jitc/generated_errors.h": errors_visitor.header,
    "protos/ops/generated_names.py": generator.python_module,
    "protos/include/jitc/generated_faults.h": faults_generator.header,
    "protos/ops/options/generated_fields.py": options_generator.module,
    "protos/include/jitc/generated_options.h": options_generator.header,
    "docs/cli.md": lambda: options_generator.document(faults_generator.document((ROOT / "docs/cli.md").read_text())),
    "docs/coverage.md": coverage_visitor.document,
    "interpose/api/generated/generated_blas_client.cpp": blas_visitor.client_source,
    "interpose/api/generated/generated_blas_client.h": blas_visitor.client_header,
    "interpose/api/generated/generated_dnn_client.cpp": dnn_visitor.client_source,
    "interpose/api/generated/generated_device.h": device_visitor.tables,
    "interpose/api/generated/generated_exports.map": wrappers_visitor.exports,
    "interpose/api/generated/generated_api.h": wrappers_visitor.api_header,
    "interpose/api/generated/generated_symbols.cpp": wrappers_visitor.symbols,
    "interpose/api/generated/generated_unserved.cpp": unserved_visitor.source,
    "tests/unit/interpose/api/check/generated_header_check.cpp": wrappers_visitor.header_check,
    "tests/unit/interpose/api/check/generated_header12_check.cpp": wrappers_visitor.header12_check,
    "proxy/native/device/cuda/blas/generated_blas_worker.cpp": blas_visitor.worker_table,
    "proxy/native/device/cuda/dnn/generated_dnn_worker.cpp": dnn_visitor.worker_table,
    "proxy/native/executor/control/generated_messages.h": messages_visitor.header,
    "proxy/native/executor/control/generated_messages.cpp": messages_visitor.source,
    "tests/unit/interpose/api/check/generated_lt_check.cpp": lt_visitor.check,
    "tests/unit/interpose/api/check/generated_error_check.cpp": errors_visitor.check,
    "tests/unit/interpose/api/check/generated_dnn_check.cpp": dnn_visitor.check,
    "tests/unit/interpose/api/check/generated_layout_check.cpp": partial(device_visitor.layout_check, 13),
    "tests/unit/interpose/api/check/generated_layout12_check.cpp": partial(device_visitor.layout_check, 12),
    **{
        f"interpose/api/generated/generated_{api.key}.cpp": partial(wrappers_visitor.wrappers, api)
        for api in wrappers_visitor.APIS
    },
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m jitc.interpose.generator", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 when a file is out of date")
    check = parser.parse_args(arguments).check
    stale = 0
    for name, make in sorted(OUTPUTS.items()):
        path, text = ROOT / name, make()
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        print(f"{'out of date' if check else 'wrote'}: {name}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""Settings from the command line, the environment and a file: which one counts, and what is wrong with a value."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest
from option_rig import other_value

from jitc.ops.options.table import OPTIONS
from jitc.proxy.commands import jitc, proxyd
from jitc.proxy.commands.options import CommandError
from jitc.proxy.commands.settings.resolve import given
from jitc.proxy.commands.settings.service import configured, device_words, resolve_device_options
from jitc.proxy.commands.settings.setting import BY_NAME, DEVICE_SETTINGS, SERVICE_SETTINGS, Setting
from jitc.proxy.common.config import Config

#: Spare GPUs need others beside them.
OF_OPTIONS = [one for one in DEVICE_SETTINGS if one.name not in ("device", "spare-gpus")]


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*(one.variable for one in SERVICE_SETTINGS), "JITC_CONFIG"]:
        monkeypatch.delenv(name, raising=False)


def resolved(*words: str) -> argparse.Namespace:
    arguments = proxyd.parser().parse_args(words)
    resolve_device_options(arguments, SERVICE_SETTINGS)
    return arguments


def config(*words: str) -> Config:
    return Config("s", **configured(resolved(*words)))


def device_of(setting: Setting) -> str:
    option = next(one for one in OPTIONS if one.name == setting.name)
    return option.devices[0] if option.devices else "software"


def value_of(setting: Setting, folder: Path) -> str:
    option = next(one for one in OPTIONS if one.name == setting.name)
    return other_value(option, folder)


def file_with(folder: Path, *lines: str) -> str:
    path = folder / "jitc.toml"
    path.write_text("\n".join(lines))
    return str(path)


def mistake(*words: str) -> str:
    with pytest.raises(CommandError) as caught:
        resolved(*words)
    assert caught.value.code == 2
    return str(caught.value)


@pytest.mark.parametrize("setting", OF_OPTIONS, ids=lambda one: one.name)
def test_each_option_means_the_same_in_each_place(
    setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, value = device_of(setting), value_of(setting, tmp_path)
    said = config("--device", device, f"--{setting.name}", *([value] if value else []))
    assert said != config("--device", device)
    path = file_with(tmp_path, f'device = "{device}"', f"{setting.name} = " + (f'"{value}"' if value else "true"))
    assert config("--config", path) == said
    monkeypatch.setenv("JITC_CONFIG", path)
    assert config() == said
    monkeypatch.delenv("JITC_CONFIG")
    monkeypatch.setenv(setting.variable, value or "yes")
    monkeypatch.setenv("JITC_DEVICE", device)
    assert config() == said
    monkeypatch.setenv(setting.variable, "")
    assert config() == config("--device", device)


def test_the_command_line_counts_before_the_environment_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_with(tmp_path, "gpus = 2", "noise = 5", "check-order = true", "hang-seconds = 0.5", "overhead = 3")
    monkeypatch.setenv("JITC_GPUS", "3")
    monkeypatch.setenv("JITC_HANG_SECONDS", "7")
    one = config("--config", path, "--gpus", "4", "--no-check-order")
    assert (one.gpus, one.noise, one.check_order, one.hang_seconds) == (4, 5, False, 7.0)
    assert one.reserve_share == pytest.approx(0.0135)


def test_a_service_that_is_started_with_the_words_hears_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_with(tmp_path, "gpus = 2", "spares = 1", "check-order = true", "validate-budget = 0.00001")
    monkeypatch.setenv("JITC_JOURNAL_LIMIT", "64MiB")
    chosen = resolved("--config", path, "--pinned-limit", "0", "--hang-seconds", "1000000")
    words = device_words(chosen)
    monkeypatch.setenv("JITC_CONFIG", file_with(tmp_path, "gpus = 9", "shuffle = 3", "heal-replicas = true"))
    monkeypatch.setenv("JITC_JOURNAL_LIMIT", "65MiB")
    monkeypatch.setenv("JITC_SPARES", "7")
    monkeypatch.setenv("JITC_GPUS", "no number")
    assert configured(resolved(*words)) == configured(chosen)


def test_who_looks_at_single_settings_reads_the_file_once(tmp_path: Path) -> None:
    environment = {"JITC_CONFIG": file_with(tmp_path, "spill-limit = 0", "device = 'software'")}
    assert given(BY_NAME["spill-limit"], environment) == "0"
    Path(environment["JITC_CONFIG"]).unlink()
    assert given(BY_NAME["device"], environment) == "software" and given(BY_NAME["gpus"], environment) == ""
    assert given(BY_NAME["device"], environment | {"JITC_DEVICE": "cuda"}) == "cuda"


def test_paths_in_a_file_begin_at_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spilled").mkdir()
    path = file_with(tmp_path, 'spill-dir = "spilled"', 'socket = "run/s"')
    monkeypatch.chdir("/")
    found = resolved("--config", path)
    assert (found.spill_dir, found.socket) == (str(tmp_path / "spilled"), str(tmp_path / "run" / "s"))


# -- mistakes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("gpu = 2", "there is no option 'gpu'; did you mean gpus?"),
        ("memory_limit = 2", "there is no option 'memory_limit'; did you mean memory-limit?"),
        ("[devices]\ngpus = 2", "there is no option 'devices', and no tables: options stand side by side"),
        ("gpus = 0", "gpus: '0' is not a whole number from 1 to 64"),
        ("gpus = true", "gpus is no text and no number; write it like gpus = 2"),
        ("gpus = [2]", "gpus is no text and no number"),
        ("gpus = 2.5", "gpus: '2.5' is not a whole number"),
        ("check-order = 1", "check-order is true or false"),
        ("check-order = 'yes'", "check-order is true or false"),
        ("device = 'gpu'", "device: 'gpu' is none of software, cuda"),
        ("hang-seconds = inf", "hang-seconds: 'inf' is not a number of seconds"),
        ("memory-limit = '1PiB'", "memory-limit: '1PiB' is not a size like 1.5GiB"),
        ("gpus = 1\ngpus = 2", "is not TOML: Cannot overwrite a value (at end of document)"),
        ("gpus", "is not TOML"),
        ("spill-dir = ''", "spill-dir: '' is no folder"),
        ("socket = '/tmp/'", "socket: '/tmp/' is no path of a socket"),
        ("a = " + "[" * 5000, "is not TOML"),
        ("x" * (1 << 20) + " = 1", "has more than 1048576 bytes"),
        ("nccl = '/nowhere'", "nccl: '/nowhere': there is no such file"),
        ("noise = 3\ndevice = 'cuda'", "noise ("),
    ],
    ids=lambda one: one[:30],
)  # fmt: skip
def test_a_broken_file(line: str, said: str, tmp_path: Path) -> None:
    path = file_with(tmp_path, line)
    text = mistake("--config", path)
    assert said in text and path in text


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "No such file" in mistake("--config", str(tmp_path / "none"))
    assert "is no file" in mistake("--config", str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    assert "is no file" in mistake("--config", str(tmp_path / "pipe"))
    (tmp_path / "bytes").write_bytes(b"gpus = '\xff'")
    assert "no text in UTF-8" in mistake("--config", str(tmp_path / "bytes"))


def test_a_wrong_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITC_GPUS", "two")
    assert mistake() == "JITC_GPUS: 'two' is not a whole number from 1 to 64"
    assert mistake("--gpus", "2").startswith("JITC_GPUS: "), "what is overridden has to be right too"
    monkeypatch.setenv("JITC_GPUS", "2")
    monkeypatch.setenv("JITC_SHUFFLE", "1")
    assert mistake("--device", "cuda") == "JITC_SHUFFLE goes with --device software"
    monkeypatch.delenv("JITC_SHUFFLE")
    monkeypatch.setenv("JITC_CHECK_ORDER", "maybe")
    assert mistake() == "JITC_CHECK_ORDER: 'maybe' is none of 1, true, yes, on, 0, false, no, off"


@pytest.mark.parametrize("command", [proxyd, jitc], ids=["jitc-proxyd", "jitc run"])
def test_a_mistake_is_one_line(
    command: object, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [] if command is proxyd else ["run", "--", "true"]
    monkeypatch.setenv("JITC_CONFIG", file_with(tmp_path, "gpu = 2"))
    assert getattr(command, "main")(words) == 2  # noqa: B009
    said = capsys.readouterr()
    name = "jitc-proxyd" if command is proxyd else "jitc"
    expected = f"{name}: {tmp_path}/jitc.toml: there is no option 'gpu'; did you mean gpus?\n"
    assert (said.out, said.err) == ("", expected)


# -- what is printed -------------------------------------------------------------------------------------


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert proxyd.main(["--print-config", *words]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_what_is_printed_says_where_each_value_comes_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_with(tmp_path, "gpus = 2", "spares = 3", "noise = 9")
    monkeypatch.setenv("JITC_GPUS", "4")
    monkeypatch.setenv("JITC_RESPAWN", "yes")
    monkeypatch.setenv("JITC_NOISE", "8")
    text = printed(capsys, "--config", path, "--noise", "7", "--socket", "/run/x/s")
    lines = {line.partition(" = ")[0]: " ".join(line.partition(" = ")[2].split()) for line in text.splitlines()}
    assert lines["gpus"] == f"4 # JITC_GPUS, over {path}"
    assert lines["spares"] == f"3 # {path}"
    assert lines["noise"] == f"7 # command line, over environment and {path}"
    assert lines["respawn"] == "true # JITC_RESPAWN"
    assert lines["socket"] == '"/run/x/s" # command line'
    assert lines["images-limit"] == '"4GiB" # default'
    assert [one for one in SERVICE_SETTINGS if f"{one.name} = " not in text and f"# {one.name} " not in text] == []


@pytest.mark.parametrize("setting", OF_OPTIONS, ids=lambda one: one.name)
def test_what_is_printed_can_be_read(
    setting: Setting, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    value = value_of(setting, tmp_path)
    words = ["--device", device_of(setting), f"--{setting.name}", *([value] if value else [])]
    text = printed(capsys, *words)
    assert config("--config", file_with(tmp_path, text)) == config(*words)


def test_names_that_no_text_can_have_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a\nb\udcff"
    folder.mkdir()
    path = file_with(folder, "gpus = 2")
    text = printed(capsys, "--config", path, "--spill-dir", str(folder))
    (line,) = [one for one in text.splitlines() if one.startswith("gpus = 2")]
    assert "a\\nb\\udcff" in line and "spill-dir = " in text


def test_it_is_printed_without_a_service_and_to_a_closed_pipe(tmp_path: Path) -> None:
    command = f"{sys.executable} -m jitc.proxy.commands.proxyd --print-config --socket {tmp_path}/s"
    shell = ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(shell, check=False, capture_output=True, timeout=60)
    assert done.stderr == b"" and done.returncode in (0, 1)
    assert list(tmp_path.iterdir()) == []

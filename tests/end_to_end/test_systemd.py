"""The units of docker/ under systemd, with the whole sandbox: a training job loses workers and services, and is
identical.

systemd is the first process of a container (toolkit.systemd). The drop-in for software GPUs is installed; what the unit
has for NVIDIA's alone, devices and their network, is not tried here.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator

import pytest
from toolkit.containers import OUT, SOCKET, Podman, private_podman
from toolkit.etcd import program as etcd_program
from toolkit.etcd import why_not as why_no_etcd
from toolkit.fakes import fake_library, fake_system
from toolkit.job import PRELOAD, ROOT, Script
from toolkit.jobs import JOBS
from toolkit.record import Record, assert_identical, read_records
from toolkit.systemd import (
    DEVICE,
    DOCKER,
    SOCKET_UNIT,
    UNIT,
    USER,
    Machine,
    Program,
    Steps,
    several_users,
    socket_unit,
    software,
    why_not,
)
from toolkit.waiting import patient, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "systemd"),
]
Reference = Callable[[Script, str], list[Record]]
STEPS = 12
SCRIPT = JOBS["gpt"].with_arguments("--steps", str(STEPS))
#: Folders that the service can write to; the first three must outlive it.
WRITABLE = ("/run/jitc", "/var/cache/jitc/spill", "/var/cache/jitc/tmp", "/tmp", "/var/tmp", "/dev/shm")
#: A file cannot be made in these.
CLOSED = ("/etc/jitc", "/usr", "/opt", "/var/lib", "/sys/fs/cgroup", "/proc/sys/kernel", "/var/cache")
WATCHDOG_SECONDS = 15
TRAINING = ROOT / "tests/end_to_end/cuda_training.py"
#: Users of a service that several share, by name: two who may use it, and one who may not.
BEA, CEM, DAN = 2001, 2002, 2003
#: Of a cluster in the machine: another node, without a sandbox; the addresses of etcd and of both nodes.
OTHER = "/run/n1/proxyd.sock"
ETCD, PEERS = "127.0.0.1:2379", ("127.0.0.1:7431", "127.0.0.1:7441")
#: Two ranks, one on each of these sockets. The status is that of a rank that has failed.
RANKS = """
export WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500
JITC_SOCKET=$1 RANK=0 "$3" "$4" $5 & first=$!
JITC_SOCKET=$2 RANK=1 "$3" "$4" $5 && wait $first
"""
#: Their capabilities, by number: to change owners, to pass over modes, to send signals, to become another user.
CHOWN, ROOTS = 1 << 0, 1 << 1 | 1 << 5 | 1 << 6 | 1 << 7


@pytest.fixture
def podman() -> Iterator[Podman]:
    with private_podman("jitc-systemd-") as one:
        yield one


@pytest.fixture
def boot(podman: Podman) -> Iterator[Callable[..., Machine]]:
    """Starts a machine with the service. more: a drop-in that changes the unit; prepare: changes the machine before."""
    machines: list[Machine] = []

    def start(more: str = "", prepare: Callable[[Machine], None] = lambda machine: None) -> Machine:
        machines.append(Machine(podman, {"60-software.conf": software(), "70-test.conf": f"[Service]\n{more}\n"}))
        prepare(machines[-1])
        machines[-1].start()
        return machines[-1]

    yield start
    for machine in machines:
        print(machine.journal()[-6000:])


def kill_worker(machine: Machine, rank: int, user: int = 0) -> None:
    """A worker is lost and recovered; the one in its place works."""
    before = machine.lost_workers(user)
    machine.execute("sh", "-c", f"kill -9 {machine.workers(user)[rank]}")
    until(lambda: machine.lost_workers(user) == before + 1, 60, "the recovery is over")


def another(machine: Machine, before: int, seconds: float = 60, user: int = 0) -> int:
    """Waits for the service that follows this one, which has taken over the sessions."""
    until(lambda: machine.is_another(before), seconds, "the next service is ready")
    assert len(machine.workers(user)) == SCRIPT.ranks
    return machine.main_pid()


def keeper(machine: Machine) -> int:
    return int(machine.execute("pgrep", "-f", "jitc.proxy.keeper --socket"))


def test_the_sandbox(boot: Callable[..., Machine]) -> None:
    """Service, keeper and workers are in it, and systemd has left nothing of it out."""
    machine = boot()
    service = machine.main_pid()
    processes = [int(one) for one in machine.execute("pgrep", "-f", "jitc.proxy|jitc-proxyd").split()]
    assert service in processes and len(processes) >= 5, processes
    for pid in processes:
        assert machine.of_process(pid, "Seccomp") == "2"
        assert machine.of_process(pid, "NoNewPrivs") == "1"
        assert {machine.of_process(pid, f"Cap{kind}") for kind in ("Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
        for kind in ("mnt", "net", "user", "uts"):
            assert machine.namespace(pid, kind) == machine.namespace(service, kind) != machine.namespace(1, kind)
    for folder in WRITABLE:
        assert machine.inside(service, f"touch {folder}/x && rm {folder}/x") == "", folder
    for folder in CLOSED:
        assert machine.inside(service, f"touch {folder}/x") != "", folder
    assert machine.inside(service, "ls /home; ls /dev | grep -E '^(kmsg|mem|sd|vd)'") == ""
    assert "hidepid=invisible" in machine.execute("grep", " /proc ", f"/proc/{service}/mountinfo").splitlines()[-1]
    assert "not supported" not in machine.journal() and "ignoring" not in machine.journal(), machine.journal()
    machine.systemctl("stop", UNIT)
    assert machine.property("Result") == "success"
    assert machine.execute("ls", "-A", "/run/jitc", "/var/cache/jitc/spill", "/var/cache/jitc/tmp").split("\n\n") == [
        "/run/jitc:", "/var/cache/jitc/spill:", "/var/cache/jitc/tmp:",
    ]  # fmt: skip


def test_a_worker_is_killed(boot: Callable[..., Machine], podman: Podman, reference: Reference) -> None:
    machine = boot()
    program = Program(machine, podman, SCRIPT)
    program.goes_to(3)
    kill_worker(machine, 1)
    program.goes_to(6)
    kill_worker(machine, 0)
    assert_identical(program.finish(STEPS), reference(SCRIPT, "cuda"))
    assert machine.property("NRestarts") == "0"


@pytest.mark.parametrize("user", [0, USER])
def test_the_service_is_killed(user: int, boot: Callable[..., Machine], podman: Podman, reference: Reference) -> None:
    """The next one is in a sandbox of its own, and its workers come from the keeper's. user: with User=, or root."""
    machine = boot(f"User={user}" if user else "")
    service, holder = machine.main_pid(), keeper(machine)
    program = Program(machine, podman, SCRIPT, user, SOCKET)
    program.goes_to(3)
    for step in (5, 7):
        machine.kill("SIGKILL")
        service = another(machine, service, user=user)
        assert keeper(machine) == holder
        assert machine.namespace(holder, "mnt") != machine.namespace(service, "mnt")
        for folder in WRITABLE[:3]:
            assert machine.inside(holder, f"touch {folder}/x && rm {folder}/x") == "", folder
        program.goes_to(step)
        kill_worker(machine, step % 2, user)
    machine.execute("sh", "-c", f"kill -9 {machine.main_pid()} {machine.workers(user)[0]}")
    another(machine, service, user=user)
    assert_identical(program.finish(STEPS), reference(SCRIPT, "cuda"))
    assert machine.property("NRestarts") == "3"


@pytest.mark.parametrize("user", [0, USER])
def test_the_keeper_is_killed(user: int, boot: Callable[..., Machine], podman: Podman, reference: Reference) -> None:
    """Alone: the service goes on in the same process; with the service: the next one has it all from systemd."""
    machine = boot(f"User={user}" if user else "")
    service, holder = machine.main_pid(), keeper(machine)
    program = Program(machine, podman, SCRIPT, user, SOCKET)
    program.goes_to(3)
    assert int(machine.property("NFileDescriptorStore")) >= 2 * 4 + 2  # of each session, and the board and the log
    machine.execute("kill", "-9", str(holder))
    program.goes_to(5)
    assert machine.main_pid() == service and keeper(machine) != holder
    machine.execute("kill", "-9", str(keeper(machine)), str(service))
    another(machine, service, user=user)
    program.goes_to(7)
    kill_worker(machine, 1, user)
    assert_identical(program.finish(STEPS), reference(SCRIPT, "cuda"))
    assert machine.property("NRestarts") == "1"
    machine.systemctl("stop", UNIT)
    assert machine.property("NFileDescriptorStore") == "0"
    assert machine.execute("ls", "-A", "/run/jitc") == ""


def test_a_service_that_stands_still(boot: Callable[..., Machine], podman: Podman, reference: Reference) -> None:
    """The watchdog ends it, and the next one takes over."""
    machine = boot(f"WatchdogSec={WATCHDOG_SECONDS}")
    service = machine.main_pid()
    program = Program(machine, podman, SCRIPT)
    program.goes_to(3)
    machine.kill("SIGSTOP")
    another(machine, service, 60 + 2 * WATCHDOG_SECONDS)
    assert "Watchdog timeout" in machine.journal()
    program.goes_to(6)
    kill_worker(machine, 1)
    assert_identical(program.finish(STEPS), reference(SCRIPT, "cuda"))


def test_it_is_stopped(boot: Callable[..., Machine], podman: Podman, reference: Reference) -> None:
    """The service serves the job to its end, and takes no other."""
    machine = boot()
    program = Program(machine, podman, SCRIPT)
    program.goes_to(3)
    machine.systemctl("stop", "--no-block", UNIT)
    until(lambda: "2 sessions are still alive and will be served to their end" in machine.journal(), 30, "it says so")
    assert machine.property("ActiveState") == "deactivating"
    program.goes_to(6)
    assert_identical(program.finish(STEPS), reference(SCRIPT, "cuda"))
    until(lambda: machine.property("ActiveState") == "inactive", 60, "it has ended")
    assert machine.property("Result") == "success"
    assert machine.execute("ls", "-A", "/run/jitc") == ""


def test_it_is_started_again_before_the_job_has_ended(
    boot: Callable[..., Machine], podman: Podman, reference: Reference
) -> None:
    """systemd kills it after TimeoutStopSec=; so `systemctl restart` changes the service under a job."""
    machine = boot("TimeoutStopSec=3")
    service, holder = machine.main_pid(), keeper(machine)
    program = Program(machine, podman, SCRIPT)
    program.goes_to(3)
    machine.systemctl("restart", UNIT)
    another(machine, service)
    assert keeper(machine) == holder
    for folder in WRITABLE[:3]:
        assert machine.inside(holder, f"touch {folder}/x && rm {folder}/x") == "", folder
    program.goes_to(6)
    kill_worker(machine, 1)
    assert_identical(program.finish(STEPS), reference(SCRIPT, "cuda"))


def test_it_reads_its_options_again(boot: Callable[..., Machine], podman: Podman, reference: Reference) -> None:
    machine = boot()
    service = machine.main_pid()
    program = Program(machine, podman, SCRIPT)
    program.goes_to(3)
    machine.configure("gpus = 2\nhang-seconds = 100\n")
    machine.systemctl("reload", UNIT)
    until(lambda: machine.journal().count("jitc-proxyd ready") == 2, 60, "it has begun anew")
    until(lambda: machine.property("ActiveState") == "active", 30, "systemd knows")
    assert machine.main_pid() == service and machine.property("NRestarts") == "0"
    program.goes_to(5)
    machine.configure("gpus = two\n")
    machine.systemctl("reload", UNIT)
    until(lambda: "options stay as they are" in machine.journal(), 30, "it refuses them")
    kill_worker(machine, 1)
    assert_identical(program.finish(STEPS), reference(SCRIPT, "cuda"))
    assert machine.main_pid() == service


def test_a_socket_that_the_service_does_not_make(podman: Podman, reference: Reference) -> None:
    """It finds the socket of systemd's, which stays when the service is killed or stopped; its end is the service's."""
    machine = Machine(podman, {"60-software.conf": software()})
    machine.install(SOCKET_UNIT, socket_unit())
    machine.systemctl("daemon-reload")
    machine.systemctl("start", SOCKET_UNIT)
    made = machine.execute("stat", "-c", "%i %U %a", SOCKET)
    assert made.endswith(" root 600") and machine.property("ActiveState") == "inactive"
    program = Program(machine, podman, SCRIPT, name="first")
    program.goes_to(3)
    service, holder = machine.main_pid(), keeper(machine)
    machine.kill("SIGKILL")
    another(machine, service)
    assert keeper(machine) == holder
    kill_worker(machine, 1)
    program.goes_to(6)
    kill_worker(machine, 0)
    assert_identical(program.finish(STEPS), reference(SCRIPT, "cuda"))
    machine.systemctl("stop", UNIT)
    assert machine.property("Result") == "success" and machine.property("ActiveState", SOCKET_UNIT) == "active"
    assert machine.execute("ls", "-A", "/run/jitc") == "proxyd.sock"
    program = Program(machine, podman, SCRIPT, name="second")
    program.goes_to(3)
    assert machine.main_pid() and machine.execute("stat", "-c", "%i %U %a", SOCKET) == made
    machine.systemctl("stop", "--no-block", SOCKET_UNIT)
    until(lambda: "2 sessions are still alive and will be served to their end" in machine.journal(), 30, "it says so")
    kill_worker(machine, 0)
    assert_identical(program.finish(STEPS), reference(SCRIPT, "cuda"))
    until(lambda: machine.property("ActiveState", SOCKET_UNIT) == "inactive", 60, "it has ended")
    assert machine.property("Result") == "success"
    assert machine.execute("ls", "-A", "/run/jitc") == ""


def drop_in(comment: str) -> str:
    """Returns the drop-in that the socket's unit offers after a comment."""
    lines = re.search(rf"^# {comment}.*\n((?:#\w+=.*\n)+)", socket_unit(), flags=re.MULTILINE)
    assert lines is not None
    return "[Socket]\n" + lines[1].replace("#", "").replace("training", "ann")


@pytest.mark.parametrize("kind", ["user", "users", "manager"])
def test_who_may_begin_before_the_service(kind: str, podman: Podman) -> None:
    """With User=; one of several users; in a user's own manager."""
    user = BEA if kind == "users" else USER
    machine = Machine(podman, {"60-software.conf": software()})
    if kind == "manager":
        machine.install(UNIT, (DOCKER / "jitc-proxyd-user.service").read_text(), "user")
        machine.install(SOCKET_UNIT, socket_unit(), "user")
        machine.configure_user("gpus = 2\n")
        machine.systemctl("start", "user-manager.service")
        control, place, mode = machine.of_user, f"/run/user/{USER}/jitc/proxyd.sock", "700"
    else:
        machine.install(SOCKET_UNIT, socket_unit())
        if kind == "users":
            share(machine)
            machine.install(f"{SOCKET_UNIT}.d/users.conf", drop_in("With jitc-proxyd-users.conf:"))
        else:
            machine.install(f"{UNIT}.d/70-test.conf", f"[Service]\nUser={USER}\n")
            machine.install(f"{SOCKET_UNIT}.d/user.conf", drop_in("With User="))
        machine.systemctl("daemon-reload")
        control, place, mode = machine.systemctl, SOCKET, "755" if kind == "users" else "700"
    control("start", SOCKET_UNIT)
    made = machine.as_user("stat", "-c", "%i %U %a", place, user=user)
    for _ in range(2):
        assert control("show", "-P", "ActiveState", UNIT) == "inactive"
        said = machine.as_user("jitc", "status", "--socket", place, user=user)
        assert "GPU 1" in said
        until(lambda: control("show", "-P", "ActiveState", UNIT) == "active", 60, "it has started")
        assert machine.as_user("stat", "-c", "%i %U %a", place, user=user) == made
        assert machine.execute("stat", "-c", "%a", os.path.dirname(place)) == mode
        control("stop", UNIT)
    control("stop", SOCKET_UNIT)
    assert machine.execute("ls", "-A", os.path.dirname(place)) == ""


def test_a_service_that_cannot_start_ends_its_socket(podman: Podman) -> None:
    """A program that waits would have systemd try for ever."""
    machine = Machine(podman, {"60-software.conf": software()})
    machine.install(SOCKET_UNIT, socket_unit())
    machine.configure("gpus = two\n")
    machine.systemctl("daemon-reload")
    machine.systemctl("start", SOCKET_UNIT)
    said = machine.execute("sh", "-c", f"jitc status --socket {SOCKET} 2>&1", check=False)
    assert len(said.splitlines()) == 1, said
    print(said)
    until(lambda: machine.property("ActiveState", SOCKET_UNIT) == "failed", 60, "systemd gives up")
    assert machine.property("Result", SOCKET_UNIT) == "service-start-limit-hit"
    assert machine.execute("ls", "-A", "/run/jitc") == ""
    assert machine.journal().count("gpus") == 5


def test_a_wrong_option_is_not_tried_again(boot: Callable[..., Machine]) -> None:
    machine = boot()
    machine.configure("gpus = two\n")
    machine.systemctl("restart", UNIT, check=False)
    assert machine.property("Result") == "exit-code" and machine.property("NRestarts") == "0"


def test_the_unit_for_cuda_on_a_fake_driver(podman: Podman) -> None:
    """Nothing of the driver's own calls is tried by that; all that jitc itself does is."""
    drivers = podman.out.parent / "drivers"
    drivers.mkdir()
    wanted = fake_system(drivers, {}, DEVICES="1", VARIABLES="fixed")
    wanted |= {"LD_LIBRARY_PATH": f"{OUT}/drivers", "JITC_FAKE_CUDA": f"{OUT}/drivers/libcuda.so.1"}
    drivers.rename(podman.out / "drivers")
    libraries = {f"JITC_{name.upper()}": str(fake_library(name)) for name in ("nccl", "cublas", "cublaslt", "nvrtc")}
    variables = " ".join(f"{name}={value}" for name, value in {**wanted, **libraries}.items())
    machine = Machine(podman, {"70-test.conf": f"[Service]\nEnvironment={variables}\n"})
    machine.configure("gpus = 1\n")
    machine.start()

    def trains(faults: dict[int, Callable[[], None]]) -> list[str]:
        program = Steps(machine, podman, TRAINING, 0, env=wanted)
        lines = []
        for step in range(STEPS):
            lines.append(program.step())
            faults.get(step, lambda: None)()
        assert program.finish() == 0
        return lines

    def kill_service() -> None:
        service = machine.main_pid()
        machine.kill("SIGKILL")
        until(lambda: machine.is_another(service), 60, "the next service is ready")

    opens = f": < {DEVICE}"
    if os.path.exists(DEVICE):
        assert machine.execute("sh", "-c", opens) == "" and "not permitted" in machine.in_group(opens)
    expected = trains({})
    assert len(set(expected)) == STEPS
    assert trains({3: lambda: kill_worker(machine, 0), 5: kill_service, 7: lambda: kill_worker(machine, 0)}) == expected
    for pid in machine.execute("pgrep", "-f", "jitc.proxy.worker").split():
        assert machine.execute("cat", f"/proc/{pid}/personality") == "00040000", "all have the same layout of memory"
        assert machine.of_process(int(pid), "Seccomp") == "2"


@pytest.mark.parametrize("with_namespaces", [False, True])
def test_the_unit_of_a_user(with_namespaces: bool, podman: Podman, reference: Reference) -> None:
    """Without root, in the user's own manager; with_namespaces: with the directives that its comments offer."""
    machine = Machine(podman, {})
    text = (DOCKER / "jitc-proxyd-user.service").read_text()
    offered = re.sub(r"^#(?=[A-Z]\w+=)", "", text, flags=re.MULTILINE)
    machine.install(UNIT, offered if with_namespaces else text, "user")
    machine.configure_user("gpus = 2\n")
    machine.systemctl("start", "user-manager.service")
    machine.of_user("start", UNIT)
    service = int(machine.of_user("show", "-P", "MainPID", UNIT))
    for name, value in {"Seccomp": "2", "NoNewPrivs": "1", "CapEff": "0" * 16, "CapPrm": "0" * 16}.items():
        assert machine.of_process(service, name) == value
    for kind in ("mnt", "net", "user"):
        assert (machine.namespace(service, kind) != machine.namespace(1, kind)) == with_namespaces
    program = Program(machine, podman, SCRIPT, USER, f"/run/user/{USER}/jitc/proxyd.sock")
    program.goes_to(3)
    machine.of_user("kill", "--kill-whom=main", "--signal=SIGKILL", UNIT)
    until(lambda: machine.of_user("show", "-P", "NRestarts,ActiveState", UNIT) == "1\nactive", 60, "the next one")
    program.goes_to(6)
    assert_identical(program.finish(STEPS), reference(SCRIPT, "cuda"))


def share(machine: Machine) -> None:
    """Makes users, and lets two of them use the service."""
    machine.execute("/usr/sbin/groupadd", "training")
    machine.add_user("bea", BEA)
    machine.add_user("cem", CEM, "--groups", "training")
    machine.add_user("dan", DAN)
    machine.install(f"{UNIT}.d/65-users.conf", several_users())
    machine.configure('gpus = 2\nusers = "bea,@training"\n')
    machine.systemctl("daemon-reload")


def test_it_serves_several_users(boot: Callable[..., Machine], podman: Podman, reference: Reference) -> None:
    """Two at once, of whom one loses a worker; then the service is killed as well."""
    machine = boot(prepare=share)
    service = machine.main_pid()
    capabilities = {service: CHOWN | ROOTS, keeper(machine): ROOTS}
    programs = {user: Program(machine, podman, SCRIPT, user, name=str(user)) for user in (BEA, CEM)}
    for one in programs.values():
        one.pace.grant(3)
    for one in programs.values():
        one.goes_to(3)
    for user, name in ((BEA, "bea"), (CEM, "cem")):
        workers = machine.workers(user)
        assert len(workers) == SCRIPT.ranks, "a user sees the own ones"
        capabilities |= dict.fromkeys(workers, 0)
        for pid in workers:
            assert machine.execute("ps", "-o", "user=", "-p", str(pid)) == name
    assert len(machine.workers()) == 2 * SCRIPT.ranks, "root sees all"
    for pid, those in capabilities.items():
        assert [machine.of_process(pid, one) for one in ("Seccomp", "NoNewPrivs")] == ["2", "1"]
        assert {int(machine.of_process(pid, f"Cap{one}"), 16) for one in ("Prm", "Eff")} == {those}
    said = machine.as_user("sh", "-c", "jitc status 2>&1", user=DAN, check=False)
    assert "this user may not use this jitc-proxyd" in said and "(--users)" in said, said
    machine.configure('gpus = 2\nusers = "bea,@training,dan"\n')
    machine.systemctl("reload", UNIT)
    until(lambda: machine.journal().count("jitc-proxyd ready") == 2, 60, "it has begun anew")
    assert machine.workers(DAN) == [], "this user is served now, and has none"
    kill_worker(machine, 1, BEA)
    programs[BEA].goes_to(6)
    programs[CEM].goes_to(6)
    machine.kill("SIGKILL")
    another(machine, service, user=CEM)
    kill_worker(machine, 0, CEM)
    assert (machine.lost_workers(BEA), machine.lost_workers(CEM)) == (1, 1)
    for one in programs.values():
        one.pace.grant(STEPS)
    for one in programs.values():
        assert_identical(one.finish(STEPS), reference(SCRIPT, "cuda"))
    assert machine.property("NRestarts") == "1"
    machine.systemctl("stop", UNIT)
    assert machine.execute("ls", "-A", "/run/jitc") == "", "folders of users are gone, too"


def join(machine: Machine) -> None:
    """Makes the machine a node of a cluster, by the commands of docker/README.md."""
    machine.install(f"{UNIT}.d/z-cluster.conf", (DOCKER / "jitc-proxyd-cluster.conf").read_text())
    threads = max(1, len(os.sched_getaffinity(0)) // 2)  # as the reference has them
    machine.configure(f"gpus = 1\nthreads = {threads}\n")
    lines = (f"JITC_CLUSTER=etcd://{ETCD}", f"JITC_PEER_ADDRESS={PEERS[0]}", "JITC_NODE=n0")
    machine.execute("sh", "-c", f"printf '%s\\n' {' '.join(lines)} > /etc/jitc/cluster.env")
    machine.execute("jitc", "cluster", "init")
    for one in ("n0", "n1"):
        machine.execute("jitc", "cluster", "add", one)
    machine.execute("cp", "-r", "/etc/jitc/cluster/nodes/n0", "/etc/jitc/peer")
    machine.systemctl("daemon-reload")


@pytest.mark.skipif(bool(why_no_etcd()), reason=why_no_etcd() or "etcd")
def test_a_node_of_a_cluster(boot: Callable[..., Machine], podman: Podman, reference: Reference) -> None:
    """Store, other nodes and their bridges get through the sandbox of a node: a job has a rank there and one on a node
    that has none, and loses a worker of each. Then the service is killed, and is the same node again."""
    urls = ["--listen-client-urls", f"http://{ETCD}", "--advertise-client-urls", f"http://{ETCD}"]

    def prepare(machine: Machine) -> None:
        join(machine)
        podman.run("exec", "-d", machine.container.name, str(etcd_program()), "--data-dir", "/tmp/etcd", *urls)

    machine = boot(prepare=prepare)
    options = machine.execute("grep", "threads", "/etc/jitc/jitc.toml").split()[-1]
    words = ["--device", "software", "--gpus", "1", "--threads", options, "--cluster", f"etcd://{ETCD}", "--node", "n1"]
    words += ["--peer-address", PEERS[1], "--peer-certificates", "/etc/jitc/cluster/nodes/n1", "--socket", OTHER]
    machine.execute("mkdir", "/run/n1")
    podman.run("exec", "-d", machine.container.name, "jitc-proxyd", *words)
    until(lambda: "GPU 0" in machine.execute("jitc", "status", "--socket", OTHER, check=False), 60, "n1 serves")
    assert machine.namespace(machine.main_pid(), "net") == machine.namespace(1, "net")
    arguments = " ".join(["--device", "cuda", *SCRIPT.arguments, "--json", f"{OUT}/record.json"])
    program = ["sh", "-c", RANKS, "sh", SOCKET, OTHER, sys.executable, str(ROOT / "examples" / SCRIPT.name), arguments]

    def trains() -> None:
        for number, socket in enumerate((SOCKET, OTHER)):
            at = f"boundary={3 + 4 * number},phase=backward"
            machine.execute("jitc", "inject", "kill-worker", "--gpu", "0", "--at", at, "--socket", socket)
        variables = ("-e", f"LD_PRELOAD={PRELOAD}", "-e", "OMP_NUM_THREADS=1")
        podman.run("exec", *variables, machine.container.name, *program, seconds=patient(150))
        assert_identical(read_records(podman.out), reference(SCRIPT, "cuda"))

    trains()
    service = machine.main_pid()
    machine.kill("SIGKILL")
    until(lambda: machine.is_another(service), 60, "the next service is ready")
    trains()
    machine.systemctl("stop", UNIT)
    assert machine.property("Result") == "success"

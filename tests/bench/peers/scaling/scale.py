#!/usr/bin/python3
"""Weak and strong scaling of the heat equation and of sums on two cores: healc with TCP, with each MPI, and as one process of
two threads, beside C, NumPy with mpi4py, and PETSc, where these are there.

    tests/bench/peers/scaling/scale.py [--rounds 3] [--healc HEALC] [--only heat]

All take turns, in another order each time. Of each the median is shown, in milliseconds, and its ratio to C with the same
number of ranks; strong: two ranks on the same points, weak: on twice as many. A time is of all that a program does, its data
included; healc's is without what compiles it. Ranks have a processor each.
"""
import argparse, collections, os, pathlib, random, re, shutil, statistics, subprocess, sys, tempfile

here = pathlib.Path(__file__).resolve().parent
flags = argparse.ArgumentParser(description=__doc__.split("\n")[0])
flags.add_argument("--rounds", type=int, default=3)
flags.add_argument("--healc")
flags.add_argument("--only", choices=["heat", "sum"])
flags = flags.parse_args()
scratch = tempfile.TemporaryDirectory()
folder = pathlib.Path(scratch.name)
healc = flags.healc or str(folder / "healc")
if not flags.healc:
    subprocess.run(["go", "build", "-o", healc, "./cmd/healc"], cwd=here.parents[3], check=True,
                   env=dict(os.environ, CGO_ENABLED="0"))
environment = dict(os.environ, HEAL_CACHE=str(folder / "cache"))
launchers = {
    "mpich": (["mpiexec.mpich", "-bind-to", "core"], "libmpich.so.12"),
    "openmpi": (["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "core"], "libmpi.so.40"),
}
launchers = {name: l for name, l in launchers.items() if shutil.which(l[0][0])}


def build(what, *command):
    """Builds a program, or says that it is left out."""
    done = subprocess.run(command, cwd=here, capture_output=True, text=True)
    if done.returncode:
        print(f"{what} is left out: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return done.returncode == 0


def source(program, rows):
    path = folder / f"{program}{rows}.heal"
    text = (here / f"{program}.heal").read_text()
    path.write_text(re.sub(r"ROWS: nat = \d+", f"ROWS: nat = {rows}", text))
    return str(path)


contenders = {}  # by name: the command for a program, its number of rows, and a number of ranks


def with_healc(launcher):
    def command(program, rows, n):
        line = [healc, "run", source(program, rows), "--time", "--threads", "1"]
        if not launcher:
            return line + ["--ranks", str(n)]
        return launchers[launcher][0] + ["-n", str(n)] + line + ["--dist", "mpi"]
    return command


contenders["healc, TCP"] = with_healc("")
for name in launchers:
    contenders[f"healc, {name}"] = with_healc(name)
contenders["healc, threads"] = lambda program, rows, n: [healc, "run", source(program, rows), "--time", "--threads", str(n)]
for name, (line, _) in launchers.items():
    if all(build(f"C with {name}", f"mpicc.{name}", "-O3", "-march=native", f"{p}.c", "-o", str(folder / f"{p}.{name}"))
           for p in ("heat", "sum")):
        contenders[f"C, {name}"] = lambda program, rows, n, name=name, line=line: (
            line + ["-n", str(n), str(folder / f"{program}.{name}"), str(rows)])
if "openmpi" in launchers:
    line = launchers["openmpi"][0]
    if build("mpi4py", "/usr/bin/python3", "-c", "import numpy, mpi4py"):
        contenders["NumPy, mpi4py"] = lambda program, rows, n: (
            line + ["-n", str(n), "/usr/bin/python3", str(here / "peer.py"), program, str(rows)])
    config = next(iter(sorted(pathlib.Path("/usr/lib/petscdir").glob("*/*/lib/pkgconfig"))), None)
    environ = dict(os.environ, PKG_CONFIG_PATH=str(config))
    options = subprocess.run(["pkg-config", "--cflags", "--libs", "PETSc"], capture_output=True, text=True,
                             env=environ).stdout.split() if config else []
    if options and build("PETSc", "mpicc.openmpi", "-O3", "-march=native", "petsc.c", *options, "-o",
                         str(folder / "petsc")):
        contenders["PETSc"] = lambda program, rows, n: (
            line + ["-n", str(n), str(folder / "petsc"), program, str(rows)])
    elif not options:
        print("PETSc is left out: Debian has it in libpetsc-real-dev", file=sys.stderr)


def run(name, program, rows, n):
    command = contenders[name](program, rows, n)
    env = dict(environment, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    for launcher, (_, lib) in launchers.items():
        if name == f"healc, {launcher}":
            env["HEAL_LIBMPI"] = lib
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    found = re.search(r"^run +([0-9.]+) ms", done.stdout + done.stderr, re.M)
    if done.returncode or not found:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return float(found[1]), float(done.stdout.split()[0])


cases = [("one rank", 1, 1), ("two, strong", 1, 2), ("two, weak", 2, 2)]
times = collections.defaultdict(list)
programs = [("heat", 4000), ("sum", 16)]
for program, rows in [p for p in programs if flags.only in (None, p[0])]:
    for round in range(flags.rounds + 1):  # in the first healc compiles, and nothing is counted
        for case, scale, n in cases:
            values = {}
            turn = [c for c in contenders if round or c.startswith("healc")]
            random.shuffle(turn)  # the first to use memory that another process gave back may wait for it
            for name in turn:
                took, values[name] = run(name, program, rows * scale, n)
                if round:
                    times[program, case, name].append(took)
            first = next(iter(values.values()))
            for name, value in values.items():
                if abs(value - first) > 1e-9 * abs(first):
                    sys.exit(f"{program}, {case}: {name} has {value}, and others {first}")
            mine = {v for name, v in values.items() if name.startswith("healc")}
            if len(mine) > 1:
                sys.exit(f"{program}, {case}: healc has several results: {mine}")
    print(f"\n| {program} | " + " | ".join(f"{case} | of C" for case, _, _ in cases) + " |")
    print("|---|" + "---:|" * (2 * len(cases)))
    for name in contenders:
        cells = []
        for case, _, _ in cases:
            median = statistics.median(times[program, case, name])
            best = min((statistics.median(times[program, case, c]) for c in contenders if c.startswith("C, ")),
                       default=float("nan"))
            cells += [f"{median:.0f}", f"{median / best:.2f}"]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)

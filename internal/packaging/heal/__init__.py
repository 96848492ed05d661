"""Heal: tensor programs, compiled to machine code and called as functions of Python.

    import heal

    stats = heal.compile("pub fn mean[N](x: f64[N]) -> f64 = +/(x) / (N as f64)")
    stats.mean([1, 2, 6])

Arguments are arrays of NumPy, tensors of PyTorch and whatever else has DLPack, without copies, or lists.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import types
import typing
import warnings
import weakref

__all__ = ["CompileError", "compile", "healc", "load"]
__version__ = "_VERSION_"

_Path = typing.Union[str, "os.PathLike[str]"]


class CompileError(Exception):
    """What healc says of a program that it does not compile, with the place in it."""


def healc() -> str:
    """The path of healc, which was installed with this package; else of one that is on the PATH."""
    name = "healc.exe" if os.name == "nt" else "healc"
    places = [sysconfig.get_path("scripts")]
    user = "nt_user" if os.name == "nt" else "osx_framework_user" if sys.platform == "darwin" else "posix_user"
    if user in sysconfig.get_scheme_names():
        places.append(sysconfig.get_path("scripts", user))
    places.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"))  # pip --target
    for place in places:
        path = os.path.join(place, name)
        if os.access(path, os.X_OK):
            return path
    path = shutil.which(name)
    if path is None:
        raise FileNotFoundError("there is no %s in %s, nor on the PATH" % (name, ", ".join(places)))
    return path


def compile(
    source: _Path,
    *,
    name: str | None = None,
    entry: str | None = None,
    shape: typing.Mapping[str, int] | None = None,
    cpu: str | None = None,
    allow_import: typing.Iterable[_Path] = (),
) -> types.ModuleType:
    """A module with the public functions of a program, which is compiled where that was not done before.

    source        the path of a file (a string that ends in .heal, or a Path), or the text of a program
    name          of the module; that of the file, or `program`
    entry         one function instead of all public ones
    shape         values of shape parameters that the code is made for; it is for all of them otherwise
    cpu           the processor that the code is made for, `native` for this one; it is for all of the kind otherwise
    allow_import  folders that the program may import files from, too

    The library is kept for the next time, unless the program imports files, or is for the native processor. A program
    that is wrong is a CompileError; warnings are warnings of Python.
    """
    file = os.fspath(source) if not isinstance(source, str) or source.endswith(".heal") and "\n" not in source else None
    text = source if file is None else _read(file)
    name = name or (os.path.splitext(os.path.basename(file))[0] if file else "program")
    if not re.match(r"[A-Za-z][A-Za-z0-9_]*\Z", name):
        raise ValueError("a module cannot be called %r: give another name, as in name='program'" % name)
    options = ["--prefix", name]
    if entry is not None:
        options += ["--entry", entry]
    for parameter, extent in sorted((shape or {}).items()):
        options += ["--shape", "%s=%d" % (parameter, extent)]
    if cpu is not None:
        options += ["--cpu", cpu]
    for folder in allow_import:
        options += ["--allow-import", os.path.abspath(folder)]
    program = healc()
    status = os.stat(program)
    made_by = (program, status.st_size, status.st_mtime_ns, os.environ.get("HEAL_LD"), os.environ.get("HEAL_CPU"))
    key = hashlib.sha256(repr((text, file, options, made_by)).encode()).hexdigest()
    kept = None if cpu == "native" or re.search(r'\bimport\s*"', text) else _cache()
    with _lock:
        if kept is not None and key in _loaded:
            return _loaded[key]
        folder = kept and os.path.join(kept, key)
        if folder is None or not os.path.isdir(folder):
            folder = _build(program, text, file, name, options, kept, folder)
        elif kept:
            os.utime(folder)
        module = load(os.path.join(folder, _names(folder)))
        if kept is None:
            weakref.finalize(module, shutil.rmtree, folder, ignore_errors=True)
        else:
            _loaded[key] = module
        return module


def load(path: _Path) -> types.ModuleType:
    """The module of a library that `healc compile FILE --emit so,python` has made: its .py, or the library beside it."""
    path = os.path.abspath(os.fspath(path))
    folder, base = os.path.split(path)
    if base.endswith(".so"):
        base = base[3 if base.startswith("lib") else 0:-3] + ".py"
        if not os.path.isfile(os.path.join(folder, base)):
            raise FileNotFoundError("there is no %s beside %s: `healc compile FILE --emit so,python` makes both" % (base, path))
    path = os.path.join(folder, base)
    if not os.path.isfile(path):
        raise FileNotFoundError("there is no %s" % path)
    spec = importlib.util.spec_from_file_location(os.path.splitext(base)[0], path)
    if spec is None or spec.loader is None:
        raise ImportError("%s is no module of Python" % path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_lock = threading.RLock()
_loaded: dict[str, types.ModuleType] = {}
_MOST = 256 << 20  # bytes that are kept


def _read(file: str) -> str:
    with open(file, encoding="utf-8", newline="") as f:
        return f.read()


def _names(folder: str) -> str:
    """The name of the module that is in a folder."""
    return next(n for n in os.listdir(folder) if n.endswith(".py"))


def _cache() -> str | None:
    """The folder where libraries are kept: python, beside healc's own cache. None if there is none, or others may write there."""
    place = os.environ.get("HEAL_CACHE")
    if place == "off":
        return None
    if not place:
        if sys.platform == "darwin":
            place = os.path.join(os.path.expanduser("~"), "Library", "Caches")
        elif os.name == "nt":
            place = os.environ.get("LOCALAPPDATA")
        else:
            place = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        if not place or not os.path.isabs(place):
            return None
        place = os.path.join(place, "heal")
    place = os.path.join(os.path.abspath(place), "python")
    try:
        os.makedirs(place, 0o700, exist_ok=True)
        status = os.stat(place)
    except OSError:
        return None
    if os.name != "nt" and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        return None
    return place


def _build(program: str, text: str, file: str | None, name: str, options: list[str], kept: str | None,
           folder: str | None) -> str:
    """Makes the library in a folder, all at once, and says which one: the one of its key, or a new one."""
    made = tempfile.mkdtemp(prefix="new-", dir=kept)
    try:
        if file is None:
            source = "%s.heal" % name
            with open(os.path.join(made, source), "w", encoding="utf-8", newline="") as f:
                f.write(text)
        else:
            source = os.path.abspath(file)
        command = [program, "compile", source, "--emit", "so,python", "-o", os.path.join(made, name + ".py"), *options]
        done = subprocess.run(command, cwd=made if file is None else None, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
        if done.returncode != 0:
            raise CompileError(done.stderr.strip() or "healc ended with %d" % done.returncode)
        if done.stderr.strip():
            warnings.warn(done.stderr.strip(), stacklevel=3)
        if folder is None:
            return made
        try:
            os.rename(made, folder)
        except OSError:  # another process has made it
            if not os.path.isdir(folder):
                raise
            shutil.rmtree(made, ignore_errors=True)
        _forget_oldest(kept or "", folder)
        return folder
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _forget_oldest(kept: str, but: str) -> None:
    """Removes the libraries that were not used for the longest time, where there are too many."""
    entries = []
    for e in os.scandir(kept):
        try:
            size = sum(f.stat().st_size for f in os.scandir(e.path))
            entries.append((e.stat().st_mtime, size, e.path))
        except OSError:
            pass
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= _MOST:
            break
        if path != but:
            shutil.rmtree(path, ignore_errors=True)
            total -= size
